"""The tools of a run: their definitions for the model, and their implementation.

The harness reads and writes files in the copy; no program runs there meanwhile, so a checked path is the path that is
opened. `Bash` and `Grep` run in the backend. A mistake of the model gives an answer, not an error.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import WhetError
from whet.guard.permissions.decision import Permission, allowed_address, host_of_address
from whet.guard.permissions.globs import row_matches
from whet.guard.permissions.paths import BadPathError, secret_file
from whet.learning.models.model import Tool
from whet.runtime.approvals import PATH_KEYS
from whet.runtime.backends import Program
from whet.runtime.servers import is_left_out
from whet.store.atomic import write_bytes
from whet.store.directories import make_missing

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from whet.guard.sandbox.process import Ran
    from whet.runtime.approvals import Judge
    from whet.runtime.backends import Backend
    from whet.runtime.proxy import Proxy
    from whet.runtime.servers import Servers
    from whet.sources.web.addresses import Address

SECONDS = 120
MOST_SECONDS = 600
"""Seconds of one command: the default, and the limit."""
_LINES = 2000
_PAGE = 50_000
_MOST_FOUND = 500
_FETCHED = 5 << 20
_TEXT = {"type": "string"}
_PATH = {"type": "string", "description": "Relative to the project, or absolute."}
_NUMBER = {"type": "integer", "minimum": 1}


class Definition(NamedTuple):
    """The definition of a tool for a model."""

    description: str
    needed: Mapping[str, Any]
    optional: Mapping[str, Any] = {}

    def tool(self, name: str) -> Tool:
        """Return the tool for the model's provider."""
        schema = {"type": "object", "properties": {**self.needed, **self.optional}, "required": list(self.needed)}
        return Tool(name, self.description, schema)


DEFINITIONS = {
    "Bash": Definition(
        "Run a command with bash in a sandbox, in the copy of the project. Each call starts there anew; only files "
        "last. $TMPDIR is empty at first and gone afterwards.",
        {"command": _TEXT},
        {"timeout": {"type": "integer", "minimum": 1, "description": f"Milliseconds (default {SECONDS * 1000})."}},
    ),
    "Read": Definition(
        "Read a file of the project or of the skill, with line numbers.",
        {"file_path": _PATH},
        {"offset": {**_NUMBER, "description": "The first line."}, "limit": {**_NUMBER, "description": "Lines."}},
    ),
    "Write": Definition("Write a file, new or in place of the old one.", {"file_path": _PATH, "content": _TEXT}),
    "Edit": Definition(
        "Replace a text in a file. It must occur exactly once, or replace_all must be true.",
        {"file_path": _PATH, "old_string": _TEXT, "new_string": _TEXT},
        {"replace_all": {"type": "boolean"}},
    ),
    "Glob": Definition(
        "List files by a pattern: `*` stays within a name, `**` matches any directories.",
        {"pattern": _TEXT},
        {"path": {**_PATH, "description": "The directory to look in (default: the project)."}},
    ),
    "Grep": Definition(
        "Search files for an extended regular expression, as `grep -E` does.",
        {"pattern": _TEXT},
        {"path": _PATH, "glob": {"type": "string", "description": "Only files whose names match, such as *.py."}},
    ),
    "LS": Definition("List a directory.", {"path": _PATH}),
    "WebFetch": Definition("Fetch what is at an https address, as text.", {"url": _TEXT}),
    "Skill": Definition(
        "Run another skill in a separate agent, in the same copy of the project, and get its report.",
        {"skill": _TEXT},
        {"args": {"type": "string", "description": "The task for the skill."}},
    ),
}
"""Every tool that a run has."""
NEEDLESS = frozenset(("TodoWrite", "KillShell", "BashOutput"))
"""Tools of clients that a skill may name and a run does not need."""


class Result(NamedTuple):
    """The result of a call."""

    text: str
    failed: bool = False
    command: str = ""
    code: int | None = None
    problem: str = ""
    child: str = ""


