"""Containers and an ssh host for tests, made of what this machine has: each is there, or there is a reason why not."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from typing import TYPE_CHECKING

from whet.runtime.backends import Container, Remote

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PROGRAMS = ("sh", "bash", "git", "cat", "env", "grep", "mkdir", "mv", "wc", "sleep", "ls", "rm", "sort")
"""What the image of tests has."""
IMAGE = "localhost/whet-test:latest"


class UnavailableError(Exception):
    """There is no such backend here; the text says why."""


def make_container(engine: str, top: Path) -> Container:
    """A container engine with an image of a few programs of this machine. Raises UnavailableError."""
    if shutil.which(engine) is None:
        raise UnavailableError(f"there is no {engine}")
    if sys.platform != "linux":
        raise UnavailableError("the image is made of programs of Linux")
    own = ["--root", f"{top}/images", "--runroot", f"{top}/run", "--storage-driver", "vfs"]
    tries: list[list[str]] = [[*own, "--runtime", name] for name in ("crun", "runc")] if engine == "podman" else [[]]
    why = ""
    for options in tries:
        try:
            _import(engine, options, top)
            _call([engine, *options, "run", "--rm", "--network", "none", *_limits(), IMAGE, "sh", "-c", "exit 0"])
        except (subprocess.SubprocessError, OSError) as error:
            why = f"{engine} does not work here: {getattr(error, 'stderr', b'') or error!r}"[-300:]
        else:
            return Container(engine, IMAGE, os.environ, options=options)
    raise UnavailableError(why)


def _limits() -> Sequence[str]:
    from whet.runtime.backends import _ulimits

    return tuple(_ulimits())


def _call(words: Sequence[str], data: bytes | None = None) -> bytes:
    return subprocess.run(words, input=data, check=True, capture_output=True, timeout=120).stdout


def _import(engine: str, options: Sequence[str], top: Path) -> None:
    if subprocess.run([engine, *options, "image", "inspect", IMAGE], capture_output=True, check=False).returncode == 0:
        return
    with tempfile.TemporaryFile(dir=top) as file:
        with tarfile.open(fileobj=file, mode="w") as archive:
            for path in sorted(_files()):
                archive.add(os.path.realpath(path), path, recursive=False)
            for name in ("tmp", "proc", "sys", "dev", "etc"):
                made = tarfile.TarInfo(name)
                made.type, made.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(made)
        file.seek(0)
        _call([engine, *options, "import", "-", IMAGE], file.read())


def _files() -> set[str]:
    """The programs and every library that they load."""
    found = set()
    for name in PROGRAMS:
        path = shutil.which(name)
        if path is None:
            raise OSError(f"there is no {name}")
        found.add(f"/bin/{name}" if os.path.realpath(path).startswith("/usr/bin") else path)
        listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
        found |= {word for word in listed.split() if word.startswith("/")}
    return found


class SshHost:
    """An ssh server on the loopback, with keys and a home of its own."""

    def __init__(self, top: Path) -> None:
        server = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
        if not (server and shutil.which("ssh") and shutil.which("ssh-keygen")):
            raise UnavailableError("there is no OpenSSH server and client")
        if shutil.which("bwrap") is None:
            raise UnavailableError("there is no bubblewrap for the host")
        (top / "home").mkdir(parents=True)
        for name in ("host", "key"):
            _call(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(top / name)])
        (top / "authorized").write_text((top / "key.pub").read_text())
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        lines = (
            *(f"ListenAddress 127.0.0.1:{port}", f"HostKey {top}/host", f"AuthorizedKeysFile {top}/authorized"),
            *("StrictModes no", "UsePAM no", "PidFile none", "PasswordAuthentication no", "PermitUserRC no"),
            f"SetEnv HOME={top}/home TMPDIR={top}/home",
        )
        (top / "sshd_config").write_text("\n".join(lines) + "\n")
        if os.getuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        self._process = subprocess.Popen([server, "-D", "-e", "-f", str(top / "sshd_config")], stderr=subprocess.PIPE)
        client: tuple[str, ...] = (
            "ssh",
            "-F",
            "none",
            "-i",
            str(top / "key"),
            "-p",
            str(port),
            "-o",
            "IdentitiesOnly=yes",
        )
        client += ("-o", f"UserKnownHostsFile={top}/known", "-o", "StrictHostKeyChecking=accept-new")
        self.backend = Remote("127.0.0.1", {**os.environ, "HOME": str(top / "home")}, ssh=client)
        self._wait([*client, "127.0.0.1", "bwrap --unshare-all --ro-bind / / true"])

    def _wait(self, words: Sequence[str]) -> None:
        until = time.monotonic() + 30
        while (done := subprocess.run(words, capture_output=True, check=False)).returncode:
            if time.monotonic() > until or self._process.poll() is not None:
                self.close()
                raise UnavailableError(f"sshd does not work here: {done.stderr[-200:]!r}")
            time.sleep(0.1)

    def close(self) -> None:
        """End the server."""
        self._process.kill()
        self._process.communicate()
