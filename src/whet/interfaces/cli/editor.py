"""Editing a skill's text in the user's own editor.

The editor works on a copy in Whet's state directory, where no agent looks for skills, and the result is applied like
any other edit. The copy is deleted once it is applied, or if nothing was changed; otherwise it is kept, and its path is
reported.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from whet.errors import FailedError, InvalidError, RefusedError, UsageError, WhetError
from whet.interfaces.cli.changes import change
from whet.interfaces.cli.terminal import agree, can_ask, end_progress
from whet.store.failures import os_failures

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.authoring.editor import SkillText
    from whet.authoring.results import Changes
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.parser import Namespace


DIRECTORY = "edits"
"""The directory below Whet's state directory."""
_EDITORS = ("notepad",) if os.name == "nt" else ("editor", "nano", "vim", "vi")
_MENDABLE = (InvalidError, UsageError, RefusedError)
"""Errors that the user can fix by editing the text again."""


def edit_skill(context: Context, options: Namespace) -> Changes:
    """Open the editor, and apply its result as the skill's text."""
    original = context.library.edit.open_text(options.name)
    command = _editor_command(context.env, asking=can_ask(options))
    copy = _copy(context, original.name, original.main.path, original.data)
    while True:
        try:
            _run_editor(command, copy, context, json=options.json)
            new = _read(copy)
        except WhetError as error:
            _keep_and_raise(error, options.name, copy, original)
        if new == original.data:
            _remove(copy)
            return _no_change(original)
        try:
            answer = _apply(context, options, original, new)
        except WhetError as error:
            if not (isinstance(error, _MENDABLE) and _ask_again(error, context, options)):
                _keep_and_raise(error, options.name, copy, original)
        else:
            _remove(copy)
            return answer


def edit_text(context: Context, text: str, *, json: bool) -> str:
    """Return a short text as the user's editor leaves it. Raises the errors of opening the editor."""
    command = _editor_command(context.env, asking=True)
    path = _copy(context, "text", "text.txt", text.encode())
    try:
        _run_editor(command, path, context, json=json)
        return _read(path).decode(errors="replace").replace("\r\n", "\n").strip()
    finally:
        _remove(path)


def _editor_command(env: Mapping[str, str], *, asking: bool) -> list[str]:
    """Return the user's editor or, at a terminal, one that this machine has. Raises UsageError `no-editor`."""
    import shlex
    import shutil

    hint = "Set VISUAL or EDITOR to an editor that waits until you are done, or use `--body` or `--body-file`."
    for name in ("VISUAL", "EDITOR"):
        if env.get(name, "").strip():
            try:
                return [word.strip('"') for word in shlex.split(env[name], posix=os.name != "nt")]
            except ValueError as error:
                raise UsageError("no-editor", f"{name} cannot be read: {error}.", hint=hint) from error
    for name in _EDITORS if asking else ():
        if found := shutil.which(name, path=env.get("PATH")):
            return [found]
    raise UsageError("no-editor", "There is no editor: VISUAL and EDITOR are not set.", hint=hint)


def _copy(context: Context, prefix: str, name: str, data: bytes) -> str:
    """Write a file for the editor, in its own directory."""
    import tempfile

    directory = os.path.join(context.library.workspace.place.state, DIRECTORY)
    with os_failures(directory):
        os.makedirs(directory, mode=0o700, exist_ok=True)
        path = os.path.join(tempfile.mkdtemp(prefix=f"{prefix}-", dir=directory), name)
        with open(path, "xb") as file:
            file.write(data)
    return path


def _run_editor(command: list[str], path: str, context: Context, *, json: bool) -> None:
    """Run the editor on the terminal. Its output is not part of the answer, so it never goes to a pipe or into JSON."""
    import signal
    import subprocess

    end_progress()
    terminal = sys.stdout is not None and sys.stdout.isatty() and not json
    # An interrupt is for the editor; unlike SIG_IGN, a handler is not inherited.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        code = subprocess.call(  # noqa: S603  the person's own editor
            [*command, path], env=dict(context.env), stdout=None if terminal else 2
        )
    except OSError as error:
        hint = "Check VISUAL and EDITOR, or use `--body` or `--body-file`."
        message = f"The editor {command[0]!r} cannot be started: {error.strerror or error}."
        raise UsageError("no-editor", message, hint=hint) from error
    finally:
        signal.signal(signal.SIGINT, before)
    if code:
        hint = "Nothing was changed."
        raise FailedError("editor-failed", f"The editor {command[0]!r} exited with status {code}.", hint=hint)


def _read(path: str) -> bytes:
    with os_failures(path, doing="read", other="read-failed"), open(path, "rb") as file:
        return file.read()


def _apply(context: Context, options: Namespace, original: SkillText, new: bytes) -> Changes:
    try:
        text = new.decode()
    except UnicodeDecodeError as error:
        message = f"The text is not UTF-8 at byte {error.start}."
        raise InvalidError("not-a-text-file", message, hint="Save it as UTF-8.") from error
    return change(context, options, "edit", body=text, viewed=original.is_unchanged)


def _no_change(original: SkillText) -> Changes:
    from whet.authoring.main_file import version_of
    from whet.authoring.results import Change, Changes

    same = Change("edit", original.name, original.path, version_of(original.main.document), original.digest)
    return Changes((same,), notes=("No change: the text is the same.",))


def _ask_again(error: WhetError, context: Context, options: Namespace) -> bool:
    """Report the problem and ask to edit again, if a person can answer."""
    if options.no_input or options.json or not all(stream and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        return False
    from whet.interfaces.cli.output import Console

    console = Console(json=False, quiet=False, env=context.env)
    console.error(error.message)
    console.hint(error.hint)
    return agree("Open the editor again?")


def _keep_and_raise(error: WhetError, name: str, path: str, original: SkillText) -> NoReturn:
    """Raise the error; a changed text is kept, and the error says where."""
    changed = True
    with suppress(WhetError):  # a text that cannot be read is kept
        changed = _read(path) != original.data
    if not os.path.lexists(path):  # the editor removed it; its other files stay
        raise error
    if not changed:
        _remove(path)
        raise error
    from shlex import quote

    error.hint = f"{error.hint} Your text is kept: `whet edit {quote(name)} --body-file {quote(path)}`.".lstrip()
    error.details["kept"] = path
    raise error


def _remove(path: str) -> None:
    """Delete the copy, and files that the editor may have left next to it."""
    import shutil

    shutil.rmtree(os.path.dirname(path), ignore_errors=True)
