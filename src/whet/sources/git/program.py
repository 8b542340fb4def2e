"""Run the git of this machine in a controlled environment, so that it always ends.

From the configuration of the user and the system, only credentials, proxies, certificates and ssh settings are copied
into a file that git reads instead: no hooks, no rewritten addresses, no helpers of other protocols, no filters.
`GIT_ALLOW_PROTOCOL` names the one protocol of the location, or none if git only reads fetched data. Objects are not
checked by `fsck` on arrival: nothing is ever checked out, every id is computed from the content anyway, and the paths
of a package go through our own, stricter check.

Each run is its own process group without a terminal. Meanwhile one loop checks for cancellation and Ctrl-C, for the
time limit, for a stall, and for the size of the working directory. On any problem the whole group is killed before the
error is raised. A function of the caller reads the output in a thread as it arrives and raises if there is too much.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from functools import lru_cache
from typing import IO, TYPE_CHECKING, Generic, TypeVar

from whet.errors import FailedError, InvalidError
from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.store.failures import os_failure
from whet.store.signals import HeldSignals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

REMOTE = "whet-source"
"""Name of the location in the configuration."""
_OLDEST = (2, 25)
_OWN_GLOBAL = (2, 32)
"""First version that reads GIT_CONFIG_GLOBAL."""
_VERSION = compile_late(r"(\d+)\.(\d+)")
_LARGEST = "512m"
_KEPT_VARIABLES = frozenset(
    (
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_SSH_VARIANT",
        "GIT_SSL_CAINFO",
        "GIT_SSL_CAPATH",
        "GIT_SSL_CERT",
        "GIT_SSL_KEY",
        "GIT_PROXY_COMMAND",
        "GIT_PROXY_SSL_CAINFO",
        "GIT_PROXY_SSL_CERT",
        "GIT_PROXY_SSL_KEY",
        "GIT_HTTP_PROXY_AUTHMETHOD",
        "GIT_EXEC_PATH",
    )
)
_HTTP_KEPT = frozenset(
    (
        "proxy",
        "proxyauthmethod",
        "proxysslcainfo",
        "proxysslcert",
        "proxysslkey",
        "sslcainfo",
        "sslcapath",
        "sslcert",
        "sslcerttype",
        "sslkey",
        "sslkeytype",
        "sslbackend",
        "schannelcheckrevoke",
        "schannelusesslcainfo",
        "extraheader",
        "cookiefile",
        "emptyauth",
        "delegation",
        "proactiveauth",
    )
)
_OTHERS_KEPT = frozenset(("core.sshcommand", "ssh.variant", "safe.directory"))
T = TypeVar("T")
_MIB = 1024 * 1024
_PULSE = 0.05
"""Seconds between two checks of a running git."""
_GRACE = 5.0
"""Seconds to read the remaining output after git ended."""
_LAST_WORDS = 0.5
"""Seconds to wait for stderr to close; an ssh left running in the background may hold it open for ever."""
_TALK = 16 * 1024
"""Bytes kept of the end of git's stderr."""
_CHUNK = 64 * 1024
_PROGRESS = compile_late(rb"(?:Receiving|Unpacking) objects: +\d+% \((\d+)/(\d+)\)")


class Git(NamedTuple):
    """A git executable and its version."""

    executable: str
    version: tuple[int, int]


class Setting(NamedTuple):
    """A line of a configuration; names may repeat."""

    section: str
    subsection: str
    name: str
    value: str


def find_git(env: Mapping[str, str]) -> Git:
    """Return the first git on the PATH. Raise FailedError `no-git` or `git-too-old`."""
    names = ("git.exe",) if os.name == "nt" else ("git",)
    for directory in env.get("PATH", "").split(os.pathsep):
        for name in names:
            path = os.path.join(directory, name)
            if os.path.isabs(directory) and os.path.isfile(path) and os.access(path, os.X_OK):
                return _examined(path, os.stat(path).st_mtime_ns)
    hint = "Install git (https://git-scm.com), or download an archive of the repository and install that."
    raise FailedError("no-git", "This source is a git repository, and git is not on the PATH.", hint=hint)


