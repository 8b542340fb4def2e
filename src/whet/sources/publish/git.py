"""Publish to a git repository: to an address, or in a working copy of the user.

For an address nothing is checked out. Only the newest commit is fetched, our files become objects beside it, and one
new commit that differs from it in exactly our directories is pushed. So no hook runs, no filter or line-ending rule of
the repository changes our bytes, links in it are not followed, and a large repository costs little. Nothing is forced:
if another push was faster, the same directories are put on top of it.

A working copy keeps its branch, its hooks and its rules; only our directories change. Uncommitted files are never
overwritten. Either the commit is made, or everything is as before.

Git runs with the user's own configuration (`Git`), without prompts and with a time limit. Fetching from strangers
ignores all configuration (`whet.sources.git.program`), but a push needs it: the identity, the credentials, the
rewritten addresses. Variables that select a repository, as hooks inherit them, are not passed on.
"""

from __future__ import annotations

import os
import re
import threading
import unicodedata
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from whet.authoring.trees import write_tree
from whet.errors import ConflictError, FailedError, NotFoundError, UsageError, WhetError
from whet.library.package import read_tree
from whet.library.standalone import alone
from whet.skill import paths
from whet.skill.tree import IGNORED, ignored
from whet.sources.git.failures import failure, last_line, shown_location, without_secrets
from whet.sources.git.program import Watch, find_git, run_git, up_to
from whet.sources.publish.prepare import Published, Release, cleaned, each_once
from whet.store.atomic import staging
from whet.store.directories import make_directories
from whet.store.failures import os_failures

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whet.library.roots import Place
    from whet.skill.tree import Tree
    from whet.sources.publish.prepare import Prepared

_NETWORK_SECONDS = 600.0
_LOCAL_SECONDS = 120.0
_GIB = 1024**3
_ROOM = 4 * _GIB
_ANSWER = 64 * 1024 * 1024

