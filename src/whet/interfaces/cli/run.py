"""One command: find it, parse its options, run it, print its answer. Errors become messages and exit codes here."""

from __future__ import annotations

import os
import sys

from whet.errors import AmbiguousError, FailedError, WhetError
from whet.interfaces.cli.context import Context
from whet.interfaces.cli.output import PIPE_GONE, Console, screen_for
from whet.interfaces.cli.verbs import (
    ALL,
    COMPLETE,
    VERBS,
    all_commands,
    front_screen,
    group_screen,
    note_old,
    parser_of,
    read_command,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whet.interfaces.cli.context import Answer, Command
    from whet.interfaces.cli.parser import Namespace
    from whet.interfaces.mcp.stdio import Streams

_INTERRUPTED = 130
"""The shell's exit code of a program that was interrupted from the keyboard."""


def run(arguments: Sequence[str], env: Mapping[str, str] | None = None, streams: Streams | None = None) -> int:
    """Run one command line and return its exit code. It never raises."""
    env = os.environ if env is None else env
    plain = arguments[: arguments.index("--")] if "--" in arguments else arguments
    quiet = "--quiet" in plain or "-q" in plain
    console = Console(json="--json" in plain, quiet=quiet, env=env)
    try:
        try:
            return _command(list(arguments), console, env, streams)
        except WhetError as error:
            return _failure(error, console, env)
        except BrokenPipeError:
            raise
        except OSError as error:
            from whet.store.failures import os_failure

            failed = os_failure(error, str(error.filename or "a file"), doing="use", other="io-failed")
            return _failure(failed, console, env, error)
        except KeyboardInterrupt as stopped:
            if stopped.args and not console.json:  # a person left a question; see `terminal.leave`
                console.say(str(stopped))
            else:
                _failure(FailedError("interrupted", "Interrupted.", hint="Run the command again."), console, env)
            return _INTERRUPTED
        except Exception as error:  # noqa: BLE001  the last resort: no traceback reaches a user, nothing is swallowed
            return _failure(_internal(error), console, env, error)
    except BrokenPipeError:
        return PIPE_GONE
    except FailedError as error:  # the answer itself could not be written
        console.error(error.message)
        console.hint(error.hint)
        return error.exit_code


def _command(arguments: list[str], console: Console, env: Mapping[str, str], streams: Streams | None) -> int:
    if arguments[:1] == [COMPLETE]:
        from whet.interfaces.cli.commands.shell import candidates

        console.data("".join(f"{word}\n" for word in candidates(arguments[2:], env)))
        return 0
    name, words, old = read_command(arguments)
    if name not in VERBS:
        return _screen(name, words, console, env)
    if name != "install" or all(word.startswith("-") for word in words):
        return _verb(name, words, console, env, streams, old=old)
    from whet.guard.scan_pool import starting_early

    with starting_early():  # loading the rules takes longer than everything up to the first scan
        return _verb(name, words, console, env, streams, old=old)


def _verb(
    name: str, words: list[str], console: Console, env: Mapping[str, str], streams: Streams | None, *, old: str
) -> int:
    """Run a command with its words."""
    parser, command = parser_of(name)
    options = parser.read(words)
    if options.version:
        return _version(console)
    if options.help:
        return _help(parser.format_help(_help_columns(env)), console)
    if old and not console.json:
        console.say(note_old(old))
    context = Context(options, env, streams)
    try:
        answer = _ask(command, context, options)
        context.end_progress()
        if console.json:
            console.document(answer.to_json())
            return answer.code
        screen = screen_for(sys.stdout, env)
        screen.verbose = options.verbose
        answer.render(screen, options)
        console.data(screen.text())
        for sentence in screen.messages:
            console.say(sentence)
        for sentence in screen.hints:
            console.hint(sentence)
        return answer.code
    finally:
        context.close()


def _ask(command: Command, context: Context, options: Namespace) -> Answer:
    """Return the command's answer; a person at the terminal resolves an ambiguous name."""
    while True:
        try:
            return command.run(context, options)
        except AmbiguousError as error:
            from whet.interfaces.cli.picker import settle

            if not settle(error, options, context.env):
                raise


def _screen(name: str, words: list[str], console: Console, env: Mapping[str, str]) -> int:
    """Print the version or the list of commands."""
    from whet.interfaces.cli.parser import Parser

    if Parser(name, "").read(words).version:
        return _version(console)
    if name == ALL:
        return _help(all_commands(_help_columns(env)), console)
    return _help(group_screen(name) if name else front_screen(), console)


def _version(console: Console) -> int:
    from whet import __version__

    if console.json:
        console.document({"success": True, "version": __version__})
    else:
        console.data(f"whet {__version__}\n")
    return 0


def _help_columns(env: Mapping[str, str]) -> int:
    """Return the width of a help page: COLUMNS or the terminal's, even before a pipe; at most `WIDTH`."""
    from whet.interfaces.cli.parser import WIDTH

    streams = (sys.stdout, sys.stderr)
    terminal = next((stream for stream in streams if stream is not None and stream.isatty()), None)
    return min(screen_for(terminal, env).columns, WIDTH) if terminal or env.get("COLUMNS") else WIDTH


def _help(text: str, console: Console) -> int:
    if console.json:
        console.document({"success": True, "help": text})
    else:
        console.data(text)
    return 0


def _internal(error: Exception) -> FailedError:
    what = f"{type(error).__name__}: {error}".rstrip(": .")
    hint = "This is a bug in Whet. Run the command again with WHET_TRACEBACK=1 and report the output."
    return FailedError("internal-error", f"Something went wrong inside Whet ({what}).", hint=hint)


def _failure(error: WhetError, console: Console, env: Mapping[str, str], cause: Exception | None = None) -> int:
    """Report an error, as the JSON document or in a line, and return its exit code."""
    if env.get("WHET_TRACEBACK"):
        from traceback import format_exception

        console.block("".join(format_exception(cause or error)))
    if console.json and not console.answered:
        console.document(error.to_json())
    elif error.code == "not-agreed":  # a person's decision is not an error to them
        console.say(error.hint)
    else:
        console.error(error.message)
        console.hint(error.hint)
    return error.exit_code