@lru_cache(maxsize=8)
def _examined(path: str, _changed: int) -> Git:
    import subprocess

    try:
        with HeldSignals():
            done = subprocess.run([path, "version"], capture_output=True, timeout=20, check=True, env={"LC_ALL": "C"})  # noqa: S603  the git of the user's own path
    except (OSError, subprocess.SubprocessError) as error:
        raise FailedError("no-git", f"{path} does not run: {error}.", hint="Install git again.") from error
    text = done.stdout.decode("utf-8", "replace").strip()
    found = _VERSION.search(text)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    if version < _OLDEST:
        wanted = ".".join(map(str, _OLDEST))
        hint = f"Install git {wanted} or later."
        raise FailedError("git-too-old", f"{path} is {text!r}; Whet needs {wanted}.", hint=hint)
    return Git(path, version)


def environment(env: Mapping[str, str], *, git: Git, directory: str, config: str, protocol: str) -> dict[str, str]:
    """Return the environment of one run: the user's variables without those that control git, and ours.

    Without `config`, git reads the user's configuration, wherever the user's variables say it is.
    """
    kept = {
        name: value
        for name, value in env.items()
        if name in _KEPT_VARIABLES
        or not name.upper().startswith(("GIT_", "LC_", "LANGUAGE"))
        or (not config and name.startswith("GIT_CONFIG_"))
    }
    ours = {
        "GIT_ALLOC_LIMIT": _LARGEST,
        "GIT_ALLOW_PROTOCOL": protocol,
        "GIT_ASKPASS": "",
        "GIT_CEILING_DIRECTORIES": os.path.dirname(directory),
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GCM_INTERACTIVE": "never",
        "SSH_ASKPASS": "",
        "SSH_ASKPASS_REQUIRE": "never",
        "LC_ALL": "C",
    }
    if config:
        ours["GIT_CONFIG_NOSYSTEM"] = "1"
        if git.version >= _OWN_GLOBAL:
            ours["GIT_CONFIG_GLOBAL"] = config
    return {**kept, **ours}


def command(git: Git, config: str) -> list[str]:
    """Return the command that starts git with the configuration at `config`."""
    return [git.executable] if git.version >= _OWN_GLOBAL else [git.executable, "-c", f"include.path={config}"]


def carried(listed: bytes) -> tuple[Setting, ...]:
    """Return the settings to copy from the user's configuration, read from `git config --list -z`."""
    found = []
    for item in listed.decode("utf-8", "surrogateescape").split("\0"):
        name, equals, value = item.partition("\n")
        section, _, rest = name.partition(".")
        subsection, _, last = rest.rpartition(".")
        keep = section == "credential" or (section == "http" and last in _HTTP_KEPT) or name in _OTHERS_KEPT
        if keep and last:
            found.append(Setting(section, subsection, last, value if equals else "true"))
    return tuple(found)


def settings(
    location: str, *, kept: Iterable[Setting], env: Mapping[str, str], pins: Iterable[str], stall: float
) -> tuple[Setting, ...]:
    """Return the whole configuration for one location; `pins` are the resolved addresses of its host."""
    kept = tuple(kept)
    seconds = str(max(1, round(stall)))
    found = [
        *kept,
        Setting("core", "", "hooksPath", os.devnull),
        Setting("core", "", "fsmonitor", "false"),
        Setting("core", "", "symlinks", "false"),
        Setting("core", "", "askPass", ""),
        Setting("core", "", "bigFileThreshold", "16m"),
        Setting("credential", "", "interactive", "false"),
        Setting("fetch", "", "fsckObjects", "false"),
        Setting("fetch", "", "prune", "false"),
        Setting("fetch", "", "recurseSubmodules", "false"),
        Setting("fetch", "", "unpackLimit", "1"),
        Setting("fetch", "", "writeCommitGraph", "false"),
        Setting("gc", "", "auto", "0"),
        Setting("maintenance", "", "auto", "false"),
        Setting("protocol", "", "allow", "never"),
        Setting("protocol", "", "version", "2"),
        Setting("safe", "", "bareRepository", "all"),
        Setting("submodule", "", "recurse", "false"),
        Setting("transfer", "", "fsckObjects", "false"),
        Setting("transfer", "", "unpackLimit", "1"),
        Setting("remote", REMOTE, "url", location),
        # The longest match wins: no other rule can rewrite this address.
        Setting("url", location, "insteadOf", location),
    ]
    if location.startswith(("https://", "http://")):
        origin = "/".join(location.split("/", 3)[:3]) + "/"
        found += [
            Setting("http", subsection, name, value)
            for subsection in ("", origin)
            for name, value in (("followRedirects", "false"), ("lowSpeedLimit", "1"), ("lowSpeedTime", seconds))
        ]
        found += [Setting("http", "", "curloptResolve", pin) for pin in pins]
    named = any((item.section, item.name) == ("core", "sshcommand") for item in kept)
    if not named and not env.get("GIT_SSH_COMMAND") and not env.get("GIT_SSH"):
        found.append(Setting("core", "", "sshCommand", f"ssh -o BatchMode=yes -o ConnectTimeout={seconds}"))
    return tuple(found)