_OF_A_REPOSITORY = frozenset(
    (
        *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE"),
        *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_SHALLOW_FILE"),
        *("GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_GRAFT_FILE", "GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE"),
        *("GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS"),
        *("GIT_TEMPLATE_DIR", "GIT_IMPLICIT_WORK_TREE"),
    )
)
_ALWAYS = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GCM_INTERACTIVE": "never",
    "SSH_ASKPASS_REQUIRE": "never",
    "GIT_LITERAL_PATHSPECS": "1",
}
_FROM_INPUT = ("--pathspec-from-file=-", "--pathspec-file-nul")
_SCHEMES = ("https", "ssh", "file")
_SHORT_SSH = re.compile(r"(?:[\w.+-]+@)?[\w.-]+:(?!//|:)\S+", re.ASCII)
_ATTEMPTS = 4
_RACES = (
    *("(fetch first)", "(non-fast-forward)", "(stale info)", "cannot lock ref", "incorrect old value"),
    *("reference already exists", "failed to update ref"),
)
"""Messages of a server whose branch has moved meanwhile."""
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

    For an address the commit is pushed, to the default branch or to `branch`; `push=False` only reports the changes. In
    a working copy it is committed, and pushed with `push=True`.
    """
    each_once(prepared)
    into = _checked(into)
    ordered = sorted(prepared, key=lambda skill: skill.name)
    message = message or _message(ordered)
    stop = cancelled or threading.Event()
    address = _address(location)
    if not address:
        found = _find_repository(location, place, stop)
        if not found.bare:
            return _publish_checkout(ordered, found, place, branch=branch, into=into, message=message, push=bool(push))
        address = "file:///" + found.top.replace(os.sep, "/").removeprefix("/")
    home = _work_directory(place)
    notes = tuple(cleaned(home))
    with staging(os.path.join(home, "repository"), private=True) as directory:
        env = _environment(place.env, GIT_ALLOW_PROTOCOL=":".join(_SCHEMES), GIT_CEILING_DIRECTORIES=home)
        git = _clone(address, _Git(directory, env, stop, ("-c", f"core.hooksPath={os.devnull}")), branch)
        published = _publish(ordered, address, git, branch, into, message, push=push is not False)
        return published._replace(notes=notes)


# --- running git -----------------------------------------------------------------------------------------------------


class _Done(NamedTuple):
    """The result of a git command."""

    code: int
    out: str
    """Its output, "" if it failed; names that are not UTF-8 are preserved."""
    talk: str
    """The end of its stderr, without passwords."""

    @property
    def last(self) -> str:
        """Last line about the result, without its full stop."""
        return (last_line(self.talk) or f"git ended with {self.code}").rstrip(".")


class _Git(NamedTuple):
    """Git with the directory and environment it runs in."""

    directory: str
    """The working directory, whose size is limited."""
    env: Mapping[str, str]
    cancelled: threading.Event
    options: tuple[str, ...] = ()
    """Options before each command."""

    def run(self, *words: str, data: bytes = b"", seconds: float = _LOCAL_SECONDS) -> _Done:
        """Run one command and return its result, even if it fails."""
        command = [find_git(self.env).executable, *self.options, *words]
        watch = Watch(self.cancelled, self.directory, _ROOM, seconds)
        ran = run_git(command, env=self.env, watch=watch, read=up_to(_ANSWER), feed=data)
        return _Done(ran.code, (ran.output or b"").decode("utf-8", "surrogateescape"), without_secrets(ran.talk))

    def ask(self, *words: str, data: bytes = b"", seconds: float = _LOCAL_SECONDS) -> str:
        """Return the output of a command, without the last line end; raise FailedError if it fails."""
        done = self.run(*words, data=data, seconds=seconds)
        if done.code:
            message = f"git {words[0]} failed: {done.last}."
            raise FailedError("git-failed", message, hint="Nothing was published.", output=done.talk)
        return done.out.removesuffix("\n")


def _work_directory(place: Place) -> str:
    """Create and return the directory for temporary files of publishing."""
    home = os.path.join(place.state, "publishing")
    make_directories(home, private=True)
    return home


def _environment(env: Mapping[str, str], **more: str) -> dict[str, str]:
    """Return the environment of a git that does not prompt or translate."""
    return {**{name: value for name, value in env.items() if name not in _OF_A_REPOSITORY}, **_ALWAYS, **more}


# --- by its address --------------------------------------------------------------------------------------------------


def _publish(
    prepared: Sequence[Prepared], address: str, git: _Git, wanted: str, into: str, message: str, *, push: bool
) -> Published:
    branch, default = _find_branches(git, wanted, address)
    for left in reversed(range(_ATTEMPTS)):
        base = _fetch_newest(git, branch, default, address)
        tree, releases = _compose(git, base, prepared, into)
        result = Published("git", shown_location(address), bool(tree), releases, base, branch)
        if not tree:
            return result
        commit = _commit(git, base, tree, message)
        if not push:
            return result
        done = git.run("push", "--no-verify", "origin", f"{commit}:refs/heads/{branch}", seconds=_NETWORK_SECONDS)
        if not done.code:
            return result._replace(revision=commit, pushed=True)
        if not left or not any(sign in _refusal(done) for sign in _RACES):
            break
    raise _push_failure(address, branch, done, "Nothing was published.")


def _clone(address: str, outside: _Git, branch: str) -> _Git:
    """Clone the newest commit of the default branch into a bare repository without hooks."""
    _check_identity(outside)
    _check_branch(outside, branch)
    repository = os.path.join(outside.directory, "repository.git")
    done = outside.run(
        *("clone", "--bare", "--quiet", "--depth=1", "--single-branch", "--no-tags", "--filter=blob:none"),
        *("--template=", "--", address, repository),
        seconds=_NETWORK_SECONDS,
    )
    if done.code:
        raise failure(done.talk, address)
    return outside._replace(options=(*outside.options, f"--git-dir={repository}"))


def _find_branches(git: _Git, wanted: str, address: str) -> tuple[str, str]:
    """Return the branch to push to, and the commit that a new branch starts from ("" in an empty repository)."""
    done = git.run("symbolic-ref", "--short", "HEAD")
    if done.code and not wanted:
        message = f"{shown_location(address)} has no default branch."
        raise UsageError("branch-needed", message, hint="Choose the branch to publish to.")
    default = git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}").out.strip()
    return wanted or done.out.strip(), default


def _fetch_newest(git: _Git, branch: str, default: str, address: str) -> str:
    """Fetch and return the newest commit of the branch, or of the default branch if it does not exist yet."""
    name = f"refs/heads/{branch}"
    done = git.run("ls-remote", "origin", name, seconds=_NETWORK_SECONDS)
    commit = next((line.split("\t")[0] for line in done.out.splitlines() if line.endswith(f"\t{name}")), "")
    if commit and git.run("cat-file", "-e", f"{commit}^{{commit}}").code:
        done = git.run(
            *("fetch", "--quiet", "--depth=1", "--no-tags", "--filter=blob:none", "origin", f"+{name}:{name}"),
            seconds=_NETWORK_SECONDS,
        )
        commit = git.run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").out.strip()
    if done.code:
        raise failure(done.talk, address)
    return commit or default


def _compose(git: _Git, base: str, prepared: Sequence[Prepared], into: str) -> tuple[str, tuple[Release, ...]]:
    """Write the tree of `base` with our directories as an object; return "" if it already has them."""
    stream = [f"commit {_SCRATCH}\n{_NOBODY}\ndata 0\n".encode()]
    if base:
        stream.append(f"from {base}\n".encode())
    before = {}
    for skill in prepared:
        path = f"{into}/{skill.name}".removeprefix("/")
        _check_way(path, lambda above: _listed(git, base, above))
        before[path] = _id(git, base, path)
        stream.append(b"D %s\n" % _quoted(path))
        for name, item in skill.tree.items():
            mode = b"100755" if item.executable else b"100644"
            stream.append(b"M %s inline %s\ndata %d\n" % (mode, _quoted(f"{path}/{name}"), len(item.data)))
            stream.extend((item.data, b"\n"))
    stream.append(b"done\n")
    git.ask("fast-import", "--quiet", "--force", "--done", data=b"".join(stream))
    releases = tuple(
        _release(skill, path, old, _id(git, _SCRATCH, path))
        for skill, (path, old) in zip(prepared, before.items(), strict=True)
    )
    changed = any(release.change != "unchanged" for release in releases)
    return git.ask("rev-parse", f"{_SCRATCH}^{{tree}}") if changed else "", releases


def _commit(git: _Git, base: str, tree: str, message: str) -> str:
    signed = git.run("config", "--type=bool", "--get", "commit.gpgsign").out.strip() == "true"
    words = ["commit-tree", *(["-S"] if signed else []), *(["-p", base] if base else []), "-F", "-", tree]
    return git.ask(*words, data=f"{message.strip()}\n".encode())


def _id(git: _Git, commit: str, path: str) -> str:
    return git.run("rev-parse", "--verify", "--quiet", f"{commit}:{path}").out.strip() if commit else ""


def _listed(git: _Git, commit: str, directory: str) -> dict[str, str]:
    """Return the names in a directory of a commit, with their kinds."""
    if not commit:
        return {}
    lines = git.ask("ls-tree", "-z", f"{commit}:{directory}").split("\0")
    return {name: about.split(" ")[1] for about, _, name in (line.partition("\t") for line in lines if line)}


def _quoted(path: str) -> bytes:
    """Quote a path for fast-import."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'.encode()


