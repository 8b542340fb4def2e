"""Publishing to a git repository: by its address, or in a working copy of one (`whet.sources.publishing.checkout`).

For an address nothing is checked out. The newest commit is fetched alone, our files become objects beside it, and one
new commit that differs from it in exactly our directories is pushed. So no hook runs, no filter or line-ending rule of
the repository changes our bytes, a link in it leads nowhere, and a large repository costs little. Nothing is forced:
when somebody else was faster, the same directories are put on top of what they pushed.
"""

from __future__ import annotations

import os
import re
import threading
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import ConflictError, FailedError, NotFoundError, UsageError, WhetError
from whet.skill import paths
from whet.skill.tree import IGNORED
from whet.sources.git.failures import failure, shown_location
from whet.sources.publishing.prepare import Published, Release, cleaned, each_once
from whet.sources.publishing.running import NETWORK_SECONDS, Done, Git, environment, workshop
from whet.store.atomic import staging

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whet.library.roots import Place
    from whet.sources.publishing.prepare import Prepared

_SCHEMES = ("https", "ssh", "file")
_SHORT_SSH = re.compile(r"(?:[\w.+-]+@)?[\w.-]+:(?!//|:)\S+", re.ASCII)
_ATTEMPTS = 4
_RACES = (
    *("(fetch first)", "(non-fast-forward)", "(stale info)", "cannot lock ref", "incorrect old value"),
    *("reference already exists", "failed to update ref"),
)
"""What a server says when the branch is not where it was a moment ago."""
_REJECTED = re.compile(r"\s*! \[")
_SCRATCH = "refs/whet/scratch"
_NOBODY = "committer whet <whet> 0 +0000"
_DIRECTORY = "tree"


def publish_git(
    prepared: Sequence[Prepared],
    location: str,
    *,
    place: Place,
    branch: str = "",
    into: str = "skills",
    message: str = "",
    push: bool | None = None,
    cancelled: threading.Event | None = None,
) -> Published:
    """Commit these skills as `into/NAME` in a repository.

    An address gets the commit pushed, to its default branch or to the one that is named; `push=False` only tells what
    would change. In a working copy it is committed, and pushed with `push=True`.
    """
    each_once(prepared)
    into = _checked(into)
    ordered = sorted(prepared, key=lambda skill: skill.name)
    message = message or _message(ordered)
    stop = cancelled or threading.Event()
    address = _address(location)
    if not address:
        from whet.sources.publishing.checkout import publish_checkout, repository_of

        found = repository_of(location, place, stop)
        if not found.bare:
            return publish_checkout(ordered, found, place, branch=branch, into=into, message=message, push=bool(push))
        address = "file:///" + found.top.replace(os.sep, "/").removeprefix("/")
    home = workshop(place)
    notes = tuple(cleaned(home))
    with staging(os.path.join(home, "repository")) as directory:
        env = environment(place.env, GIT_ALLOW_PROTOCOL=":".join(_SCHEMES), GIT_CEILING_DIRECTORIES=home)
        git = _cloned(address, Git(directory, env, stop, ("-c", f"core.hooksPath={os.devnull}")), branch)
        wish = _Wish(branch, into, message, push is not False)
        return _publish(ordered, address, git, wish)._replace(notes=notes)


class _Wish(NamedTuple):
    """What the caller wants of a repository."""

    branch: str
    into: str
    message: str
    push: bool


def _publish(prepared: Sequence[Prepared], address: str, git: Git, wish: _Wish) -> Published:
    branch, default = _branches(git, wish.branch, address)
    for left in reversed(range(_ATTEMPTS)):
        base = _newest(git, branch, default, address)
        tree, releases = _composed(git, base, prepared, wish.into)
        result = Published("git", shown_location(address), bool(tree), releases, base, branch)
        if not tree:
            return result
        commit = _commit(git, base, tree, wish.message)
        if not wish.push:
            return result
        done = git.run("push", "--no-verify", "origin", f"{commit}:refs/heads/{branch}", seconds=NETWORK_SECONDS)
        if not done.code:
            return result._replace(revision=commit, pushed=True)
        if not left or not any(sign in refusal(done) for sign in _RACES):
            break
    raise push_failure(address, branch, done, "Nothing was published.")


