"""The files of one fetched commit: which are here, what they weigh, and the packages made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.errors import FailedError, InvalidError
from whet.skill import paths
from whet.skill.archive import refused
from whet.skill.finder import main_file
from whet.skill.frontmatter import MAX_DOCUMENT
from whet.skill.tree import DEFAULT_LIMITS, Item, Tree, ignored
from whet.sources.git.objects import followed
from whet.sources.git.remote import ASKED
from whet.sources.git.running import too_large
from whet.sources.packages import FETCH_BYTES, check_amount, package_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whet.sources.git.objects import Node, Snapshot
    from whet.sources.git.remote import Remote

EVERYTHING = f"blob:limit={DEFAULT_LIMITS.file_bytes + 1}"
"""Filter: all files but those that no package may hold."""
LISTING = "blob:none"
"""Filter: the names of all files, and the content of none."""

_MIB = 1024 * 1024
_MAX_LINKS = 5_000


class Contents:
    """What a commit holds. With `parts`, files are fetched when they are asked for; otherwise they are all here."""

    def __init__(self, remote: Remote, commit: str, snapshot: Snapshot, *, parts: bool) -> None:
        self.commit = commit
        self.snapshot = snapshot
        self._remote = remote
        self._parts = parts
        self._sizes: dict[str, int] = {}
        self._small: dict[str, bytes] = {}
        """Main files and the targets of links, as far as they were read."""

    def bring(self, files: Iterable[str]) -> None:
        """See to it that these files are here and weighed, with at most one request."""
        unknown = self._unweighed(files)
        self._weigh(unknown)
        if self._parts and (missing := [oid for oid in unknown if oid not in self._sizes]):
            if self._remote.fetch_objects(missing):
                self._bring_everything()
            self._weigh(missing)
            still = [oid for oid in missing if oid not in self._sizes]
            if still and self._parts:
                message = f"The server did not send {len(still)} of the files that were asked for."
                raise FailedError("git-failed", message, hint="Try again.", missing=still[:10])

    def read(self, files: Iterable[str]) -> dict[str, bytes]:
        """The contents of those of these small files that are here; they are kept."""
        nodes = {path: self.snapshot.files[path] for path in files if path in self.snapshot.files}
        oids = [node.oid for node in nodes.values() if node.oid not in self._small and not node.module]
        readable = [oid for oid in dict.fromkeys(oids) if self._sizes.get(oid, MAX_DOCUMENT + 1) <= MAX_DOCUMENT]
        _check_total(self._sizes[oid] for oid in readable)
        self._small.update(self._remote.contents(readable))
        return {path: self._small[node.oid] for path, node in nodes.items() if node.oid in self._small}

    def led(self, links: Iterable[str]) -> dict[str, str]:
        """Where paths lead through links, for those that stay in the repository and exist."""
        wanted = list(links)
        if not wanted:
            return {}
        every = [path for path, node in self.snapshot.files.items() if node.link][:_MAX_LINKS]
        self.bring(every)
        self.read(every)
        ends = {path: followed(self.snapshot, path, self._small) for path in wanted}
        return {path: end for path, end in ends.items() if end is not None}

    def sketch(self, directory: str, files: Iterable[str]) -> None:
        """Refuse what could not be a package, told from names, sizes, links and the main file. Raises InvalidError."""
        listed = list(files)
        nodes = self._checked(directory, listed)
        main = main_file(nodes, directory)
        known = self.read([path for path, node in nodes.items() if node.link or path == main])
        if main and main not in known:
            raise refused("archive-too-large", f"The main file {paths.shown(main)} has more than {MAX_DOCUMENT} bytes.")
        package_at({path: _item(node, known.get(path, b"")) for path, node in nodes.items()}, directory)

    def packages(self, wanted: Mapping[str, Iterable[str]]) -> list[Tree]:
        """The packages in these directories with these files, each complete. Raises WhetError."""
        listed = {directory: list(files) for directory, files in wanted.items()}
        self.bring(path for files in listed.values() for path in files)
        nodes = {directory: self._checked(directory, files) for directory, files in listed.items()}
        oids = [node.oid for found in nodes.values() for node in found.values()]
        _check_total(self._sizes[oid] for oid in oids)
        data = self._remote.contents(oids)
        return [
            package_at({path: _item(node, data[node.oid]) for path, node in found.items()}, directory)
            for directory, found in nodes.items()
        ]

    def _checked(self, directory: str, files: Iterable[str]) -> dict[str, Node]:
        """The files of a package, if none is another repository, is there twice, or is too large."""
        prefix = f"{directory}/" if directory else ""
        nodes = {path: self.snapshot.files[path] for path in files if not ignored(path[len(prefix) :])}
        if directory not in self.snapshot.trees:
            raise refused(
                "archive-unsafe-path", f"The directory {paths.shown(directory)} is not one of the repository."
            )
        for path in self.snapshot.doubled:
            if path.startswith(prefix) or path == directory:
                raise refused("archive-collision", f"The path {paths.shown(path)} is there twice.")
        for path, node in nodes.items():
            if node.module:
                hint = "Ask its author to put the files into the repository, or install it from theirs."
                raise InvalidError("submodule", f"{paths.shown(path)} is a submodule, another repository.", hint=hint)
            if not self._parts and node.oid not in self._sizes:
                most = DEFAULT_LIMITS.file_bytes // _MIB
                raise refused("archive-too-large", f"The file {paths.shown(path)} has more than {most} MiB.")
        check_amount(directory, (self._sizes.get(node.oid, 0) for node in nodes.values()))
        return nodes

    def _unweighed(self, files: Iterable[str]) -> list[str]:
        nodes = (self.snapshot.files[path] for path in files)
        return list(dict.fromkeys(node.oid for node in nodes if not node.module and node.oid not in self._sizes))

    def _weigh(self, oids: Iterable[str]) -> None:
        self._sizes.update(self._remote.sizes(oids))

    def _bring_everything(self) -> None:
        """For a server that lists files without sending them and then does not hand out single ones."""
        self._remote.start(sha256=len(self.commit) > 40)
        if self._remote.fetch([f"+{self.commit}:{ASKED}"]):
            message = "The server hands out neither single files nor this commit."
            raise FailedError("git-failed", message, hint="Install the whole repository, without a path.")
        self._parts = False


def _item(node: Node, data: bytes) -> Item:
    return Item(data, node.executable, node.link)


def _check_total(sizes: Iterable[int]) -> None:
    if sum(sizes) > FETCH_BYTES:
        raise too_large(f"The skills have more than {FETCH_BYTES // _MIB} MiB together.")