def _release(skill: Prepared, path: str, old: str, new: str) -> Release:
    """Return the release of a skill whose directory was the object `old` and is now `new`."""
    if old == new:
        return Release(skill.name, skill.version, skill.digest, "unchanged", path)
    return Release(skill.name, skill.version, skill.digest, "updated" if old else "added", path)


def _check_identity(git: _Git) -> None:
    """Raise UsageError if git would have to guess the author or committer."""
    for who in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        done = git.run("-c", "user.useConfigOnly=true", "var", who)
        if done.code:
            hint = 'Run `git config --global user.name "NAME"` and `git config --global user.email "ADDRESS"`.'
            raise UsageError("no-git-identity", "Git has no user name or email, so nothing is committed.", hint=hint)


def _check_branch(git: _Git, branch: str) -> None:
    """Raise UsageError if a branch name is invalid."""
    if branch and git.run("check-ref-format", f"refs/heads/{branch}").code | branch.startswith("-"):
        raise UsageError(
            "bad-branch", f"{branch!r} cannot be the name of a branch.", hint="Use a branch name such as main."
        )


def _check_way(path: str, listed: Callable[[str], Mapping[str, str]]) -> None:
    """Raise ConflictError if a parent of `path` is a file, a link, or the same name in other letters."""
    above = ""
    for name in path.split("/"):
        there = listed(above)
        spelled = next((other for other in there if other != name and _fold(other) == _fold(name)), "")
        at = f"{above}/{name}".removeprefix("/")
        if spelled:
            raise _blocked(f"{at} differs from the existing {spelled} only in letter case")
        if there.get(name, _DIRECTORY) != _DIRECTORY:
            raise _blocked(f"{at} exists and is not a directory")
        if name not in there:
            return
        above = at


