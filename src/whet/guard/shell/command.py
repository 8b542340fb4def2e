"""What a command is, and what the commands inside a construct inherit from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from whet.guard.shell.words import Word


class Redirection(NamedTuple):
    """`2>> file`, `< <(..)`, `<<< text`."""

    operator: str
    target: Word
    descriptor: str = ""


class Command(NamedTuple):
    """One simple command, a declaration, or an assignment standing alone (no `argv` then)."""

    argv: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...]
    redirections: tuple[Redirection, ...]
    heredoc: str | None
    line: int
    text: str
    """The whole statement it stands in, shortened."""
    pipes: tuple[tuple[int, int], ...] = ()
    """Every pipeline it is a part of, outermost first, each with its place in it."""
    inside: tuple[str, ...] = ()
    """What it stands in, outermost first: substitution, process, subshell, group, function, loop, condition,
    background, heredoc, error."""
    parent: int = -1
    """For a command in a substitution: the number of the command whose word it makes."""
    slot: int = -1
    """Which word of the parent; -1 for an assignment, a redirection or a loop."""
    function: str = ""
    """The function it stands in."""
    spliced: bool = False
    """The script that it runs follows it in the list of commands."""


class Scope(NamedTuple):
    """What the commands below a node inherit."""

    inside: tuple[str, ...] = ()
    pipes: tuple[tuple[int, int], ...] = ()
    redirections: tuple[Redirection, ...] = ()
    words: tuple[Word, ...] = ()
    """Arguments that stand after a redirection."""
    heredoc: str | None = None
    parent: int = -1
    slot: int = -1
    text: str = ""
    function: str = ""

    def within(self, label: str) -> Scope:
        """The same one layer further in."""
        return self._replace(inside=(*self.inside, label)) if len(self.inside) < 32 else self

    def bare(self) -> Scope:
        """Without the redirections, which belong to the last command of a pipeline or list."""
        return self._replace(redirections=(), words=(), heredoc=None)

    def below(self, number: int) -> Scope:
        """For what stands in the words of a command."""
        return Scope(self.inside, self.pipes, parent=number, text=self.text, function=self.function)
