"""The command line. This module is only the entry point: everything else is imported when it is needed."""

from __future__ import annotations

import gc
import sys

_TERMINATED = 143
"""The shell's exit code of a terminated program."""
_INTERRUPTED = 130
"""The shell's exit code of a program that was interrupted with Ctrl-C."""
_COLLECT_AFTER = (1_000_000, 50, 10)
"""Objects created before Python looks for cycles: the default of 700 would search everything while it is loaded."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def main(argv: Sequence[str] | None = None, env: Mapping[str, str] | None = None) -> int:
    """Run one command and return its exit code; `argv` is without the program's name."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    if text := _ready_text(arguments):
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except (OSError, AttributeError):  # no output, or it is full: reported below, as for every other command
            pass
        else:
            return 0
    if argv is None:
        gc.set_threshold(*_COLLECT_AFTER)
    if argv is None and arguments[:1] == ["hook"]:
        from whet.interfaces.hooks.main import answer_client, is_client_call

        if is_client_call(arguments):
            answer_client(arguments)
    streams = None
    if argv is None and arguments[:1] == ["mcp"]:
        from os import environ

        from whet.interfaces.mcp.stdio import open_streams

        streams = open_streams(arguments, environ)
        if streams is not None and not streams.wait():
            return 0
    try:
        from whet.interfaces.cli.run import run
    except KeyboardInterrupt:  # from here on, `run` handles it
        sys.stderr.write("error: Interrupted.\n")
        return _INTERRUPTED

    if argv is not None:
        return run(arguments, env)
    from _signal import SIGTERM, signal  # type: ignore[import-not-found]  # `signal` itself loads `enum`

    asked: list[int] = []

    def end(number: int, _frame: object) -> None:
        """Treat a request to terminate like Ctrl-C: everything running is ended and cleaned up."""
        asked.append(number)
        raise KeyboardInterrupt

    if streams is None:  # the process ends at once
        signal(SIGTERM, end)
    code = run(arguments, env, streams)
    gc.freeze()  # objects that end with the process need not be searched for cycles again
    return _TERMINATED if asked else code


def _ready_text(arguments: list[str]) -> str:
    """Return text that is printed as it is: the version, or the front screen; "" for every other command."""
    if arguments in (["--version"], ["version"]):
        from whet import __version__

        return f"whet {__version__}\n"
    if not arguments or arguments in (["--help"], ["-h"], ["help"]):
        from whet.interfaces.cli.verbs import front_screen

        return front_screen()
    return ""