def _cloned(address: str, outside: Git, branch: str) -> Git:
    """A bare repository with the newest commit of the default branch, and nothing that could run."""
    check_identity(outside)
    check_branch(outside, branch)
    repository = os.path.join(outside.directory, "repository.git")
    done = outside.run(
        *("clone", "--bare", "--quiet", "--depth=1", "--single-branch", "--no-tags", "--filter=blob:none"),
        *("--template=", "--", address, repository),
        seconds=NETWORK_SECONDS,
    )
    if done.code:
        raise failure(done.talk, address)
    return outside._replace(options=(*outside.options, f"--git-dir={repository}"))


def _branches(git: Git, wanted: str, address: str) -> tuple[str, str]:
    """The branch to push to, and the commit that a new one starts from ("" in an empty repository)."""
    done = git.run("symbolic-ref", "--short", "HEAD")
    if done.code and not wanted:
        message = f"{shown_location(address)} has no default branch."
        raise UsageError("branch-needed", message, hint="Name the branch to publish to.")
    default = git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}").out.strip()
    return wanted or done.out.strip(), default


def _newest(git: Git, branch: str, default: str, address: str) -> str:
    """The commit that the branch has now, fetched; that of the default branch for one that does not exist yet."""
    name = f"refs/heads/{branch}"
    done = git.run("ls-remote", "origin", name, seconds=NETWORK_SECONDS)
    commit = next((line.split("\t")[0] for line in done.out.splitlines() if line.endswith(f"\t{name}")), "")
    if commit and git.run("cat-file", "-e", f"{commit}^{{commit}}").code:
        done = git.run(
            *("fetch", "--quiet", "--depth=1", "--no-tags", "--filter=blob:none", "origin", f"+{name}:{name}"),
            seconds=NETWORK_SECONDS,
        )
        commit = git.run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").out.strip()
    if done.code:
        raise failure(done.talk, address)
    return commit or default


def _composed(git: Git, base: str, prepared: Sequence[Prepared], into: str) -> tuple[str, tuple[Release, ...]]:
    """The tree of `base` with our directories in it, as an object; "" when it has them already."""
    stream = [f"commit {_SCRATCH}\n{_NOBODY}\ndata 0\n".encode()]
    if base:
        stream.append(f"from {base}\n".encode())
    before = {}
    for skill in prepared:
        path = f"{into}/{skill.name}".removeprefix("/")
        check_way(path, lambda above: _listed(git, base, above))
        before[path] = _id(git, base, path)
        stream.append(b"D %s\n" % _quoted(path))
        for name, item in skill.tree.items():
            mode = b"100755" if item.executable else b"100644"
            stream.append(b"M %s inline %s\ndata %d\n" % (mode, _quoted(f"{path}/{name}"), len(item.data)))
            stream.extend((item.data, b"\n"))
    stream.append(b"done\n")
    git.ask("fast-import", "--quiet", "--force", "--done", data=b"".join(stream))
    releases = tuple(
        released(skill, path, old, _id(git, _SCRATCH, path))
        for skill, (path, old) in zip(prepared, before.items(), strict=True)
    )
    changed = any(release.change != "unchanged" for release in releases)
    return git.ask("rev-parse", f"{_SCRATCH}^{{tree}}") if changed else "", releases


def _commit(git: Git, base: str, tree: str, message: str) -> str:
    signed = git.run("config", "--type=bool", "--get", "commit.gpgsign").out.strip() == "true"
    words = ["commit-tree", *(["-S"] if signed else []), *(["-p", base] if base else []), "-F", "-", tree]
    return git.ask(*words, data=f"{message.strip()}\n".encode())


def _id(git: Git, commit: str, path: str) -> str:
    return git.run("rev-parse", "--verify", "--quiet", f"{commit}:{path}").out.strip() if commit else ""


def _listed(git: Git, commit: str, directory: str) -> dict[str, str]:
    """What a directory of a commit holds: name -> kind."""
    if not commit:
        return {}
    lines = git.ask("ls-tree", "-z", f"{commit}:{directory}").split("\0")
    return {name: about.split(" ")[1] for about, _, name in (line.partition("\t") for line in lines if line)}


