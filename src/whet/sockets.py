"""The listening socket of Whet's servers: the hub, the pages and the MCP server."""

from __future__ import annotations

import errno
import socket

from whet.errors import FailedError, UsageError

_LAST_PORT = 65_535


def listen(host: str, port: int) -> socket.socket:
    """Return the socket to listen on; port 0 picks a free one. Raises WhetError if that fails."""
    if not 0 <= port <= _LAST_PORT:
        raise UsageError("bad-port", f"{port} is not a port.", hint=f"Ports go from 0 to {_LAST_PORT}.")
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        taken = error.errno in (errno.EADDRINUSE, errno.EACCES)
        hint = "Choose another with `--port`; 0 picks a free one." if taken else "Choose another with `--host`."
        why = (error.strerror or str(error)).partition(" (while ")[
            0
        ]  # the addition of create_server is already in the message
        message = f"Cannot listen on {host}:{port}: {why}."
        raise FailedError("cannot-listen", message, hint=hint) from error
