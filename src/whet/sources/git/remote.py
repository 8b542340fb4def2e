"""A remote repository, and the temporary bare one here that parts of it are fetched into.

Nothing is ever checked out, and git fetches nothing on its own: missing objects are requested at once, and commands
that only read run with no protocol allowed. All files are in one directory below the state, which holds a kernel lock
while this process lives; the next process removes the leftovers of a killed one.

The content of a commit is a value (`Snapshot`). A tree is text that a stranger wrote. Names are kept as they are,
decoded without loss; a path that occurs twice, which git itself would not write, is recorded for the callers.
"""

from __future__ import annotations

import os
import posixpath
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, TypeVar

from whet.errors import FailedError, RefusedError
from whet.notes import Progress
from whet.records import NamedTuple
from whet.sources.age import Commit
from whet.sources.git import failures as git_failures
from whet.sources.git.program import (
    REMOTE,
    Ran,
    Watch,
    carried,
    command,
    config_text,
    environment,
    find_git,
    run_git,
    settings,
    too_large,
    up_to,
)
from whet.sources.web.addresses import read_address
from whet.store.atomic import clean_leftovers, staging, write_bytes
from whet.store.directories import PRIVATE, make_directories
from whet.store.locks import FileLock, lock_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from whet.sources.model import FetchContext

T = TypeVar("T")
ASKED = "refs/whet/asked"
"""Local ref of the fetched commit."""
REPOSITORY_BYTES = 512 * 1024 * 1024
HISTORY_BYTES = 128 * 1024 * 1024
"""Size limit when only commits are fetched to find one."""
_BY_ID = (2, 29)
"""First version that reads the objects to fetch from stdin."""
_REFS_BYTES = 32 * 1024 * 1024
_LINE = 64 * 1024
_LOCK_SECONDS = 60.0
_SERVICE = "/info/refs?service=git-upload-pack"
MAX_ENTRIES = 300_000
"""Files and directories that are read from one commit."""
LISTING_BYTES = 48 * 1024 * 1024
"""Largest listing in bytes. A small repository can have an endless one."""
_HOPS = 16
"""Links that are followed in a row."""


