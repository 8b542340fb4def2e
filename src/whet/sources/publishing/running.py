"""Git, run to publish: with the person's own configuration, never at a prompt, and never for ever.

What fetches from strangers runs git without anybody's configuration (`whet.sources.git.setup`); a push needs it: the
identity, the credentials, the rewritten addresses. What says *which* repository is meant, as hooks inherit it, is not
passed on.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import FailedError
from whet.sources.git.failures import last_line, without_secrets
from whet.sources.git.running import Watch, run_git, up_to
from whet.sources.git.setup import find_git
from whet.store.atomic import make_directories

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping

    from whet.library.roots import Place

NETWORK_SECONDS = 600.0
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


class Done(NamedTuple):
    """A git that has ended."""

    code: int
    out: str
    """Its output, "" where it failed; names that are not UTF-8 survive the way through it."""
    talk: str
    """The end of what it said on the side, without passwords."""

    @property
    def last(self) -> str:
        """The last line that says what happened, without its full stop."""
        return (last_line(self.talk) or f"git ended with {self.code}").rstrip(".")


class Git(NamedTuple):
    """Git as it is run in one place."""

    directory: str
    """Where it starts, and what may not grow without bounds."""
    env: Mapping[str, str]
    cancelled: threading.Event
    options: tuple[str, ...] = ()
    """What stands before each command."""

    def run(self, *words: str, data: bytes = b"", seconds: float = _LOCAL_SECONDS) -> Done:
        """Run one command to its end, whatever that is."""
        command = [find_git(self.env).executable, *self.options, *words]
        watch = Watch(self.cancelled, self.directory, _ROOM, seconds)
        ran = run_git(command, env=self.env, watch=watch, read=up_to(_ANSWER), feed=data)
        return Done(ran.code, (ran.output or b"").decode("utf-8", "surrogateescape"), without_secrets(ran.talk))

    def ask(self, *words: str, data: bytes = b"", seconds: float = _LOCAL_SECONDS) -> str:
        """The output of a command that has to succeed, without the end of its last line."""
        done = self.run(*words, data=data, seconds=seconds)
        if done.code:
            message = f"git {words[0]} failed: {done.last}."
            raise FailedError("git-failed", message, hint="Nothing was published.", output=done.talk)
        return done.out.removesuffix("\n")


def workshop(place: Place) -> str:
    """The directory in which publishing keeps what it needs for a moment; it exists."""
    home = os.path.join(place.state, "publishing")
    make_directories(home)
    return home


def environment(env: Mapping[str, str], **more: str) -> dict[str, str]:
    """The variables of a git that does not ask and speaks plainly."""
    return {**{name: value for name, value in env.items() if name not in _OF_A_REPOSITORY}, **_ALWAYS, **more}