def _quoted(path: str) -> bytes:
    """A path as fast-import reads any path."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'.encode()


def released(skill: Prepared, path: str, old: str, new: str) -> Release:
    """What became of a skill whose directory was the object `old` and is `new`."""
    if old == new:
        return Release(skill.name, skill.version, skill.digest, "unchanged", path)
    return Release(skill.name, skill.version, skill.digest, "updated" if old else "added", path)


def check_identity(git: Git) -> None:
    """Refuse to commit as somebody whom git would have to guess."""
    for who in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        done = git.run("-c", "user.useConfigOnly=true", "var", who)
        if done.code:
            hint = 'Run `git config --global user.name "NAME"` and `git config --global user.email "ADDRESS"`.'
            raise UsageError("no-git-identity", "Git does not know who you are, so nothing is committed.", hint=hint)


def check_branch(git: Git, branch: str) -> None:
    """Refuse what cannot be the name of a branch."""
    if branch and git.run("check-ref-format", f"refs/heads/{branch}").code | branch.startswith("-"):
        raise UsageError("bad-branch", f"{branch!r} cannot be the name of a branch.", hint="Name a branch, like main.")


def check_way(path: str, listed: Callable[[str], Mapping[str, str]]) -> None:
    """Refuse a directory whose way there is blocked: by a file, a link, or the same name in other letters."""
    above = ""
    for name in path.split("/"):
        there = listed(above)
        spelled = next((other for other in there if other != name and _fold(other) == _fold(name)), "")
        at = f"{above}/{name}".removeprefix("/")
        if spelled:
            raise _blocked(f"{at} differs from {spelled}, which is there, only in the case of letters")
        if there.get(name, _DIRECTORY) != _DIRECTORY:
            raise _blocked(f"{at} is there and is no directory")
        if name not in there:
            return
        above = at


def refusal(done: Done) -> str:
    """Why the server did not take the branch, in git's words; "" when it did not come to that."""
    rows = [line.strip() for line in done.talk.splitlines() if _REJECTED.match(line)]
    return rows[-1].removeprefix("!").strip() if rows else ""


def push_failure(target: str, branch: str, done: Done, state: str) -> WhetError:
    """The failure of a push, with what the server said about it; `state` is how things are now."""
    why = refusal(done)
    if not why:
        found = failure(done.talk, target)
        if found.code != "git-failed":
            return type(found)(found.code, found.message, hint=f"{found.hint} {state}", **found.details)
        why = done.last
    said = [line.removeprefix("remote:").strip() for line in done.talk.splitlines() if line.startswith("remote:")]
    said = [line for line in said if line and not line.startswith("error: hook declined")]
    told = f"; the server says: {said[-1].rstrip('.')}" if said else ""
    raced = any(sign in why for sign in _RACES)
    hint = "Others push there at the same time; try again." if raced else "Ask who may push there, or name a branch."
    message = f"The push to {branch} of {shown_location(target)} was refused: {why}{told}."
    return FailedError("push-refused", message, hint=f"{hint} {state}", branch=branch, output=done.talk)


def _blocked(what: str) -> ConflictError:
    return ConflictError("path-blocked", f"{what}.", hint="Move it away, or publish into another directory.")


def _fold(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _checked(into: str) -> str:
    """The directory in the repository; "" for its root."""
    into = "" if into in ("", ".") else paths.check(into.removesuffix("/"))
    ignored = {name.casefold() for name in IGNORED}
    if any(part.casefold() in ignored for part in into.split("/")):
        raise UsageError("path-ignored", f"Nothing is published into {into}.", hint="Choose another directory.")
    return into


def _message(prepared: Sequence[Prepared]) -> str:
    titles = [f"{skill.name} {skill.version}".strip() for skill in prepared]
    if len(titles) == 1:
        return f"Publish {titles[0]}"
    return f"Publish {len(titles)} skills\n\n" + "\n".join(f"- {title}" for title in titles)


def _address(location: str) -> str:
    """The location as git fetches it; "" when it is a place on this machine."""
    scheme, mark, _ = location.partition("://")
    if mark:
        if scheme not in _SCHEMES:
            hint = "Use an https, ssh or file address, or the path of a working copy."
            raise UsageError("bad-address", f"{shown_location(location)} is not published to.", hint=hint)
        return location
    if os.path.exists(os.path.expanduser(location)):
        return ""
    if _SHORT_SSH.fullmatch(location) and not location.startswith("-"):
        return location
    raise NotFoundError("path-not-found", f"There is no {location}.", hint="Check the path or the address.")
