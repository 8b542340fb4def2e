"""Backends that run the programs of a run in the copy of a project, and state what they isolate.

There are the sandbox of this machine, containers, and another machine over ssh; `open_backend` finds one by name.
"""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import subprocess
import tarfile
import tempfile
from contextlib import suppress
from typing import IO, TYPE_CHECKING, NamedTuple, Protocol

from whet.errors import FailedError, RefusedError, UsageError
from whet.guard.sandbox.box import ETC, MIB, NO_SANDBOX_HINT, Box, Limits, box_for
from whet.guard.sandbox.levels import Level
from whet.guard.sandbox.process import Command, Keeper, run

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from whet.guard.sandbox.process import Ran
    from whet.runtime.proxy import Proxy
    from whet.runtime.workspace import Workspace

_GROWS = "The copy of the project can grow until the disk is full; only the size of each file is limited."
OUTPUT = 30_000
"""Largest output of a program in characters."""


class Program(NamedTuple):
    """A program and its environment."""

    argv: Sequence[str]
    cwd: str
    """Working directory, as the model sees it."""
    env: Mapping[str, str]
    """The whole environment, except HOME and TMPDIR."""
    shown: tuple[str, ...]
    """Readable directories besides the copy."""
    seconds: float
    proxy: Proxy | None = None
    """Proxy for the network; without one there is no network."""


class Backend(Protocol):
    """Runs programs in isolation."""

    level: Level
    """What it isolates, and what it does not."""
    remaps: bool
    """Whether it shows the copy in place of the project."""
    networks: bool
    """Whether it can restrict a program to certain hosts."""

    def check(self) -> None:
        """Raise RefusedError if it cannot be used."""

    def run(self, program: Program, workspace: Workspace, stop: threading.Event) -> Ran:
        """Run a program in the copy until it ends, its time is up, or `stop` is set; then kill all its processes."""

    def leave(self, workspace: Workspace) -> None:
        """Remove the data of a copy elsewhere; the next program sends it again."""


class LocalSandbox:
    """The sandbox of this machine, at its best level, or at another one that works."""

    def __init__(self, home: str, at: Level | None = None) -> None:
        from whet.guard.sandbox.levels import level

        best = at or level()
        self.level = best._replace(gaps=(*best.gaps, _GROWS))
        self._at = best
        self.remaps = self.networks = self.level.name == "bubblewrap"
        self._home = home
        self._box: tuple[object, Box] = (), Box({})
        """The last box and its inputs: most programs of a run use the same one."""

    def check(self) -> None:
        """Raise RefusedError `no-sandbox` if the machine has none."""
        if not self.level.isolates:
            message = f"{self.level.sentence} Whet does not run a skill without one."
            raise RefusedError("no-sandbox", message, hint=NO_SANDBOX_HINT.partition(" To run them")[0])

    def run(self, program: Program, workspace: Workspace, stop: threading.Event) -> Ran:
        """Run a program in a box with the writable copy and readable directories."""
        from whet.guard.sandbox.levels import run_program

        limits = Limits(program.seconds, cpu=max(60, int(program.seconds)), file=512 * MIB, output=OUTPUT)
        own = () if self.remaps else (workspace.copy, *workspace.borrowed)
        env = {**program.env, **(program.proxy.variables() if program.proxy else {})}
        shown = (*program.shown, *own)
        if self._box[0] != (made_from := (shown, env)):
            self._box = made_from, box_for(shown=shown, cwd="", env=env, home=self._home)
        box = self._box[1]._replace(cwd=program.cwd, limits=limits)
        box = box._replace(serve=program.proxy.serve if program.proxy else None)
        box = box._replace(mounted=workspace.mounts()) if self.remaps else box._replace(writable=(workspace.copy,))
        return run_program(program.argv, box, level=self._at, stop=stop)

    def leave(self, _workspace: Workspace) -> None:
        """Do nothing: there is no data elsewhere."""


