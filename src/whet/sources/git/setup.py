"""The git on this machine, and the surroundings it is run in.

Of the configuration of the user and the system only what belongs to credentials, proxies, certificates and ssh is
carried over, into a file that git then reads in the place of theirs: no hooks, no rewritten addresses, no helpers of
other protocols, no filters. `GIT_ALLOW_PROTOCOL` names the one protocol of the location, or none where git only reads
what was fetched. Objects are not checked by `fsck` on arrival: nothing is ever checked out, every id is computed from
the content anyway, and the paths of a package meet our own, stricter check.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import FailedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

REMOTE = "whet-source"
"""What the location is called in the configuration."""

_OLDEST = (2, 25)
_OWN_GLOBAL = (2, 32)
"""The first git that reads the file named by GIT_CONFIG_GLOBAL."""
_VERSION = re.compile(r"(\d+)\.(\d+)")
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


class Git(NamedTuple):
    """A git that can be run."""

    executable: str
    version: tuple[int, int]


class Setting(NamedTuple):
    """One line of a configuration; a name may repeat."""

    section: str
    subsection: str
    name: str
    value: str


def find_git(env: Mapping[str, str]) -> Git:
    """The first git of the path. Raises FailedError `no-git`, `git-too-old`."""
    names = ("git.exe",) if os.name == "nt" else ("git",)
    for directory in env.get("PATH", "").split(os.pathsep):
        for name in names:
            path = os.path.join(directory, name)
            if os.path.isabs(directory) and os.path.isfile(path) and os.access(path, os.X_OK):
                return _examined(path, os.stat(path).st_mtime_ns)
    hint = "Install git (https://git-scm.com), or fetch an archive of the repository and install that."
    raise FailedError("no-git", "There is no git on the PATH, and this source is a git repository.", hint=hint)


@lru_cache(maxsize=8)
def _examined(path: str, _changed: int) -> Git:
    import subprocess

    try:
        done = subprocess.run([path, "version"], capture_output=True, timeout=20, check=True, env={"LC_ALL": "C"})  # noqa: S603  the git of the user's own path
    except (OSError, subprocess.SubprocessError) as error:
        raise FailedError("no-git", f"{path} does not run: {error}.", hint="Install git again.") from error
    text = done.stdout.decode("utf-8", "replace").strip()
    found = _VERSION.search(text)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    if version < _OLDEST:
        wanted = ".".join(map(str, _OLDEST))
        hint = f"Install git {wanted} or a newer one."
        raise FailedError("git-too-old", f"{path} is {text!r}; Whet needs {wanted}.", hint=hint)
    return Git(path, version)


def environment(env: Mapping[str, str], *, git: Git, directory: str, config: str, protocol: str) -> dict[str, str]:
    """The variables for one run: those of the user without what steers git, and ours.

    Without a `config` of ours, git reads the user's configuration, from wherever the user's variables say it is.
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
    """How git is called so that it reads the configuration at `config`."""
    return [git.executable] if git.version >= _OWN_GLOBAL else [git.executable, "-c", f"include.path={config}"]


def carried(listed: bytes) -> tuple[Setting, ...]:
    """What is kept of the user's configuration, from `git config --list -z`."""
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
    """The whole configuration for one location; `pins` are the addresses that its host has been found to have."""
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
        # The longest match wins: whatever else would rewrite this address, it stays as it is.
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
    """A configuration as git reads it."""
    lines = []
    for section, subsection, name, value in found:
        inner = subsection.replace("\\", "\\\\").replace('"', '\\"')
        head = f'[{section} "{inner}"]' if subsection else f"[{section}]"
        text = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
        lines.append(f'{head}\n\t{name} = "{text}"\n')
    return "".join(lines).encode("utf-8", "surrogateescape")
