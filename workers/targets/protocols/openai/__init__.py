"""Adapters for OpenAI's API: chats, completions, embeddings and images."""
