"""A process that answers hooks, as `whet mcp` does: `python resident.py STATE MODE`. It says `ready` and stays.

Modes: `real` answers with a library; `slow` takes a minute; `cut` dies in the midst; `old` is of another version.
"""

from __future__ import annotations

import os
import sys
import time


def main() -> None:
    """Answer until standard input ends."""
    from whet.api import Library
    from whet.interfaces.hooks import service as serving
    from whet.interfaces.hooks.background import learn_after
    from whet.interfaces.hooks.handler import Hooks

    state, mode = sys.argv[1:]
    libraries: dict[str, Library] = {}

    def opened(directory: str) -> Library:
        if directory not in libraries:
            libraries[directory] = Library.open(project=directory)
        return libraries[directory]

    def slow(*_: object) -> bytes:
        time.sleep(60)
        return b""

    def cut(*_: object) -> bytes:
        os._exit(1)

    if mode == "old":
        vars(serving)["__version__"] = "0.0.1"
    answer = {"slow": slow, "cut": cut}.get(mode, Hooks(state, opened).answer)
    service = serving.Service(state, answer, after=lambda event: learn_after(event, state, os.environ))
    print("ready" if service.start() else "no socket", flush=True)
    sys.stdin.read()
    service.close()


if __name__ == "__main__":
    main()
