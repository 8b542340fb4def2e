"""Read the Python files of a package together: imports lead to the other files, and the shipped data is known.

This finds a flow that crosses a file border, or a command whose pieces are in data files. Only files that import each
other or name a data file are read this way, and only critical hits that no file shows alone are reported.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.python.checker import check, finished, parse, read_text
from whet.guard.python.reader import Reader
from whet.guard.python.values import Klass
from whet.guard.rules import severity_of
from whet.guard.taint.branches import Branches
from whet.guard.taint.shipped import Budget, Shipped

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator, Sequence

    from whet.guard.documents import Document
    from whet.guard.finding import Hit
    from whet.guard.taint.mark import Mark

_IMPORT = expression(
    r"^[ \t]*(?:from[ \t]{1,40}\.{0,3}([\w.]*)[ \t]{1,40}import\b|import[ \t]{1,40}([\w.]+))", re.MULTILINE
)


class Package:
    """The Python files of a package, by path."""

    def __init__(self, documents: Sequence[Document], budget: Budget, branches: Branches) -> None:
        self.files: dict[str, frozenset[Mark]] = {}
        """The marks of files that any of the programs writes, by path."""
        self.shipped = Shipped(documents, "python", budget)
        self.programs = {
            document.path: document.text for document in documents if document.kind == "python" and not document.via
        }
        self._budget = budget
        self._branches = branches
        self._readers: dict[str, tuple[Reader, ast.Module, str]] = {}
        self._modules: dict[str, Klass] = {}
        self._stems = {part.removesuffix(".py") for path in self.programs for part in path.split("/")}

    def concerns(self, path: str) -> bool:
        """Return whether a program imports another file of the package or names a data file."""
        text = self.programs[path]
        for found in _IMPORT.finditer(text):
            name = found[1] or found[2] or ""
            if (found[1] is not None and not name) or not self._stems.isdisjoint(name.split(".")):
                return True
        return self.shipped.is_named(text)

    def module(self, reader: Reader, name: str, level: int) -> Klass | None:
        """Return the module that an import leads to, read on first use; None if it is not in the package."""
        path = self._path(reader.path, name, level)
        if path is None or path == reader.path:
            return None
        known = self._modules.get(path)
        if known is not None:
            return known
        loaded = self.reader(path)
        if loaded is None:
            return None
        module = Klass(name, ())
        module.fields = loaded[0].module.names
        self._modules[path] = module
        if not loaded[0].done and reader.depth < 40:
            from whet.guard.python.statements import block

            loaded[0].done = True
            block(loaded[0], loaded[1].body, loaded[0].module)
        return module

    def reader(self, path: str) -> tuple[Reader, ast.Module, str] | None:
        """Return the reader, tree and source of a file; None if it does not parse or the budget is used up."""
        if path not in self._readers:
            if not self._budget.take(path, len(self.programs[path])):
                return None
            source, tree, _ = parse(self.programs[path])
            if tree is None:
                return None
            self._readers[path] = (Reader(source, read_text, 0, self, path, self._branches), tree, source)
        return self._readers[path]

    def found(self) -> Iterator[tuple[str, list[Hit]]]:
        """Yield the path and the hits of each file that was read, sorted by line."""
        for path, (reader, _, _) in self._readers.items():
            yield path, sorted(reader.hits.values(), key=lambda hit: hit.line)

    def _path(self, importer: str, name: str, level: int) -> str | None:
        folder = importer.rpartition("/")[0]
        for _ in range(level - 1):
            folder = folder.rpartition("/")[0]
        relative = name.replace(".", "/")
        if not relative:
            return None
        roots = [folder] if level else [folder, folder.rpartition("/")[0], "", "scripts", "src", "lib"]
        for root in roots:
            base = f"{root}/{relative}" if root else relative
            for path in (f"{base}.py", f"{base}/__init__.py"):
                if path in self.programs:
                    return path
        return None


def hits(documents: Sequence[Document], budget: Budget) -> Iterator[tuple[str, Hit]]:
    """Yield the hits that are critical only when the files are read together, each with its path."""
    if len(documents) < 2:
        return
    branches, told = Branches(), set[tuple[str, str, int]]()
    for one in chain((branches,), branches.others()):
        package = Package(documents, budget, one)
        for path in [path for path in package.programs if package.concerns(path)]:
            loaded = package.reader(path)
            if loaded is not None:
                reader, tree, source = loaded
                finished(reader, tree, source, source)
        for path, found in package.found():
            grave = [hit for hit in found if severity_of(hit) == "critical" and (path, *hit[:2]) not in told]
            told.update((path, *hit[:2]) for hit in grave)
            if grave:
                alone = {(hit.rule, hit.line, hit.severity) for hit in check(package.programs[path]).hits}
                yield from ((path, hit) for hit in grave if (hit.rule, hit.line, hit.severity) not in alone)
