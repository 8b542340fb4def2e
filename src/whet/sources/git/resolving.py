"""From what people call a revision to one commit, fetched.

Branches, tags and the default branch are fetched by name, so that there is no moment between looking one up and
fetching it. A commit is fetched by its id. Servers also hand out commits that belong to a fork of the repository and
never were on a branch of it; that a commit is on none is said in a note, because its address then says nothing about
who wrote it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import AmbiguousError, NotFoundError, UsageError, WhetError
from whet.notes import Note
from whet.skill.names import closest, hidden
from whet.skill.paths import shown
from whet.sources.git.failures import NOT_ADVERTISED, shown_location
from whet.sources.git.remote import ASKED, HISTORY_BYTES

if TYPE_CHECKING:
    from whet.sources.git.remote import Remote

_FULL = re.compile(r"[0-9a-fA-F]{40}(?:[0-9a-fA-F]{24})?")
_SHORT = re.compile(r"[0-9a-fA-F]{7,63}")
_BAD_REF = re.compile(r"[\s~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)")
_BAD_PATH = re.compile(r"(?:^|/)(?:\.{0,2})(?:/|$)|\\")
_NAMES = ("refs/heads/", "refs/tags/")
_MOST = 1024
_LISTED = 10
_HISTORY = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
_UNTOLD = frozenset(("source-too-large", "too-slow", "git-failed"))


class Found(NamedTuple):
    """A commit that was fetched."""

    commit: str
    notes: tuple[Note, ...] = ()


def check_words(ref: str, path: str) -> None:
    """Refuse a revision or a path that git could read as something else. Raises UsageError `bad-ref`."""
    for what, text, wrong in (("revision", ref, _BAD_REF), ("path", path, _BAD_PATH)):
        odd = text.startswith(("-", "/", "+")) or text.endswith(("/", ".")) or len(text) > _MOST
        if text and (odd or any(map(hidden, text)) or wrong.search(text)):
            hint = "Give a branch, a tag or a commit." if what == "revision" else "Give a path like skills/name."
            raise UsageError("bad-ref", f"The {what} {shown(text)} is not one that a repository has.", hint=hint)


def fetch_commit(remote: Remote, ref: str, only: str) -> Found:
    """Fetch what `ref` means, "" the default branch, into an empty repository; `only` filters. Raises WhetError."""
    if _FULL.fullmatch(ref):
        return _by_commit(remote, ref.lower(), only)
    remote.start()
    for spelling in _spellings(ref):
        if not remote.fetch([f"+{spelling}:{ASKED}"], only=only):
            commit = remote.peeled(ASKED)
            if not commit:
                raise _no_commit(remote, ref)
            # Anybody may make other names than branches and tags, such as those of pull requests.
            odd = spelling.startswith("refs/") and not spelling.startswith(_NAMES)
            return _by_commit(remote, commit, only) if odd else Found(commit)
    names = remote.references()
    if names and _SHORT.fullmatch(ref):
        return _by_prefix(remote, ref.lower(), only)
    raise _no_such_ref(remote, ref, names)


def _spellings(ref: str) -> tuple[str, ...]:
    """What to ask a server for. A name with slashes is a branch or a tag, never anything else that git would find."""
    if not ref:
        return ("HEAD",)
    if ref.startswith("refs/") or "/" not in ref:
        return (ref,)
    if ref.startswith(("heads/", "tags/")):
        return (f"refs/{ref}", f"refs/heads/{ref}")
    return (f"refs/heads/{ref}", f"refs/tags/{ref}")


def _by_commit(remote: Remote, commit: str, only: str) -> Found:
    """A commit by its whole id; from a server that gives out only what a branch leads to, all branches."""
    tips = remote.references()
    notes = () if commit in tips.values() else _doubts(remote, commit)
    remote.start(sha256=len(commit) > 40)
    said = remote.fetch([f"+{commit}:{ASKED}"], only=only)
    name = ASKED
    if NOT_ADVERTISED.search(said):
        remote.fetch(_HISTORY, depth=0)
        name = commit
    elif said:
        raise _no_such_ref(remote, commit, tips)
    found = remote.peeled(name)
    if not found:
        raise _no_commit(remote, commit)
    return Found(found, notes)


def _by_prefix(remote: Remote, prefix: str, only: str) -> Found:
    """A commit by the beginning of its id, among those that branches and tags lead to."""
    remote.start()
    remote.fetch(_HISTORY, depth=0, only="tree:0", size=HISTORY_BYTES)
    commits = remote.commits_like(prefix)
    if not commits:
        raise _no_such_ref(remote, prefix, remote.references())
    if len(commits) > 1:
        message = f"{len(commits)} commits begin with {prefix}."
        raise AmbiguousError("ambiguous-ref", message, hint="Give more digits.", candidates=list(commits[:_LISTED]))
    remote.start(sha256=len(commits[0]) > 40)
    if remote.fetch([f"+{commits[0]}:{ASKED}"], only=only):
        remote.fetch(_HISTORY, depth=0)
    return Found(commits[0])


def _doubts(remote: Remote, commit: str) -> tuple[Note, ...]:
    """What to say of a commit that no branch or tag points to: whether one leads to it at all."""
    where = shown_location(remote.location)
    remote.start(sha256=len(commit) > 40)
    try:
        remote.fetch(_HISTORY, depth=0, only="tree:0", size=HISTORY_BYTES)
        if remote.peeled(commit) and remote.is_on_a_branch(commit):
            return ()
    except WhetError as error:
        if error.code not in _UNTOLD:
            raise
        message = f"Whether the commit {commit[:12]} is on a branch of {where} could not be told: {error.message}"
        return (Note("commit-unconfirmed", "warning", message, "Name a branch or a tag instead.", path=where),)
    message = f"The commit {commit[:12]} is on no branch or tag of {where}; it may come from a fork."
    return (Note("commit-not-on-branch", "warning", message, "Name a branch or a tag, or look at it.", path=where),)


def _no_commit(remote: Remote, ref: str) -> NotFoundError:
    message = f"{shown(ref)} in {shown_location(remote.location)} is not a commit."
    return NotFoundError("no-such-ref", message, hint="Give a branch, a tag or a commit.", suggestions=[])


def _no_such_ref(remote: Remote, ref: str, names: dict[str, str]) -> NotFoundError:
    where = shown_location(remote.location)
    if not names:
        hint = "Check the address, or push a commit with a skill to it first."
        return NotFoundError("no-skills-found", f"{where} has no commits, or is no repository.", hint=hint)
    short = [name.split("/", 2)[2] for name in names]
    near = list(closest(ref, short)) if ref else short[:_LISTED]
    if ref:
        message = f"There is no branch, tag or commit {shown(ref)} in {where}."
        hint = f"Did you mean {', '.join(near)}?" if near else f"There are {', '.join(short[:_LISTED])}."
        hint += " A skill is named with --skill."
    else:
        message = f"{where} has no default branch."
        hint = f"Name one: {', '.join(near)}."
    return NotFoundError("no-such-ref", message, hint=hint, suggestions=near)
