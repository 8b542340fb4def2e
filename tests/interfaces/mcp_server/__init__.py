"""The MCP server, through the official client."""