class Remote:
    """One location and its fetched objects. Every call may raise WhetError."""

    def __init__(self, location: str, reach: FetchContext, *, size: int = REPOSITORY_BYTES) -> None:
        self.location = location
        self._reach = reach
        self._env = reach.place.env
        self._size = size
        web = reach.web
        self._timeout, self._total = web.timeout, web.total
        self._git = find_git(self._env)
        self._address = location
        """Address of the repository after redirects."""
        self._moved = False
        self._sha256 = False
        self._roots: dict[str, str] = {}
        """Tree ids of commits."""
        self._stack = ExitStack()
        try:
            self._directory = self._stack.enter_context(_workplace(reach.place.state))
            self._config = os.path.join(self._directory, "config")
            self._repository = os.path.join(self._directory, "fetched")
            self._kept = carried(self._good(self._run(["config", "--list", "-z"], up_to(_REFS_BYTES), free=True)))
            self._aim()
        except BaseException:
            self._stack.close()
            raise

    @property
    def elsewhere(self) -> str:
        """Final address after redirects, if it differs from the given one; else ""."""
        plain = (address.lower().rstrip("/").removesuffix(".git") for address in (self.location, self._address))
        return "" if len({*plain}) == 1 else git_failures.shown_location(self._address)

    @property
    def takes_parts(self) -> bool:
        """Whether single objects can be requested."""
        return self._git.version >= _BY_ID

    def close(self) -> None:
        """Delete all fetched data."""
        self._stack.close()

    def start(self, *, sha256: bool = False) -> None:
        """Replace the current repository with an empty one."""
        self._sha256 = sha256
        if os.path.isdir(self._repository):
            from shutil import rmtree

            rmtree(self._repository)
        for part in ("objects", "refs"):
            make_directories(os.path.join(self._repository, part), durable=False, private=True)
        write_bytes(os.path.join(self._repository, "HEAD"), b"ref: refs/heads/none\n", mode=PRIVATE, durable=False)
        self._forget_promises()

    def references(self) -> dict[str, str]:
        """Return branches and tags with their commits."""
        ran = self._network(["ls-remote", "--quiet", "--heads", "--tags", REMOTE], up_to(_REFS_BYTES))
        lines = self._good(ran).decode("utf-8", "replace").splitlines()
        pairs = (line.split("\t", 1) for line in lines if "\t" in line)
        # An annotated tag is listed twice: as itself, then with its commit.
        return {name.removesuffix("^{}"): oid for oid, name in pairs}

    def fetch(self, wanted: Sequence[str], *, depth: int = 1, only: str = "", size: int = 0) -> str:
        """Fetch refs or commits; `only` is a filter. Return "", or git's message if the server does not have them."""
        options = [f"--depth={depth}"] if depth else []
        options += [f"--filter={only}"] if only else []
        call = ["fetch", "--progress", "--no-tags", "--no-recurse-submodules", *options, REMOTE, *wanted]
        ran = self._network(call, up_to(_LINE), size=size)
        self._forget_promises()
        if ran.code and git_failures.OTHER_HASH.search(ran.talk) and not self._sha256:
            self.start(sha256=True)
            return self.fetch(wanted, depth=depth, only=only, size=size)
        return self._refused(ran)

    def fetch_objects(self, oids: Iterable[str]) -> str:
        """Fetch exactly these objects in one request. Return "", or git's message if the server does not allow that."""
        call = ["-c", "fetch.negotiationAlgorithm=noop", "fetch", "--progress", "--no-tags", "--no-recurse-submodules"]
        call += ["--no-write-fetch-head", "--filter=blob:none", "--stdin", REMOTE]
        ran = self._network(call, up_to(_LINE), feed="".join(f"{oid}\n" for oid in oids).encode())
        self._forget_promises()
        return self._refused(ran)

    def peeled(self, name: str) -> str:
        """Return the id of the commit that a local ref leads to; "" if it does not exist."""
        check = ["cat-file", "--batch-check=%(objecttype) %(objectname)"]
        asked = f"{name}^{{commit}}\n{name}^{{tree}}\n"
        ran = self._run([*self._here(), *check], up_to(_LINE), feed=asked.encode())
        words = map(str.split, (ran.output or b"").decode("ascii", "replace").splitlines())
        found = {kind: oid for kind, oid in words if oid != "missing"}
        commit = found.get("commit", "")
        self._roots[commit] = found.get("tree", "")
        return commit

    def commits_like(self, prefix: str) -> tuple[str, ...]:
        """Return the local commits whose ids start with `prefix`."""
        found = self._local(["rev-parse", f"--disambiguate={prefix}"], up_to(_LINE)).decode("ascii", "replace")
        check = ["cat-file", "--batch-check=%(objecttype) %(objectname)"]
        kinds = self._local(check, up_to(_LINE * 4), feed=found.encode()).decode("ascii", "replace")
        return tuple(line.split()[1] for line in kinds.splitlines() if line.startswith("commit "))

    def fetched_time(self) -> int:
        """Return the time of the fetched commit or, if later, of its annotated tag, in seconds."""
        call = ["for-each-ref", "--format=%(creatordate:unix) %(*committerdate:unix)", ASKED]
        said = self._local(call, up_to(_LINE)).decode("ascii", "replace").split()
        return max((int(time) for time in said if time.isdecimal()), default=0)

    def history(self, most: int) -> tuple[Commit, ...]:
        """Return the commits of the fetched branch, newest first, along the first parents."""
        call = ["rev-list", "--first-parent", "--timestamp", f"--max-count={most}", ASKED]
        lines = self._local(call, up_to(LISTING_BYTES)).decode("ascii", "replace").splitlines()
        return tuple(Commit(oid, max(int(time), 0)) for time, oid in map(str.split, lines))

    def is_on_a_branch(self, commit: str) -> bool:
        """Return whether a local branch or tag contains a commit."""
        call = ["for-each-ref", "--count=1", "--format=%(refname)", f"--contains={commit}"]
        return bool(self._local(call, up_to(_LINE)).strip())

    def snapshot(self, commit: str, path: str = "") -> Snapshot:
        """Return the files of a commit; with `path`, only those below it."""
        if not self._roots.get(commit):
            self.peeled(commit)
        call = ["ls-tree", "-r", "-t", "-z", "--full-tree", commit, *(["--", path] if path else [])]
        return read_listing(self._local(call, up_to(LISTING_BYTES)), self._roots.get(commit, ""))

    def sizes(self, oids: Iterable[str]) -> dict[str, int]:
        """Return the sizes of those objects that exist here."""
        listed = "".join(f"{oid}\n" for oid in dict.fromkeys(oids))
        return self._local(["cat-file", "--batch-check"], read_sizes, feed=listed.encode()) if listed else {}

    def contents(self, oids: Iterable[str]) -> dict[str, bytes]:
        """Return the contents of objects; the caller has checked their sizes."""
        listed = "".join(f"{oid}\n" for oid in dict.fromkeys(oids))
        return self._local(["cat-file", "--batch"], read_contents, feed=listed.encode()) if listed else {}

    def _aim(self) -> None:
        """Write the configuration for the current address, with its host checked and its IP addresses pinned."""
        pins: tuple[str, ...] = ()
        if self._address.startswith(("https://", "http://")):
            pins = self._pins()
        lines = settings(self._address, kept=self._kept, env=self._env, pins=pins, stall=self._timeout)
        write_bytes(self._config, config_text(lines), mode=PRIVATE, durable=False)

    def _pins(self) -> tuple[str, ...]:
        address = read_address(self._address)
        try:
            found = self._reach.web.addresses(self._address)
        except FailedError as error:
            # If git itself uses a proxy, names may not resolve on this side of it.
            if error.code == "unreachable" and any(
                (item.section, item.name) == ("http", "proxy") for item in self._kept
            ):
                return ()
            raise
        if not found or address.literal:
            return ()
        listed = ",".join(f"[{ip}]" if ":" in ip else ip for ip in found)
        return (f"{address.host}:{address.port}:{listed}",)

    def _network(
        self, arguments: Sequence[str], read: Callable[[IO[bytes]], T], *, feed: bytes = b"", size: int = 0
    ) -> Ran[T]:
        """Run a command that uses the network; a redirect is checked hop by hop before git follows it."""
        here = [] if arguments[0] == "ls-remote" else self._here()
        ran = self._run([*here, *arguments], read, feed=feed, online=True, size=size)
        if ran.code and git_failures.REDIRECTED.search(ran.talk) and not self._moved:
            self._follow()
            ran = self._run([*here, *arguments], read, feed=feed, online=True, size=size)
        return ran

    def _follow(self) -> None:
        self._moved = True
        where = git_failures.shown_location(self._address)
        end = self._reach.web.follow(self._address.rstrip("/") + _SERVICE, cancelled=self._reach.cancelled)
        if not end.endswith(_SERVICE):
            message = f"{where} redirects to {git_failures.shown_location(end)}, which is not a repository."
            raise RefusedError("source-denied", message, hint="Check the address and your access to it.")
        self._address = end.removesuffix(_SERVICE)
        self._aim()

    def _local(self, arguments: Sequence[str], read: Callable[[IO[bytes]], T], *, feed: bytes = b"") -> T:
        return self._good(self._run([*self._here(), *arguments], read, feed=feed))

    def _good(self, ran: Ran[T]) -> T:
        if ran.output is None:
            raise git_failures.failure(ran.talk, self.location)
        return ran.output

    def _refused(self, ran: Ran[bytes]) -> str:
        """Return git's message if the server lacks or refuses the requested objects; raise every other failure."""
        if not ran.code:
            return ""
        if git_failures.NO_REF.search(ran.talk) or git_failures.NOT_ADVERTISED.search(ran.talk):
            return ran.talk
        raise git_failures.failure(ran.talk, self.location)

    def _here(self) -> list[str]:
        return [f"--git-dir={self._repository}"]

    def _run(
        self,
        arguments: Sequence[str],
        read: Callable[[IO[bytes]], T],
        *,
        feed: bytes = b"",
        online: bool = False,
        free: bool = False,
        size: int = 0,
    ) -> Ran[T]:
        """Run git; `online` with the protocol of the address, `free` with the user's own configuration."""
        protocol = self._address.partition(":")[0] if online else ""
        watch = Watch(
            self._reach.cancelled,
            self._directory,
            size or self._size,
            self._total,
            # git prints nothing while the server works, and detects a stalled http connection itself.
            2 * self._timeout if online else 0.0,
            self._tell if online else None,
        )
        config = "" if free else self._config
        env = environment(self._env, git=self._git, directory=self._directory, config=config, protocol=protocol)
        call = [self._git.executable] if free else command(self._git, self._config)
        return run_git([*call, *arguments], env=env, watch=watch, read=read, feed=feed)

    def _tell(self, done: int, total: int) -> None:
        self._reach.progress(Progress(git_failures.shown_location(self.location), done, total, "objects"))

    def _forget_promises(self) -> None:
        """Rewrite the repository's configuration, where git records from where to fetch missing objects."""
        text = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tsharedRepository = 0600\n"
        if self._sha256:
            text = text.replace("= 0", "= 1") + "[extensions]\n\tobjectFormat = sha256\n"
        write_bytes(os.path.join(self._repository, "config"), text.encode(), mode=PRIVATE, durable=False)


