"""Bringing two changes of one text together, line by line.

The comparing is git's own (`git merge-file`), which knows nothing of repositories when it is asked this way: it gets
three files in a private directory, no configuration and no environment. Line ends, the byte order mark and the end of
the last line are put aside before and given back afterwards, so that an editor that changed all of them has changed
nothing.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_BYTES = 1024 * 1024
MAX_LINES = 50_000
_SECONDS = 60
_BOM = b"\xef\xbb\xbf"
_MARKS = re.compile(rb"^(?:<+|\|+|=+|>+)", re.MULTILINE)
_LABELS = ("yours", "before", "theirs")

NO_GIT = "Both sides changed it, and git is needed to merge texts. Install git, or choose a side."


class Conflict(NamedTuple):
    """One place that both sides changed in different ways."""

    yours: bytes
    before: bytes
    theirs: bytes


Pieces = list[bytes | Conflict]
"""A text in order: what could be merged, and what could not."""


class Texts(NamedTuple):
    """The three states of a text; line ends and such are those of `yours`."""

    before: bytes
    yours: bytes
    theirs: bytes


class Style(NamedTuple):
    """What a text looks like beside its lines."""

    mark: bool
    """It begins with a byte order mark."""
    crlf: bool
    ended: bool
    """Its last line has an end."""


def is_text(data: bytes) -> bool:
    """Whether this can be merged line by line."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


def plain(before: bytes, yours: bytes, theirs: bytes) -> tuple[Texts, Style]:
    """The texts as bare lines with plain ends, and how the merged one is to look.

    Marks and line ends stay as you have them. Where a text mixes its line ends they may mean something, and stay lines'
    own business.
    """
    bare = [text.removeprefix(_BOM) for text in (before, yours, theirs)]
    crlf = False
    if not any(map(_mixed, bare[1:])):
        told = next((text for text in (bare[1], bare[2]) if b"\n" in text), b"")
        crlf = b"\r\n" in told
        bare = [text.replace(b"\r\n", b"\n") for text in bare]
    ends = [not text or text.endswith(b"\n") for text in bare]
    ended = ends[1] if ends[1] != ends[0] else ends[2]
    lines = [text if end else text + b"\n" for text, end in zip(bare, ends, strict=True)]
    return Texts(*lines), Style(yours.startswith(_BOM), crlf, ended)


def styled(text: bytes, style: Style) -> bytes:
    """Bare lines as a file that looks like this."""
    if not style.ended:
        text = text.removesuffix(b"\n")
    if style.crlf:
        text = text.replace(b"\n", b"\r\n")
    return _BOM + text if style.mark else text


def _mixed(text: bytes) -> bool:
    return 0 < text.count(b"\r\n") < text.count(b"\n")


def merge_lines(texts: Texts, env: Mapping[str, str]) -> Pieces | str:
    """The pieces of the merged text; a sentence where they cannot be told."""
    before, yours, theirs = texts
    if yours == theirs or theirs == before:
        return [yours]
    if yours == before:
        return [theirs]
    if not before:  # nothing in common to start from
        return _trimmed(Conflict(yours, before, theirs))
    if any(len(text) > MAX_BYTES or text.count(b"\n") > MAX_LINES for text in texts):
        return f"It is larger than {MAX_BYTES:,} bytes or {MAX_LINES:,} lines, too large to be merged. Choose a side."
    git = find_git(env)
    return _by_git(texts, git, env) if git else NO_GIT


def find_git(env: Mapping[str, str]) -> str:
    """The git of this environment; "" when there is none. Only absolute directories are looked into."""
    name = "git.exe" if sys.platform == "win32" else "git"
    for directory in env.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(directory, name)
        if os.path.isabs(directory) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return ""


def _by_git(texts: Texts, git: str, env: Mapping[str, str]) -> Pieces | str:
    import subprocess
    from tempfile import TemporaryDirectory

    size = max([7, *(len(run) + 1 for text in texts for run in _MARKS.findall(text))])
    with TemporaryDirectory(prefix="whet-merge-") as directory:
        files = dict(zip(_LABELS, (texts.yours, texts.before, texts.theirs), strict=True))
        for name, text in files.items():
            with open(os.path.join(directory, name), "xb") as file:
                file.write(text)
        command = [git, "merge-file", "-p", "-q", "--diff3", f"--marker-size={size}"]
        try:
            done = subprocess.run(  # noqa: S603  git itself, on files we wrote under names we chose
                [*command, *(word for label in _LABELS for word in ("-L", label)), *_LABELS],
                cwd=directory,
                env=_environment(directory, env),
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"git could not merge it: {error}"
    if not 0 <= done.returncode < 128:
        said = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        return f"git could not merge it: {said or f'it ended with {done.returncode}'}"
    return _pieces(done.stdout, size)


def _environment(directory: str, env: Mapping[str, str]) -> dict[str, str]:
    """An environment in which git finds neither a configuration nor a repository, and speaks one language."""
    kept = {name: env[name] for name in ("PATH", "SYSTEMROOT") if name in env}
    return {
        **kept,
        "LC_ALL": "C",
        "HOME": directory,
        "XDG_CONFIG_HOME": directory,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CEILING_DIRECTORIES": os.path.dirname(os.path.realpath(directory)),
    }


def _pieces(output: bytes, size: int) -> Pieces:
    """The output taken apart. No line of the texts looks like a marker of this size."""
    marks = [sign * size + label for sign, label in ((b"<", b" yours"), (b"|", b" before"), (b"=", b""))]
    end = b">" * size + b" theirs"
    pieces: Pieces = []
    parts: list[list[bytes]] = [[]]
    for line in _lines(output):
        sign = line.rstrip(b"\r\n")
        if len(parts) < 4 and sign == marks[len(parts) - 1]:
            parts.append([])
        elif len(parts) == 4 and sign == end:
            merged, *sides = (b"".join(part) for part in parts)
            pieces += [merged, *_trimmed(Conflict(*sides))]
            parts = [[]]
        else:
            parts[-1].append(line)
    pieces.append(b"".join(parts[0]))
    return [piece for piece in pieces if piece]


def _lines(text: bytes) -> list[bytes]:
    """The lines of a text whose last one is ended; a lone carriage return ends none."""
    return [line + b"\n" for line in text.split(b"\n")[:-1]]


def _trimmed(conflict: Conflict) -> Pieces:
    """A conflict without the lines that both sides have at its beginning and end."""
    if conflict.yours == conflict.theirs:
        return [conflict.yours]
    yours, theirs = _lines(conflict.yours), _lines(conflict.theirs)
    most = min(len(yours), len(theirs))
    head = next((at for at in range(most) if yours[at] != theirs[at]), most)
    tail = next((at for at in range(most - head) if yours[-1 - at] != theirs[-1 - at]), most - head)
    left, right = (b"".join(side[head : len(side) - tail]) for side in (yours, theirs))
    ends = b"".join(yours[:head]), b"".join(yours[len(yours) - tail :])
    return [piece for piece in (ends[0], Conflict(left, conflict.before, right), ends[1]) if piece]
