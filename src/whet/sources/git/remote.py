"""A repository somewhere else, and the temporary bare one here that parts of it are fetched into.

Nothing is ever checked out, and nothing is fetched by git on its own account: what is missing is asked for in one
request, and whatever only reads runs with no protocol allowed. Everything lies in one directory below the state that
carries a kernel lock while this process lives; the next process removes what a killed one left.

What a commit holds is a value (`Snapshot`). A tree is text that a stranger wrote. Names are kept as they are, decoded
without loss; that a path occurs twice, which git itself would not write, is remembered for whoever uses it.
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
"""The name here of what was fetched."""
REPOSITORY_BYTES = 512 * 1024 * 1024
HISTORY_BYTES = 128 * 1024 * 1024
"""What the commits alone may have, where they are needed to find one."""
_BY_ID = (2, 29)
"""The first git that takes the names of what to fetch from its standard input."""
_REFS_BYTES = 32 * 1024 * 1024
_LINE = 64 * 1024
_LOCK_SECONDS = 60.0
_SERVICE = "/info/refs?service=git-upload-pack"
MAX_ENTRIES = 300_000
"""Files and directories of one commit that are looked at."""
LISTING_BYTES = 48 * 1024 * 1024
"""Bytes of one listing. A small repository can be built whose listing never ends."""
_HOPS = 16
"""Links that are followed one after another."""


class Remote:
    """One location, and what was fetched from it so far. Every call may raise WhetError."""

    def __init__(self, location: str, reach: FetchContext, *, size: int = REPOSITORY_BYTES) -> None:
        self.location = location
        self._reach = reach
        self._env = reach.place.env
        self._size = size
        web = reach.web
        self._timeout, self._total = web.timeout, web.total
        self._git = find_git(self._env)
        self._address = location
        """Where the repository really is, after redirects."""
        self._moved = False
        self._sha256 = False
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
        """Where redirects led, if that is another place than the one that was named; else nothing."""
        plain = (address.lower().rstrip("/").removesuffix(".git") for address in (self.location, self._address))
        return "" if len({*plain}) == 1 else git_failures.shown_location(self._address)

    @property
    def takes_parts(self) -> bool:
        """Whether single objects can be asked for."""
        return self._git.version >= _BY_ID

    def close(self) -> None:
        """Remove everything that was fetched."""
        self._stack.close()

    def start(self, *, sha256: bool = False) -> None:
        """An empty repository in the place of the one before it."""
        self._sha256 = sha256
        if os.path.isdir(self._repository):
            from shutil import rmtree

            rmtree(self._repository)
        for part in ("objects", "refs"):
            make_directories(os.path.join(self._repository, part), durable=False, private=True)
        write_bytes(os.path.join(self._repository, "HEAD"), b"ref: refs/heads/none\n", mode=PRIVATE, durable=False)
        self._forget_promises()

    def references(self) -> dict[str, str]:
        """Branches and tags with the commits they mean."""
        ran = self._network(["ls-remote", "--quiet", "--heads", "--tags", REMOTE], up_to(_REFS_BYTES))
        lines = self._good(ran).decode("utf-8", "replace").splitlines()
        pairs = (line.split("\t", 1) for line in lines if "\t" in line)
        # A tag with a message is listed twice: as itself, and then with the commit it means.
        return {name.removesuffix("^{}"): oid for oid, name in pairs}

    def fetch(self, wanted: Sequence[str], *, depth: int = 1, only: str = "", size: int = 0) -> str:
        """Fetch names or commits; `only` is a filter. Returns "", or what git said if the server has no such thing."""
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
        """Fetch exactly these objects, in one request. Returns "", or what git said if the server has no parts."""
        call = ["-c", "fetch.negotiationAlgorithm=noop", "fetch", "--progress", "--no-tags", "--no-recurse-submodules"]
        call += ["--no-write-fetch-head", "--filter=blob:none", "--stdin", REMOTE]
        ran = self._network(call, up_to(_LINE), feed="".join(f"{oid}\n" for oid in oids).encode())
        self._forget_promises()
        return self._refused(ran)

    def peeled(self, name: str, kind: str = "commit") -> str:
        """The id of what a name here means; "" when there is no such thing."""
        ran = self._run([*self._here(), "rev-parse", "--verify", "--quiet", f"{name}^{{{kind}}}"], up_to(_LINE))
        return (ran.output or b"").decode("ascii", "replace").strip()

    def commits_like(self, prefix: str) -> tuple[str, ...]:
        """The commits here whose ids begin so."""
        found = self._local(["rev-parse", f"--disambiguate={prefix}"], up_to(_LINE)).decode("ascii", "replace")
        check = ["cat-file", "--batch-check=%(objecttype) %(objectname)"]
        kinds = self._local(check, up_to(_LINE * 4), feed=found.encode()).decode("ascii", "replace")
        return tuple(line.split()[1] for line in kinds.splitlines() if line.startswith("commit "))

    def fetched_time(self) -> int:
        """When what was fetched was committed or, if it is a tag with a message and later, tagged, in seconds."""
        call = ["for-each-ref", "--format=%(creatordate:unix) %(*committerdate:unix)", ASKED]
        said = self._local(call, up_to(_LINE)).decode("ascii", "replace").split()
        return max((int(time) for time in said if time.isdecimal()), default=0)

    def history(self, most: int) -> tuple[Commit, ...]:
        """The commits of the branch that was fetched, the newest first, along the first parents."""
        call = ["rev-list", "--first-parent", "--timestamp", f"--max-count={most}", ASKED]
        lines = self._local(call, up_to(LISTING_BYTES)).decode("ascii", "replace").splitlines()
        return tuple(Commit(oid, max(int(time), 0)) for time, oid in map(str.split, lines))

    def is_on_a_branch(self, commit: str) -> bool:
        """Whether a branch or tag here leads to a commit."""
        call = ["for-each-ref", "--count=1", "--format=%(refname)", f"--contains={commit}"]
        return bool(self._local(call, up_to(_LINE)).strip())

    def snapshot(self, commit: str, path: str = "") -> Snapshot:
        """What a commit holds; with `path`, only that part of it."""
        root = self.peeled(commit, "tree")
        call = ["ls-tree", "-r", "-t", "-z", "--full-tree", commit, *(["--", path] if path else [])]
        return read_listing(self._local(call, up_to(LISTING_BYTES)), root)

    def sizes(self, oids: Iterable[str]) -> dict[str, int]:
        """The sizes of those of the objects that are here."""
        listed = "".join(f"{oid}\n" for oid in dict.fromkeys(oids))
        return self._local(["cat-file", "--batch-check"], read_sizes, feed=listed.encode()) if listed else {}

    def contents(self, oids: Iterable[str]) -> dict[str, bytes]:
        """The contents of objects; whoever asks has looked at their sizes."""
        listed = "".join(f"{oid}\n" for oid in dict.fromkeys(oids))
        return self._local(["cat-file", "--batch"], read_contents, feed=listed.encode()) if listed else {}

    def _aim(self) -> None:
        """Write the configuration for the present address, with its host checked and its addresses pinned."""
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
            # Where git itself has a proxy, names may have no addresses on this side of it.
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
        """Run a command that talks to the other side; a redirect is checked hop by hop, and then git goes there."""
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
        """What git said, if the server does not have or give what was asked for; every other failure is raised."""
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
            # git is silent while the other side thinks, and knows itself when nothing comes over http.
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
        """Write the repository's own configuration anew: git notes in it where it may fetch missing objects from."""
        text = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tsharedRepository = 0600\n"
        if self._sha256:
            text = text.replace("= 0", "= 1") + "[extensions]\n\tobjectFormat = sha256\n"
        write_bytes(os.path.join(self._repository, "config"), text.encode(), mode=PRIVATE, durable=False)