def config_text(found: Iterable[Setting]) -> bytes:
    """Return a configuration in git's format."""
    lines = []
    for section, subsection, name, value in found:
        inner = subsection.replace("\\", "\\\\").replace('"', '\\"')
        head = f'[{section} "{inner}"]' if subsection else f"[{section}]"
        text = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
        lines.append(f'{head}\n\t{name} = "{text}"\n')
    return "".join(lines).encode("utf-8", "surrogateescape")


class Watch(NamedTuple):
    """The limits of a run and its progress callback."""

    cancelled: threading.Event
    directory: str
    """Working directory of git, limited to `size` bytes."""
    size: int
    total: float
    """Seconds for the whole run."""
    stall: float = 0.0
    """Seconds without output; 0 if silence is normal."""
    progress: Callable[[int, int], None] | None = None


class Ran(NamedTuple, Generic[T]):
    """The result of a git that ended without being killed."""

    code: int
    output: T | None
    """Result of the reader; None if git failed."""
    talk: str
    """The end of its stderr."""


def up_to(limit: int) -> Callable[[IO[bytes]], bytes]:
    """Return a reader of at most `limit` bytes."""

    def read(stream: IO[bytes]) -> bytes:
        data = stream.read(limit + 1)
        if len(data) > limit:
            raise too_large(f"Its file list has more than {limit // _MIB} MiB.")
        return data

    return read


def too_large(what: str) -> InvalidError:
    """Return the error for a repository that exceeds a limit."""
    return InvalidError("source-too-large", what, hint="Choose the directory of one skill, or a smaller repository.")


def run_git(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    watch: Watch,
    read: Callable[[IO[bytes]], T],
    feed: bytes = b"",
) -> Ran[T]:
    """Run git with `feed` on its stdin until it ends. Raises what `read` raises, and the errors of `watch`."""
    with HeldSignals() as signals:
        return _run(command, env, watch, read, feed, signals)


def _run(
    command: Sequence[str],
    env: Mapping[str, str],
    watch: Watch,
    read: Callable[[IO[bytes]], T],
    feed: bytes,
    signals: HeldSignals,
) -> Ran[T]:
    try:
        process = subprocess.Popen(  # noqa: S603  a list of arguments, no shell; what strangers wrote is checked before
            command,
            env=dict(env),
            cwd=watch.directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=sys.platform != "win32",
        )
    except OSError as error:
        raise os_failure(error, command[0], doing="run", other="git-failed") from error
    crew = _Crew(process, read, feed)
    try:
        _look_after(process, crew, watch, signals)
        crew.finish()
    except BaseException:
        _kill(process)
        crew.finish()
        raise
    if crew.error is not None:
        raise crew.error
    if process.returncode:
        return Ran(process.returncode, None, crew.talk())
    if not crew.complete:
        raise FailedError("git-failed", "git stopped before its answer was complete.", hint="Try again.")
    return Ran(0, crew.output, crew.talk())