class Container:
    """A container of Docker or Podman, created for every program and removed after it."""

    remaps, networks = True, False

    def __init__(self, engine: str, image: str, env: Mapping[str, str], *, options: Sequence[str] = ()) -> None:
        """`options` are those of the engine itself, before `run`."""
        self._engine, self._image, self._env, self._options = engine, image, dict(env), tuple(options)
        sentence = f"Programs run in containers of the image {image}: they see the copy and the skill, and no network."
        gaps = (
            "Containers share the kernel with this machine.",
            f"What is in the image {image} is not checked.",
            "If Whet is killed, a container continues until its program ends.",
            _GROWS,
        )
        self.level = Level("container", sentence, gaps)

    def check(self) -> None:
        """Raise RefusedError `no-backend` if the engine does not answer or lacks the image."""
        if shutil.which(self._engine, path=self._env.get("PATH", os.defpath)) is None:
            raise _unusable(f"There is no {self._engine} on the PATH.", f"Install {self._engine}.")
        done = self._ask("image", "inspect", self._image)
        if done.returncode:
            why = _last_line(done.stderr) or f"{self._engine} does not answer."
            raise _unusable(f"{self._image} cannot be used: {why}", f"Get it with `{self._engine} pull {self._image}`.")

    def _ask(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(  # noqa: S603  the engine that the user names
            [self._engine, *self._options, *words],
            env=self._env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=60,
        )

    def run(self, program: Program, workspace: Workspace, stop: threading.Event) -> Ran:
        """Run a program in a container without a network, with a read-only file system."""
        name = f"whet-{secrets.token_hex(8)}"
        words = [self._engine, *self._options, "run", "--rm", "--name", name, "--network", "none", "--read-only"]
        words += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--tmpfs", _SPACE]
        words += [*_ulimits(), "--user", f"{os.getuid()}:{os.getgid()}", "--workdir", program.cwd, "--entrypoint", ""]
        for mount in workspace.mounts():
            words += ["--volume", f"{mount.source}:{mount.target}:{'rw' if mount.writable else 'ro'}"]
        for directory in program.shown:
            words += ["--volume", f"{os.path.realpath(directory)}:{directory}:ro"]
        given = {**program.env, "HOME": "/tmp", "TMPDIR": "/tmp"}  # noqa: S108  in the container
        given.pop("PATH", None)  # the image has its own
        for key, value in given.items():
            words += ["--env", f"{key}={value}"]
        keeper = _ContainerKeeper(lambda: self._ask("rm", "--force", name))
        command = Command([*words, self._image, *program.argv], self._env, workspace.top)
        ran = run(command, keeper, seconds=program.seconds, limit=OUTPUT, stop=stop)
        if ran.code == _ENGINE_FAILED:  # the engine's own code, not the program's
            ran = ran._replace(code=None)
        return ran._replace(level=self.level.name)

    def leave(self, _workspace: Workspace) -> None:
        """Do nothing: there is no data elsewhere."""


_ENGINE_FAILED = 125
_SPACE = "/tmp:rw,exec,size=256m"  # noqa: S108  in the container


class _ContainerKeeper(Keeper):
    """Ends the process in an engine or on another machine, and not only the client that waits for it."""

    def __init__(self, end: Callable[[], object]) -> None:
        self._end = end

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """Remove the container if it still runs."""
        if process.poll() is None:
            with suppress(OSError, subprocess.SubprocessError):
                self._end()
        super().end(process)


def _ulimits() -> Iterator[str]:
    """Yield limits for an engine: it must not ask for more than this process has."""
    import resource

    for name, kind, most in (("nofile", resource.RLIMIT_NOFILE, 4096), ("nproc", resource.RLIMIT_NPROC, 16_384)):
        hard = resource.getrlimit(kind)[1]
        number = most if hard == resource.RLIM_INFINITY else min(most, hard)
        yield from ("--ulimit", f"{name}={number}:{number}")


class Remote:
    """Another machine, over ssh: the copy is sent before a program and fetched after it.

    The program runs there in bubblewrap, which must be installed, so that it sees no more of that machine than a local
    program sees of this one.
    """

    remaps, networks = True, False

    def __init__(self, host: str, env: Mapping[str, str], *, ssh: Sequence[str] = ("ssh",)) -> None:
        self._host, self._env = host, dict(env)
        self._ssh = (*ssh, "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", host)
        self._places: dict[str, _Sent] = {}
        sentence = f"Programs run on {host}, in bubblewrap: they see the copy and the skill, and no network."
        gaps = (f"The copy of the project and the skill are sent to {host}.", f"{host} itself is trusted.", _GROWS)
        self.level = Level("ssh", sentence, gaps)

    def check(self) -> None:
        """Raise RefusedError `no-backend` if the host cannot be reached or has no bubblewrap."""
        try:
            done = self._ask("bwrap --unshare-all --ro-bind / / true")
        except (OSError, subprocess.SubprocessError) as error:
            raise _unusable(f"{self._host} cannot be used: {error}.", f"Try `ssh {self._host} true`.") from error
        if done.returncode:
            why = _last_line(done.stderr) or "it has no bubblewrap."
            raise _unusable(
                f"{self._host} cannot be used: {why}", f"Try `ssh {self._host} bwrap --unshare-all --ro-bind / / true`."
            )

    def _ask(self, script: str, given: IO[bytes] | None = None) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(  # noqa: S603  the host that the user names
            [*self._ssh, script],
            env=self._env,
            stdin=given or subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=600,
        )

    def run(self, program: Program, workspace: Workspace, stop: threading.Event) -> Ran:
        """Send the changes, run the program there, and fetch the results."""
        sent = self._send(program, workspace)
        inner = shlex.join(["bwrap", *_remote_box(program, workspace, sent.place)])
        # The shell writes its process id, by which it can be killed, and its program ends after the time limit.
        ends = f"timeout -s KILL {program.seconds + 5:.0f}"
        script = f"echo $$ > {sent.place}/pid; exec {ends} {inner}"
        keeper = _ContainerKeeper(lambda: self._ask(f"kill -KILL $(cat {sent.place}/pid)"))
        command = Command([*self._ssh, script], self._env, workspace.top)
        ran = run(command, keeper, seconds=program.seconds, limit=OUTPUT, stop=stop)
        self._fetch(workspace, sent)
        return ran._replace(level=self.level.name)

    def _send(self, program: Program, workspace: Workspace) -> _Sent:
        """Send the copy if it differs there."""
        sent = self._places.get(workspace.top)
        if sent is None:
            place = self._done("umask 077; mktemp -d").decode().strip()
            sent = self._places[workspace.top] = _Sent(place)
            for at, directory in enumerate(program.shown):
                self._upload(os.path.realpath(directory), f"{place}/shown{at}")
            for at, directory in enumerate(workspace.borrowed):
                self._upload(directory, f"{place}/borrowed{at}")
        now = _signature(workspace.copy)
        if now != sent.signature:
            self._upload(workspace.copy, f"{sent.place}/project")
            sent.signature = now
        return sent

    def _upload(self, directory: str, place: str) -> None:
        with tempfile.TemporaryFile() as file:
            with tarfile.open(fileobj=file, mode="w") as archive:
                archive.add(directory, ".")
            file.seek(0)
            self._done(f"rm -rf {place} && mkdir -m 700 {place} && tar -xpf - -C {place}", file)

    def _done(self, script: str, given: IO[bytes] | None = None) -> bytes:
        try:
            done = self._ask(script, given)
        except (OSError, subprocess.SubprocessError) as error:
            raise _broken(self._host, str(error)) from error
        if done.returncode:
            raise _broken(self._host, _last_line(done.stderr))
        return done.stdout

    def _fetch(self, workspace: Workspace, sent: _Sent) -> None:
        """Fetch the copy. Members that lead out of it are skipped."""
        fresh = f"{workspace.copy}.fetched"
        shutil.rmtree(fresh, ignore_errors=True)
        os.mkdir(fresh, 0o700)
        with tempfile.TemporaryFile() as file:
            done = subprocess.run(  # noqa: S603  the host that the user names
                [*self._ssh, f"tar -C {sent.place}/project -cf - . | head -c {_MOST_FETCHED}"],
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.PIPE,
                check=False,
                timeout=600,
            )
            file.seek(0)
            try:
                with tarfile.open(fileobj=file) as archive:
                    archive.extractall(fresh, filter=_inner)  # noqa: S202  the filter skips members that lead out
            except (tarfile.TarError, OSError) as error:
                raise _broken(self._host, _last_line(done.stderr) or str(error)) from error
        old = f"{workspace.copy}.before"
        shutil.rmtree(old, ignore_errors=True)
        os.rename(workspace.copy, old)
        os.rename(fresh, workspace.copy)
        shutil.rmtree(old, ignore_errors=True)
        sent.signature = _signature(workspace.copy)

    def leave(self, workspace: Workspace) -> None:
        """Delete the copy on the other machine."""
        if sent := self._places.pop(workspace.top, None):
            with suppress(OSError, subprocess.SubprocessError):
                self._ask(f"rm -rf {sent.place}")


class _Sent:
    """A copy on another machine."""

    def __init__(self, place: str) -> None:
        if not place.startswith("/") or shlex.quote(place) != place:
            raise _broken("the host", f"mktemp gave {place!r}")
        self.place = place
        self.signature: object = None
        """Signature of the local copy when the two were last equal."""


_MOST_FETCHED = 4 << 30


def _remote_box(program: Program, workspace: Workspace, place: str) -> Iterator[str]:
    """Yield the arguments of bubblewrap on another machine: as in the local box, everything not named is hidden."""
    yield from ("--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--dev", "/dev", "--proc", "/proc")
    for path in ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", *ETC):
        yield from ("--ro-bind-try", path, path)
    yield from ("--tmpfs", "/tmp", "--tmpfs", "/dev/shm")  # noqa: S108  in the box
    for at, directory in enumerate(program.shown):
        yield from ("--ro-bind", f"{place}/shown{at}", directory)
    copy, *borrowed = workspace.mounts()
    yield from ("--bind", f"{place}/project", copy.target)
    for at, mount in enumerate(borrowed):
        yield from ("--ro-bind", f"{place}/borrowed{at}", mount.target)
    given = {**program.env, "HOME": "/tmp", "TMPDIR": "/tmp", "PATH": "/usr/local/bin:/usr/bin:/bin"}  # noqa: S108
    for key, value in given.items():
        yield from ("--setenv", key, value)
    yield from ("--chdir", program.cwd, "--", *program.argv)


def _inner(member: tarfile.TarInfo, place: str) -> tarfile.TarInfo | None:
    """Return the member if it is safe to extract: no path that leads out, no devices."""
    try:
        return tarfile.data_filter(member, place)
    except tarfile.FilterError:
        return None


def _signature(top: str) -> tuple[tuple[str, int, int, int], ...]:
    found = []
    for directory, _, files in os.walk(top):
        for name in files:
            status = os.lstat(os.path.join(directory, name))
            found.append((os.path.join(directory, name), status.st_mtime_ns, status.st_size, status.st_mode))
    return tuple(sorted(found))


def open_backend(spec: str, home: str, env: Mapping[str, str]) -> Backend:
    """Return the backend of that name: empty for the sandbox, `docker:IMAGE`, `podman:IMAGE` or `ssh:HOST`.

    Raises UsageError `bad-backend`.
    """
    kind, colon, rest = spec.partition(":")
    if not spec or spec == "sandbox":
        return LocalSandbox(home)
    if colon and rest and not rest.startswith("-"):
        if kind in ("docker", "podman"):
            return Container(kind, rest, env)
        if kind == "ssh":
            return Remote(rest, env)
    hint = "Use sandbox, docker:IMAGE, podman:IMAGE or ssh:HOST."
    raise UsageError("bad-backend", f"Programs cannot run on {spec!r}.", hint=hint)


def _unusable(message: str, hint: str) -> RefusedError:
    return RefusedError("no-backend", f"{message} Whet does not run it elsewhere instead.", hint=hint)


def _broken(host: str, why: str) -> FailedError:
    return FailedError("backend-failed", f"{host} failed: {why}.", hint="Look at the host, then resume the run.")


def _last_line(data: bytes) -> str:
    lines = data.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:300] if lines else ""
