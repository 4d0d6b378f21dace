"""The agency for AI agents: tools of the Model Context Protocol (MCP) over the API (docs/agents.md)."""