class _Crew(Generic[T]):
    """Threads that write to git's stdin and read its stdout and stderr."""

    def __init__(self, process: subprocess.Popen[bytes], read: Callable[[IO[bytes]], T], feed: bytes) -> None:
        self.output: T | None = None
        self.error: BaseException | None = None
        self.complete = False
        self.heard = 0
        self.progress = (0, 0)
        self._talk = b""
        self._threads: list[threading.Thread] = []
        self._start(self._feed, process.stdin, feed)
        self._start(self._read, process.stdout, read)
        self._start(self._listen, process.stderr)

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        self._threads.append(threading.Thread(target=work, args=arguments, daemon=True))
        self._threads[-1].start()

    def talk(self) -> str:
        """Return the last lines of stderr, without overwritten progress lines."""
        lines = (line.rpartition(b"\r")[2] for line in self._talk.replace(b"\r\n", b"\n").split(b"\n"))
        return b"\n".join(lines).decode("utf-8", "replace").strip()

    def finish(self) -> None:
        """Wait until the pipes are closed; a pipe that another process holds open is left to its thread."""
        *workers, listener = self._threads
        for thread in workers:
            thread.join(_GRACE)
        listener.join(_LAST_WORDS)

    def _feed(self, stream: IO[bytes], data: bytes) -> None:
        try:
            with stream:
                stream.write(data)
        except OSError:  # git ended without reading everything; its exit code tells why
            return

    def _read(self, stream: IO[bytes], read: Callable[[IO[bytes]], T]) -> None:
        with stream:
            try:
                self.output = read(stream)
                self.complete = True
                while stream.read(_CHUNK):
                    pass
            except EOFError:  # git ended early; its exit code tells why
                return
            except BaseException as error:  # noqa: BLE001  raised again in the thread that waits
                self.error = error

    def _listen(self, stream: IO[bytes]) -> None:
        with stream:
            while piece := os.read(stream.fileno(), _CHUNK):
                self.heard += len(piece)
                self._talk = (self._talk + piece)[-_TALK:]
                for found in _PROGRESS.finditer(piece):
                    self.progress = (int(found[1]), int(found[2]))


def _look_after(process: subprocess.Popen[bytes], crew: _Crew[T], watch: Watch, signals: HeldSignals) -> None:
    """Wait until git ends; raise if a limit is exceeded or the run is cancelled."""
    started = moved = time.monotonic()
    life, reported = (0, 0), (0, 0)
    while True:
        signals.deliver()
        ended = _ended(process)
        now, weight = time.monotonic(), _weight(watch.directory)
        if weight > watch.size:
            raise too_large(f"The repository has more than {watch.size // _MIB} MiB.")
        if ended:
            return
        if watch.cancelled.is_set():
            raise FailedError("cancelled", "Cancelled.", hint="Nothing was changed.")
        if crew.error is not None:
            raise crew.error
        if (crew.heard, weight) != life:
            life, moved = (crew.heard, weight), now
        if watch.progress and crew.progress != reported:
            reported = crew.progress
            watch.progress(*reported)
        if watch.stall and now - moved > watch.stall:
            raise _too_slow(f"The server sent nothing for {watch.stall:g} s.")
        if now - started > watch.total:
            raise _too_slow(f"It did not finish within {watch.total:g} s.")


def _ended(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(_PULSE)
    except subprocess.TimeoutExpired:
        return False
    return True


def _too_slow(what: str) -> FailedError:
    return FailedError("too-slow", what, hint="Try again later, or raise network_timeout in config.toml.")


def _weight(directory: str) -> int:
    """Return the size of a directory that may change meanwhile."""
    total = 0
    try:
        with os.scandir(directory) as found:
            for entry in found:
                if entry.is_dir(follow_symlinks=False):
                    total += _weight(entry.path)
                else:
                    total += entry.stat(follow_symlinks=False).st_size
    except FileNotFoundError:
        return total
    return total


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill git and everything it started. The group exists as long as one of its processes does."""
    if sys.platform == "win32":
        process.kill()
    else:
        import signal

        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            process.kill()
    process.wait()