def _refusal(done: _Done) -> str:
    """Return why the server rejected the branch, in git's words; "" if it did not."""
    rows = [line.strip() for line in done.talk.splitlines() if _REJECTED.match(line)]
    return rows[-1].removeprefix("!").strip() if rows else ""


def _push_failure(target: str, branch: str, done: _Done, state: str) -> WhetError:
    """Return the error of a failed push with the server's message; `state` says how things are now."""
    why = _refusal(done)
    if not why:
        found = failure(done.talk, target)
        if found.code != "git-failed":
            return type(found)(found.code, found.message, hint=f"{found.hint} {state}", **found.details)
        why = done.last
    said = [line.removeprefix("remote:").strip() for line in done.talk.splitlines() if line.startswith("remote:")]
    said = [line for line in said if line and not line.startswith("error: hook declined")]
    told = f"; the server says: {said[-1].rstrip('.')}" if said else ""
    raced = any(sign in why for sign in _RACES)
    hint = (
        "Someone else pushed at the same time; try again." if raced else ("Ask for push access, or use another branch.")
    )
    message = f"The push to {branch} of {shown_location(target)} was refused: {why}{told}."
    return FailedError("push-refused", message, hint=f"{hint} {state}", branch=branch, output=done.talk)


def _blocked(what: str) -> ConflictError:
    return ConflictError("path-blocked", f"{what}.", hint="Move it, or publish to another directory.")