@contextmanager
def _workplace(state: str) -> Iterator[str]:
    """A directory for one source, private and locked, gone at the end."""
    above = os.path.join(state, "fetching")
    with ExitStack() as stack:
        # A directory that is not locked yet looks like a leftover to whoever cleans.
        with FileLock(lock_path(state, "fetching", above), timeout=_LOCK_SECONDS):
            make_directories(above, durable=False, private=True)
            clean_leftovers(above)
            made = stack.enter_context(staging(os.path.join(above, "git"), private=True))
        yield made


class Node(NamedTuple):
    """One entry of a tree that is not itself a tree."""

    oid: str
    link: bool
    executable: bool
    module: bool
    """Another repository, of which nothing is here but the name of a commit."""


class Snapshot(NamedTuple):
    """Everything a commit holds."""

    files: Mapping[str, Node]
    trees: Mapping[str, str]
    """Directory -> its id; "" is the root."""
    doubled: tuple[str, ...]
    """Paths that occur more than once."""


def read_listing(listed: bytes, root: str) -> Snapshot:
    """The answer of `ls-tree -r -t -z` for a tree with the id `root`."""
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
    """The answer of `cat-file --batch-check`: id -> size, without what is not there."""
    sizes = {}
    for line in stream:
        oid, *rest = line.decode("ascii", "replace").split()
        if len(rest) == 2:
            sizes[oid] = int(rest[1])
    return sizes


def read_contents(stream: IO[bytes]) -> dict[str, bytes]:
    """The answer of `cat-file --batch` for objects that are all there."""
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
    """The first part of a path, from the root, that is a link; "" when none is."""
    parts = path.split("/")
    heads = ("/".join(parts[:count]) for count in range(1, len(parts) + 1))
    return next((head for head in heads if head in snapshot.files and snapshot.files[head].link), "")


def followed(snapshot: Snapshot, path: str, targets: Mapping[str, bytes]) -> str | None:
    """Where a path leads through the links whose targets are known; None when that is outside, or nowhere."""
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