@contextmanager
def _workplace(state: str) -> Iterator[str]:
    """Create a private, locked directory for one source, deleted at the end."""
    above = os.path.join(state, "fetching")
    with ExitStack() as stack:
        # To a cleanup, a directory that is not locked yet looks like a leftover.
        with FileLock(lock_path(state, "fetching", above), timeout=_LOCK_SECONDS):
            make_directories(above, durable=False, private=True)
            clean_leftovers(above)
            made = stack.enter_context(staging(os.path.join(above, "git"), private=True))
        yield made


class Node(NamedTuple):
    """A file, link or submodule of a tree."""

    oid: str
    link: bool
    executable: bool
    module: bool
    """Whether it is a submodule, of which only the commit id is here."""


class Snapshot(NamedTuple):
    """The content of a commit."""

    files: Mapping[str, Node]
    trees: Mapping[str, str]
    """Tree ids by directory; "" is the root."""
    doubled: tuple[str, ...]
    """Paths that occur more than once."""


def read_listing(listed: bytes, root: str) -> Snapshot:
    """Read the output of `ls-tree -r -t -z` for a tree with the id `root`."""
    files: dict[str, Node] = {}
    trees = {"": root}
    doubled: list[str] = []
    if listed.count(b"\0") > MAX_ENTRIES:
        raise too_large(f"The repository has more than {MAX_ENTRIES:,} files and directories.")
    for line in listed.split(b"\0"):
        head, tab, name = line.partition(b"\t")
        if not tab:
            continue
        mode, kind, oid = head.decode("ascii", "replace").split()
        path = name.decode("utf-8", "surrogateescape")
        if path in files or path in trees:
            doubled.append(path)
        if kind == "tree":
            trees[path] = oid
        else:
            files[path] = Node(oid, mode == "120000", mode == "100755", kind != "blob")
    return Snapshot(files, trees, tuple(doubled))