def _fold(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _checked(into: str) -> str:
    """Check and return the directory in the repository; "" for its root."""
    into = "" if into in ("", ".") else paths.check(into.removesuffix("/"))
    never = {name.casefold() for name in IGNORED}
    if any(part.casefold() in never for part in into.split("/")):
        raise UsageError("path-ignored", f"Whet does not publish to {into}.", hint="Choose another directory.")
    return into


def _message(prepared: Sequence[Prepared]) -> str:
    titles = [f"{skill.name} {skill.version}".strip() for skill in prepared]
    if len(titles) == 1:
        return f"Publish {titles[0]}"
    return f"Publish {len(titles)} skills\n\n" + "\n".join(f"- {title}" for title in titles)


def _address(location: str) -> str:
    """Return the address as git fetches it; "" for a path on this machine."""
    scheme, mark, _ = location.partition("://")
    if mark:
        if scheme not in _SCHEMES:
            hint = "Use an https, ssh or file address, or the path of a working copy."
            raise UsageError("bad-address", f"Whet cannot publish to {shown_location(location)}.", hint=hint)
        return location
    if os.path.exists(os.path.expanduser(location)):
        return ""
    if _SHORT_SSH.fullmatch(location) and not location.startswith("-"):
        return location
    raise NotFoundError("path-not-found", f"There is no {location}.", hint="Check the path or the address.")


# --- in a working copy -----------------------------------------------------------------------------------------------


class _Repository(NamedTuple):
    """A repository on this machine."""

    top: str
    """Top of the working copy, or the repository itself if it is bare."""
    bare: bool
    git: _Git

    def path(self, inner: str) -> str:
        """Return the path of a file of the repository on disk."""
        return os.path.join(self.top, *inner.split("/"))


def _find_repository(location: str, place: Place, cancelled: threading.Event) -> _Repository:
    """Return the repository that contains a path. Raise UsageError `not-a-repository`."""
    directory = os.path.realpath(os.path.expanduser(location))
    hint = "Use a working copy of a git repository, or the address of one."
    if not os.path.isdir(directory):
        raise UsageError("not-a-repository", f"{location} is not a directory.", hint=hint)
    outside = _Git(_work_directory(place), _environment(place.env), cancelled)
    git = outside._replace(options=("-C", directory))
    done = git.run("rev-parse", "--is-bare-repository", "--is-inside-work-tree")
    if done.code:
        raise UsageError("not-a-repository", f"{location} is not a git repository: {done.last}.", hint=hint)
    bare, inside = done.out.split()
    if bare == "true":
        return _Repository(directory, bare=True, git=git)
    if inside != "true":
        raise UsageError("not-a-repository", f"{location} is not in a working copy.", hint=hint)
    top = os.path.realpath(git.ask("rev-parse", "--show-toplevel"))
    return _Repository(top, bare=False, git=outside._replace(options=("-C", top)))


def _publish_checkout(
    prepared: Sequence[Prepared], found: _Repository, place: Place, *, branch: str, into: str, message: str, push: bool
) -> Published:
    """Commit these skills in a working copy, each in its directory, and nothing else."""
    git = found.git
    current = _branch(found, branch)
    _check_identity(git)
    at = {f"{into}/{skill.name}".removeprefix("/"): skill for skill in prepared}
    with ExitStack() as alone_with:
        for path in at:
            _check_way(path, lambda above: _listed_on_disk(found.path(above)))
            alone_with.enter_context(alone(place.state, found.path(path)))
        before = {path: _committed(found, path, skill) for path, skill in at.items()}
        objects = {path: _id(git, "HEAD", path) for path in at}
        try:
            _commit_files(found, at, before, message)
        except BaseException:
            _put_back(found, before)
            raise
    releases = tuple(_release(skill, path, objects[path], _id(git, "HEAD", path)) for path, skill in at.items())
    changed = any(release.change != "unchanged" for release in releases)
    revision = git.run("rev-parse", "--verify", "--quiet", "HEAD").out.strip()
    pushed = push and _push(git, current)
    return Published("git", found.top, changed, releases, revision, current, pushed)


def _branch(found: _Repository, wanted: str) -> str:
    current = found.git.run("symbolic-ref", "--short", "--quiet", "HEAD").out.strip()
    if not current or wanted not in ("", current):
        stands = f"on the branch {current}" if current else "on no branch"
        hint = f"Run `git switch {wanted or 'BRANCH'}` there first."
        raise ConflictError("wrong-branch", f"The working copy {found.top} is {stands}.", hint=hint)
    return current


def _committed(found: _Repository, path: str, skill: Prepared) -> Tree | None:
    """Return the content of a directory if it is committed or equal to the skill; else raise an error."""
    directory = found.path(path)
    tree = read_tree(directory)
    if tree == skill.tree:
        return tree
    listed = found.git.ask("status", "--porcelain", "-z", "--untracked-files=all", "--ignored=matching", "--", path)
    names = [row[3:] for row in listed.split("\0") if not (row[:2] == "!!" and ignored(row[3:].rstrip("/")))]
    if any(names):
        message = f"{directory} has uncommitted changes: {', '.join(filter(None, names[:3]))}."
        hint = "Commit them, or stash them with `git stash -u`."
        raise ConflictError("uncommitted-changes", message, hint=hint, path=directory)
    return tree


def _commit_files(
    found: _Repository, at: Mapping[str, Prepared], before: Mapping[str, Tree | None], message: str
) -> None:
    for path, skill in at.items():
        write_tree(found.path(path), before[path], skill.tree)
    files = [f"{path}/{name}" for path, skill in at.items() for name in {**(before[path] or {}), **skill.tree}]
    names = "\0".join(files).encode("utf-8", "surrogateescape")
    # Name each file: otherwise git would skip ignored files and add files that the package ignores.
    _try(found, "add", "--all", "--force", *_FROM_INPUT, data=names)
    if found.git.run("diff", "--cached", "--quiet", "--", *at).code:
        _try(found, "commit", "--quiet", "--only", "-m", message, *_FROM_INPUT, data=names)


def _put_back(found: _Repository, before: Mapping[str, Tree | None]) -> None:
    for path, tree in before.items():
        now = read_tree(found.path(path))
        if now != tree:
            write_tree(found.path(path), now, tree)
            found.git._replace(cancelled=threading.Event()).run("reset", "--quiet", "--", path)


def _push(git: _Git, branch: str) -> bool:
    """Push the branch to its upstream; return whether that changed anything there."""
    remote = git.run("config", "--get", f"branch.{branch}.remote").out.strip() or "origin"
    merge = git.run("config", "--get", f"branch.{branch}.merge").out.strip() or f"refs/heads/{branch}"
    done = git.run("push", remote, f"refs/heads/{branch}:{merge}", seconds=_NETWORK_SECONDS)
    if done.code:
        raise _push_failure(remote, branch, done, "The commit is made; pull, and push it with git.")
    return "Everything up-to-date" not in done.talk


def _try(found: _Repository, *words: str, data: bytes) -> None:
    done = found.git.run(*words, data=data)
    if done.code:
        message = f"git {words[0]} refused in {found.top}: {done.last}."
        hint = "Nothing was committed; the directory is unchanged."
        raise FailedError("commit-refused", message, hint=hint, output=done.talk)


def _listed_on_disk(directory: str) -> dict[str, str]:
    if not os.path.isdir(directory):
        return {}
    with os_failures(directory, doing="list"), os.scandir(directory) as found:
        return {entry.name: "tree" if entry.is_dir(follow_symlinks=False) else "other" for entry in found}
