"""OpenAI's interface: chats, completions, embeddings and images."""
