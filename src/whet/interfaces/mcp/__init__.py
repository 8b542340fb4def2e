"""The MCP server: the library for every client that speaks the Model Context Protocol."""
