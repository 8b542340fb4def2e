"""A shell command, and the properties that commands inside a construct inherit."""

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
    """One simple command, a declaration, or a standalone assignment (with an empty `argv`)."""

    argv: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...]
    redirections: tuple[Redirection, ...]
    heredoc: str | None
    line: int
    text: str
    """The whole statement that contains the command, shortened."""
    pipes: tuple[tuple[int, int], ...] = ()
    """Every pipeline the command is part of, outermost first, each with its position there."""
    inside: tuple[str, ...] = ()
    """The constructs around the command, outermost first: substitution, process, subshell, group, function, loop, condition,
    background, heredoc, error."""
    parent: int = -1
    """For a command in a substitution: the number of the command that the substitution is a word of."""
    slot: int = -1
    """Index of the word in the parent; -1 for an assignment, a redirection or a loop."""
    function: str = ""
    """The function that contains the command."""
    spliced: bool = False
    """The script that the command runs follows it in the list of commands."""
    block: tuple[tuple[int, int, int], ...] = ()
    """The branches, loops and functions around the command, outermost first: line, start and end."""


class Scope(NamedTuple):
    """The properties that the commands below a node inherit."""

    inside: tuple[str, ...] = ()
    pipes: tuple[tuple[int, int], ...] = ()
    redirections: tuple[Redirection, ...] = ()
    words: tuple[Word, ...] = ()
    """Arguments that follow a redirection."""
    heredoc: str | None = None
    parent: int = -1
    slot: int = -1
    text: str = ""
    function: str = ""
    block: tuple[tuple[int, int, int], ...] = ()

    def within(self, label: str) -> Scope:
        """Return the scope one level deeper."""
        return self._replace(inside=(*self.inside, label)) if len(self.inside) < 32 else self

    def bare(self) -> Scope:
        """Return the scope without redirections, which belong to the last command of a pipeline or list."""
        return self._replace(redirections=(), words=(), heredoc=None)

    def below(self, number: int) -> Scope:
        """Return the scope for substitutions in the words of a command."""
        return Scope(self.inside, self.pipes, parent=number, text=self.text, function=self.function, block=self.block)