def read_sizes(stream: IO[bytes]) -> dict[str, int]:
    """Read the output of `cat-file --batch-check`: id -> size, without missing objects."""
    sizes = {}
    for line in stream:
        oid, *rest = line.decode("ascii", "replace").split()
        if len(rest) == 2:
            sizes[oid] = int(rest[1])
    return sizes


def read_contents(stream: IO[bytes]) -> dict[str, bytes]:
    """Read the output of `cat-file --batch` for existing objects."""
    contents = {}
    while header := stream.readline():
        parts = header.decode("ascii", "replace").split()
        if len(parts) != 3:
            message = "An object of the repository is missing or damaged."
            raise FailedError("git-failed", message, hint="Try again.", object=parts[0] if parts else "")
        size = int(parts[2])
        data = stream.read(size)
        if len(data) != size or not stream.read(1):
            raise EOFError
        contents[parts[0]] = data
    return contents


def links_on(snapshot: Snapshot, path: str) -> str:
    """Return the shortest prefix of a path that is a link, or ""."""
    parts = path.split("/")
    heads = ("/".join(parts[:count]) for count in range(1, len(parts) + 1))
    return next((head for head in heads if head in snapshot.files and snapshot.files[head].link), "")


def followed(snapshot: Snapshot, path: str, targets: Mapping[str, bytes]) -> str | None:
    """Resolve a path through links with known targets; return None if it leaves the repository or does not exist."""
    for _ in range(_HOPS):
        head = links_on(snapshot, path)
        if not head:
            return path if path in snapshot.trees or path in snapshot.files else None
        target = targets.get(snapshot.files[head].oid)
        if target is None or target.startswith(b"/"):
            return None
        text = target.decode("utf-8", "surrogateescape")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(head), text) + path[len(head) :])
        if path == ".":
            return ""
        if path == ".." or path.startswith("../"):
            return None
    return None
