"""The context and the result of a command."""

from __future__ import annotations

import os

from whet.errors import NotFoundError
from whet.records import NamedTuple
from whet.values import as_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Self, TypeVar

    from whet.api import Library
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Namespace, Parser
    from whet.interfaces.cli.terminal import Bar
    from whet.interfaces.mcp.stdio import Streams
    from whet.library.visibility import Caller
    from whet.notes import Progress
    from whet.values import Json

    V = TypeVar("V")


class Answer:
    """The result of a command: a value of the library, and the function that shows it to a person."""

    def __init__(
        self, value: V, render: Callable[[V, Screen, Namespace], None], code: int = 0, *, key: str = ""
    ) -> None:
        """`code` is the exit code: 1 if the answer is "no". With a `key`, JSON has the value under that name."""
        self.code = code
        self.render: Callable[[Screen, Namespace], None] = lambda screen, options: render(value, screen, options)
        self.value: Any = value
        """The library's answer."""
        self._key = key

    def hint(self, text: str) -> Self:
        """Return the same answer; a person is shown this hint after it."""
        shown = self.render

        def render(screen: Screen, options: Namespace) -> None:
            shown(screen, options)
            screen.hint(text)

        self.render = render
        return self

    def to_json(self) -> Json:
        """Return the answer as `--json` prints it."""
        value = as_json(self.value)
        return {"success": True, **({self._key: value} if self._key else value)}


class Command(NamedTuple):
    """The parts of a command; `whet.interfaces.cli.verbs` says how to add one."""

    configure: Callable[[Parser], None]
    """Declares its arguments and options."""
    run: Callable[[Context, Namespace], Answer]
    """Calls the library."""


class Context:
    """The environment of one command. The library is opened when a command first needs it."""

    def __init__(self, options: Namespace, env: Mapping[str, str], streams: Streams | None = None) -> None:
        self.env = env
        self.streams = streams
        """The client of `whet mcp`, if it was already greeted."""
        self._options = options
        self._library: Library | None = None
        self._bar: Bar | None = None

    @property
    def caller(self) -> Caller:
        """The caller: a person at the command line."""
        from whet.library.visibility import Caller

        return Caller(surface="cli")

    @property
    def library(self) -> Library:
        """The library that the global options name."""
        if self._library is None:
            self._library = self.open_library()
        return self._library

    def open_library(self, project: str | None = None) -> Library:
        """Open a library as the global options say, or that of another project."""
        from whet.api import Library
        from whet.interfaces.clients import settle_connections

        roots = [os.path.abspath(os.path.expanduser(root)) for root in self._options.root]
        library = Library.open(roots or None, project=project or self._options.project, env=self.env)
        library.progress = self._report
        return settle_connections(library)

    def _report(self, progress: Progress) -> None:
        """Show the progress of a library; the code for it is imported only when needed."""
        if self._bar is None:
            from whet.interfaces.cli.terminal import Bar

            self._bar = Bar(self._options)
        self._bar(progress)

    def end_progress(self) -> None:
        """Remove the progress from the screen before the answer is printed."""
        if self._bar is not None:
            self._bar.end()

    def locate(self, text: str) -> str:
        """Return the path of a skill given by its path or by its name in the library; a skill on disk wins."""
        path = os.path.expanduser(text)
        if os.path.isabs(path) or text.startswith(os.curdir) or text.endswith((".skill", ".md", os.sep, "/")):
            return path
        if os.path.isfile(path) or os.path.isfile(os.path.join(path, "SKILL.md")):
            return path
        try:
            return self.library.card(text).location
        except NotFoundError:
            if os.path.lexists(path) or os.sep in text or "/" in text:
                return path  # it is a path after all, and whoever opens it reports the problem
            raise

    def close(self) -> None:
        """Close the library."""
        self.end_progress()
        if self._library is not None:
            self._library.close()