class Toolbox:
    """The tools of one skill in one copy."""

    def __init__(
        self,
        judge: Judge,
        backend: Backend,
        *,
        env: Mapping[str, str],
        stop: threading.Event,
        left: Callable[[], float],
        proxy: Proxy | None = None,
        fork: Callable[[str, str], Result] | None = None,
        servers: Servers | None = None,
        without: frozenset[str] = frozenset(),
    ) -> None:
        """`left` returns the seconds that the run still has, `fork` runs another skill, `servers` are open."""
        self.judge, self.backend = judge, backend
        self._servers = servers
        self._offered = servers.tools if servers else {}
        self._env, self._stop, self._left, self._proxy, self._fork = env, stop, left, proxy, fork
        self.names = tuple(
            name
            for name in DEFINITIONS
            if judge.offers(name) and name not in without and (name != "Skill" or (fork and judge.grants is not None))
        ) + tuple(name for name in self._offered if judge.offers(name) and not is_left_out(name, without))

    def definitions(self) -> list[Tool]:
        """Return the definitions for the model."""
        return [
            self._offered[name].definition if name in self._offered else DEFINITIONS[name].tool(name)
            for name in self.names
        ]

    def decide(self, tool: str, given: Mapping[str, Any]) -> Permission:
        """Return the decision about a call, also for a tool that is not offered or that acts outside the sandbox."""
        if tool not in self.names:
            known = tool in DEFINITIONS or tool in self._offered
            return Permission("deny", f"{tool} is not granted." if known else f"There is no tool {tool[:80]}.")
        decision = self.judge.decide(tool, given)
        server = self._offered.get(tool)
        if server and decision.decision == "allow" and not server.reads_only:
            return Permission("ask", f"The MCP server {server.server} acts outside the sandbox.")
        return decision

    def call(self, tool: str, given: Mapping[str, Any]) -> Result:
        """Make an allowed call."""
        if self._servers and tool in self._offered:
            return Result(*self._servers.call(tool, given, max(0.1, min(SECONDS, self._left()))))
        needed = DEFINITIONS[tool].needed
        if wrong := next((key for key in needed if not isinstance(given.get(key), str)), ""):
            return Result(f"{tool} needs {wrong}, a text.", failed=True)
        made: Callable[[Mapping[str, Any]], Result] = getattr(self, f"_{tool.lower()}")
        try:
            return made(given)
        except BadPathError as error:
            return Result(str(error), failed=True)
        except WhetError as error:
            return Result(f"{error.message} {error.hint}".strip(), failed=True)
        except (OSError, UnicodeDecodeError) as error:
            return Result(f"{tool} failed: {getattr(error, 'strerror', '') or error}.", failed=True)

    # programs

    def run(self, argv: Sequence[str], shown: str, seconds: float, *, proxy: bool = True) -> tuple[Result, Ran]:
        """Run a program in the backend; `shown` is its name in the report."""
        own = {"CLAUDE_SKILL_DIR": self.judge.directory, "WHET_SKILL_DIR": self.judge.directory}
        program = Program(
            argv,
            self.judge.cwd,
            {**self._env, **own, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"},
            (self.judge.directory,),
            max(0.1, min(seconds, self._left())),
            self._proxy if proxy else None,
        )
        ran = self.backend.run(program, self.judge.workspace, self._stop)
        printed = [ran.output, *([ran.errors] if ran.errors and ran.errors != ran.output else [])]
        parts = ["\n".join(filter(None, printed)), *(["[the output was cut]"] if ran.truncated else [])]
        if ran.problem in ("timeout", "stopped", "limit", "not-found"):
            words = {"timeout": f"It did not end within {program.seconds:g} seconds.", "stopped": "It was stopped."}
            parts.append(words.get(ran.problem, "The program was not found." if ran.problem == "not-found" else ""))
        if ran.code:
            parts.append(f"Exit code {ran.code}.")
        text = "\n".join(filter(None, parts)) or "It printed nothing."
        return Result(text, bool(ran.problem or ran.code), shown, ran.code, ran.problem), ran

    def _bash(self, given: Mapping[str, Any]) -> Result:
        wanted = given.get("timeout")
        seconds = wanted / 1000 if isinstance(wanted, int | float) and wanted > 0 else SECONDS
        return self.run(["bash", "-c", "--", given["command"]], given["command"], min(seconds, MOST_SECONDS))[0]

    def _grep(self, given: Mapping[str, Any]) -> Result:
        path = self.judge.path(given.get("path") or self.judge.cwd)
        words = ["grep", "-rnIHE", "--exclude-dir=.git", "-m", "200"]
        if isinstance(pattern := given.get("glob"), str) and pattern:
            words.append(f"--include={pattern.rpartition('/')[2]}")
        _, ran = self.run([*words, "-e", given["pattern"], "--", path], "", SECONDS, proxy=False)
        if ran.code not in (0, 1):
            return Result(ran.errors or ran.output or "The search did not end.", failed=True)
        top = self.judge.cwd.rstrip("/") + "/"
        lines = (
            [line for line in ran.output.splitlines() if not secret_file(line.partition(":")[0])]
            if not ran.code
            else []
        )
        shown = "\n".join(line.removeprefix(top)[:500] for line in lines[:_MOST_FOUND])
        return Result(shown + _more(len(lines)) if lines else "Nothing matches.")

    # files

    def _place(self, given: Mapping[str, Any], key: str = "file_path", *, reads: bool = False) -> str:
        path = self.judge.path(given.get(key) or self.judge.cwd, reads=reads)
        real = self.judge.locate(path)
        if real is None:
            raise BadPathError(f"{path} is outside the copy of the project and the skill's directory")
        if os.path.lexists(real) and os.path.isdir(real) != (key != "file_path"):
            raise BadPathError(f"{path} is {'not ' if key != 'file_path' else ''}a directory")
        if key == "file_path" and os.path.lexists(real) and not os.path.isfile(real):
            raise BadPathError(f"{path} is not a file")  # reading a pipe would wait forever
        return real

    def _read(self, given: Mapping[str, Any]) -> Result:
        with open(self._place(given, reads=True), "rb") as file:
            data = file.read(_FETCHED)
        if b"\0" in data[:8192]:
            return Result(f"A binary file of {len(data):,} bytes.")
        lines = data.decode("utf-8", "replace").splitlines()
        first, most = _number(given.get("offset"), 1), min(_number(given.get("limit"), _LINES), _LINES)
        page = [f"{at:>6}\t{line}" for at, line in enumerate(lines[first - 1 : first - 1 + most], first)]
        text = "\n".join(page)[:_PAGE]
        left = len(lines) - (first - 1 + len(page))
        return Result((text or "The file is empty.") + (f"\n[{left:,} more lines]" if left > 0 else ""))

    def _write(self, given: Mapping[str, Any]) -> Result:
        place = self._place(given)
        make_missing(os.path.dirname(place))
        data = given["content"].encode("utf-8", "replace")
        write_bytes(place, data, durable=False)
        return Result(f"Wrote {len(data):,} bytes.")

    def _edit(self, given: Mapping[str, Any]) -> Result:
        place, old, new = self._place(given), given["old_string"], given["new_string"]
        if os.path.getsize(place) > _FETCHED:
            return Result(f"The file has more than {_FETCHED >> 20} MiB.", failed=True)
        with open(place, encoding="utf-8", newline="") as file:
            text = file.read()
        count = text.count(old) if old else 0
        if not count or (count > 1 and given.get("replace_all") is not True):
            return Result("The text does not occur." if not count else f"The text occurs {count} times.", failed=True)
        write_bytes(place, text.replace(old, new).encode("utf-8"), durable=False)
        return Result(f"Replaced {count} {'occurrence' if count == 1 else 'occurrences'}.")

    def _glob(self, given: Mapping[str, Any]) -> Result:
        top = self._place(given, PATH_KEYS["Glob"])
        pattern = given["pattern"].replace("\\", "/")
        pattern = pattern.removeprefix(self.judge.path(given.get("path") or self.judge.cwd).rstrip("/") + "/")
        rows = pattern.split("/")
        found = sorted(path for path in _files(top) if row_matches(rows, path.split("/"), "**"))
        return Result("\n".join(found[:_MOST_FOUND]) + _more(len(found)) if found else "Nothing matches.")

    def _ls(self, given: Mapping[str, Any]) -> Result:
        with os.scandir(self._place(given, "path")) as entries:
            names = sorted(f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name for entry in entries)
        return Result("\n".join(names[:_MOST_FOUND]) + _more(len(names)) if names else "The directory is empty.")

    # the web, and other skills

    def _webfetch(self, given: Mapping[str, Any]) -> Result:
        from whet.errors import RefusedError
        from whet.sources.web.client import Web

        def check(address: Address) -> None:
            decision = self.judge.decide("WebFetch", {"url": address.url}).decision
            if decision != "allow" and address.url != given["url"]:
                raise RefusedError("host-not-granted", f"It leads to {address.host}, which is not granted.")

        named = host_of_address(given["url"])[0]
        grants = [grant for grant in self.judge.grants or () if grant.rule]
        private = [named] if allowed_address("WebFetch", given, grants)[0] == "allow" else []
        with Web(env=self._env, private_hosts=private, check=check) as web:
            response = web.get(given["url"], limit=_FETCHED)
        return Result(response.body.decode("utf-8", "replace")[:_PAGE], failed=response.status >= 400)

    def _skill(self, given: Mapping[str, Any]) -> Result:
        if self._fork is None:
            return Result("A run that was started by another one cannot start more.", failed=True)
        args = given.get("args")
        return self._fork(given["skill"], args if isinstance(args, str) else "")


def _files(top: str) -> Iterator[str]:
    for directory, names, files in os.walk(top):
        names[:] = [name for name in names if name != ".git"]
        for name in files:
            yield os.path.relpath(os.path.join(directory, name), top).replace(os.sep, "/")


def _more(count: int) -> str:
    return f"\n[{count - _MOST_FOUND:,} more]" if count > _MOST_FOUND else ""


def _number(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else otherwise
