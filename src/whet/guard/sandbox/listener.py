"""The small program that opens a socket in the network of a box and passes it to the process that started it.

It is run by path, in a separate interpreter, because a process with threads cannot enter another user namespace. A
socket belongs to the network in which it was created, whoever holds it: connections to this one come from the box.
"""

import ctypes
import fcntl
import os
import socket
import sys

_OWNER = 0xB701
_USER, _NETWORK = 0x10000000, 0x40000000


def main() -> None:
    """Enter the network of a process, listen on a port of its loopback, and send the socket through a descriptor."""
    process, port, channel = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    network = os.open(f"/proc/{process}/ns/net", os.O_RDONLY)
    owner = fcntl.ioctl(network, _OWNER)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.setns(owner, _USER)  # refused if this process is already in it; then the next step succeeds or raises
    if libc.setns(network, _NETWORK):
        raise OSError(ctypes.get_errno(), "setns")
    with socket.socket() as listening, socket.socket(fileno=channel) as to:
        listening.bind(("", port))
        listening.listen(64)
        socket.send_fds(to, [b"."], [listening.fileno()])


if __name__ == "__main__":
    main()
