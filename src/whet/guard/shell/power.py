"""More authority than a task needs, protections switched off, and things destroyed or used up."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.options import read_arguments
from whet.guard.shell.clients import host_in
from whet.guard.shell.wrappers import name_of, program, texts_of
from whet.guard.taint.harm import is_home, is_wiped, names_miner, shorten_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from whet.guard.shell.flow import Scene, Step
    from whet.guard.shell.words import Word

_DISK = expression(
    r"^/dev/r?(?:sd[a-z]\d?|hd[a-z]\d?|vd[a-z]\d?|xvd[a-z]\d?|nvme\d+n\d+(?:p\d+)?|disk\d+(?:s\d+)?|mmcblk\d+)$"
)
_TEMPORARY = expression(r"/(?:var/)?tmp/|/dev/shm/")
_SCRATCH = expression(
    r"(?:^|/)\.?(?:dist|build|out|output|target|tmp|temp|cache|node_modules|coverage|work|scratch|_site|public|bin|obj)\b"
    r"|^/(?:var/)?tmp\b|^[`$]"
)
"""Folders whose content is made again, and those that are only known when the script runs."""
_LOGS = expression(
    r"^(?:(?:~|\$HOME|/root)/?\.(?:bash|zsh)_history|/?var/log/(?:\*|auth\.log|syslog|secure|wtmp|btmp|lastlog).{0,20})$"
)
_OPEN_MODE = expression(r"0?[0-7]?77[67]|0?000|a\+rwx|ugo\+rwx")
_SETUID = expression(r"(?!2)(?:[ugoa]{0,4}\+[rwx]{0,3}s|[246][0-7]{3}|0[46][0-7]{3})")
_NARROWS = frozenset(("-name", "-iname", "-mtime", "-path", "-regex", "-size", "-newer", "-mmin"))


def judge_harm(scene: Scene, step: Step) -> None:
    """What any command destroys or uses up."""
    if step.name == "find" or find_of(step.command.argv):
        _find(scene, step)
    if step.argv and step.name not in _OTHERS and names_miner(" ".join([step.name, *step.texts])):
        scene.hit("miner", None if step.name not in _FETCHERS else "warn")
    for target, _ in step.targets():
        if _DISK.match(target):
            scene.hit("wipe-disk", "critical" if step.name != "dd" else None)
    for name, word in step.assignments:
        if (name == "HISTFILE" and word.text in ("/dev/null", "")) or (
            name in ("HISTSIZE", "HISTFILESIZE") and word.text == "0"
        ):
            scene.hit("hide-traces")


_OTHERS = frozenset(
    (
        *("echo", "printf", "grep", "rg", "pgrep", "pkill", "killall", "which", "test", "[", "[["),
        *("rm", "mv", "git", "chmod", "docker", "podman", "nerdctl", "openssl", "gpg"),
    )
)
"""Programs that may name a miner and do not dig."""
_FETCHERS = frozenset(("curl", "wget", "tar", "unzip", "cd", "mkdir"))


def bombs(scene: Scene) -> None:
    """A function that pipes into itself in the background."""
    for name in scene.script.functions:
        calls = [
            step
            for step in scene.steps
            if step.argv and step.argv[0].text == name and "function" in step.command.inside
        ]
        if len(calls) > 1 and any(step.before and "background" in step.command.inside for step in calls):
            scene.at(calls[0])
            scene.hit("fork-bomb")


def _wiped(step: Step, path: str) -> str:
    """The rule's severity for a path that is removed whole: nothing, `warn` for all that is here, `critical` for more."""
    bare = shorten_path(_HOME.sub("~", path))
    if is_wiped(bare) or _SYSTEM.match(bare):
        return "critical"
    folder = _HOME.sub("~", step.folder)
    if is_wiped(bare, relative=True) and _ABOVE.search(folder):
        return "critical"
    if not is_wiped(bare, relative=True) or _SCRATCH.search(folder):
        return ""
    if bare.startswith("..") or (folder and (is_wiped(folder) or folder.rstrip("/") == "..")):
        return "critical"
    return "" if folder else "warn"


_ABOVE = expression(r"dirname [\"']?\$\{?0.{0,12}/\.\./\.\.")
"""Far above the script itself, where nothing is its own."""
_HOME = expression(r"\$\{?HOME\}?|~(?=/|$)")
_SYSTEM = expression(
    r"^(?:~/\.\[?[!^.*\]?]{0,5}\*|/(?:sbin|lib64|home|Users|Library|Applications|var/lib|var/backups|dev|private)/?\*?)$"
)


def _rm(scene: Scene, step: Step) -> None:
    recursive = step.has("-r", "-R", "--recursive")
    if recursive and step.has("--no-preserve-root"):
        scene.hit("wipe-home")
        return
    for text, known in scene.operands(step):
        if recursive and name_of(step.command.argv) != "chroot" and (severity := _wiped(step, text)):
            scene.hit("wipe-home", severity, text)  # type: ignore[arg-type]  # what _wiped gives
            return
        if recursive and not known and re.fullmatch(r"\$\{?\w{1,60}\}?/\*?", text):
            scene.hit("wipe-variable", None, text)
            return
        if _LOGS.match(text):
            scene.hit("hide-traces", "critical" if text.endswith("log/*") else None, text)
            return
    for one in step.feeders if name_of(step.command.argv) in ("xargs", "parallel") else ():
        if one.name == "find":
            _find(scene, one, removes=True)


def _dd(scene: Scene, step: Step) -> None:
    target = next((word[3:] for word in step.operands if word.startswith("of=")), "")
    source = next((word[3:] for word in step.operands if word.startswith("if=")), "")
    if _DISK.match(target):
        blank = source in ("/dev/zero", "/dev/urandom", "/dev/random")
        scene.hit("wipe-disk", "critical" if blank else "warn", target)


def _shred(scene: Scene, step: Step) -> None:
    if any(_wiped(step, word) == "critical" or _DISK.match(word) for word, _ in scene.operands(step)):
        scene.hit("wipe-home")


def _format(scene: Scene, step: Step) -> None:
    if any(_DISK.match(word) for word, _ in scene.operands(step)):
        scene.hit("wipe-disk", "warn")


def find_of(argv: Sequence[Word]) -> tuple[Word, ...]:
    """A `find` that runs another program, with its arguments."""
    at = next((at for at, word in enumerate(argv[:12]) if program(word.text) == "find"), len(argv))
    return tuple(argv[at:])


def _find(scene: Scene, step: Step, *, removes: bool = False) -> None:
    """What `find` removes, or gives to a program that does."""
    words = texts_of(find_of(step.command.argv))[1:]
    arguments = read_arguments("find", words)
    removes = removes or step.name in ("rm", "shred") or any(one.option == "-delete" for one in arguments)
    narrowed = any(
        ((one.option in _NARROWS and not re.fullmatch(r"[*.?/~+]{0,6}", one.text)) or one.option == "-empty")
        and (number == 0 or (arguments[number - 1].option or arguments[number - 1].text) not in ("-not", "!"))
        for number, one in enumerate(arguments)
    )
    roots = [one.text for one in itertools.takewhile(lambda one: len(one.option) < 3, arguments) if not one.option]
    if removes and not narrowed and (wiped := [root for root in roots if _wiped(step, root)]):
        scene.hit("wipe-home", "critical", wiped[0])


def _git(scene: Scene, step: Step) -> None:
    """`git clean` of a directory that holds more than a project."""
    if step.operands[:1] != ["clean"] or not step.has("-f", "--force"):
        return
    paths = step.operands[1:] or [step.value("-C") or "."]
    if wiped := next((path for path in paths if _wiped(step, path) == "critical"), ""):
        scene.hit("wipe-home", "critical", wiped)


def _mv(scene: Scene, step: Step) -> None:
    if any(target == "/dev/null" for target, _ in step.targets()) and any(
        _wiped(step, word) for word, _ in scene.operands(step)
    ):
        scene.hit("wipe-home")


def _chmod(scene: Scene, step: Step) -> None:
    plain = [text for text, _ in scene.operands(step)]
    mode, targets = (plain[0], plain[1:]) if plain else ("", [])
    if _SETUID.fullmatch(mode):
        shell = any(re.search(r"(?:^|/)(?:bash|sh|zsh|dash|python3?|find|cp|vim)$", word) for word in targets)
        scene.hit("setuid", "critical" if shell or any(map(_TEMPORARY.match, targets)) else "warn")
    elif _OPEN_MODE.fullmatch(mode) and any(_wiped(step, word) == "critical" for word in targets):
        scene.hit("open-everything", "critical" if step.has("-R", "--recursive") else "warn")


def _docker(scene: Scene, step: Step) -> None:
    mounts = [word for word in step.placed("url") if re.match(r"/:|type=bind,(?:source|src)=/,", word)]
    if mounts and step.has("chroot", "nsenter"):
        message = "the container uses the whole disk of the machine as its root directory"
        scene.hit("container-power", "critical", "", message)
    elif mounts or any("docker.sock" in word for word in step.texts) or step.has("--privileged"):
        scene.hit("container-power", "warn" if mounts else "info")


def _password(scene: Scene, step: Step) -> None:
    """A fixed password for an account that the same script lets administer the machine."""
    fixed = re.search(r"^\w[\w-]{0,40}:[^$\s]{3,80}$", scene.content(step), re.MULTILINE)
    if fixed and any(hit.rule == "new-account" for hit in scene.hits.values()):
        scene.hit("new-account", "critical")
    elif fixed:
        later = " ".join(" ".join(one.texts) for one in scene.steps if one.name in ("usermod", "useradd", "gpasswd"))
        if re.search(r"\b(?:sudo|wheel|admin)\b", later):
            scene.hit("new-account", "critical")


def _quarantine(scene: Scene, step: Step) -> None:
    if not step.has("-c") and not (step.has("-d") and "com.apple.quarantine" in step.operands):
        return
    host = host_in(step.fetched) if step.fetched is not None else None
    if host is not None and host.name and host.kind != "known":
        scene.hit("protection-off", "critical" if host.shady else "warn", host.name)
    else:
        scene.hit("protection-off", "info")


def _encrypts(scene: Scene, step: Step) -> None:
    """Files encrypted one after the other, and the originals removed."""
    encrypting = (step.name == "openssl" and step.has("enc") and not step.has("-d")) or (
        step.name == "gpg" and step.has("-c", "--symmetric", "-e", "--encrypt") and not step.has("-d", "--decrypt")
    )
    if not encrypting or not ("loop" in step.command.inside or name_of(step.command.argv) == "find"):
        return
    removed = re.search(r"-exec\s{1,4}(?:rm|shred)\b|-delete\b", step.command.text) is not None or any(
        other.name in ("rm", "shred", "srm") and "loop" in other.command.inside and abs(other.number - step.number) < 8
        for other in scene.steps
    )
    if removed and any(map(_at_home, _searched(scene))):
        scene.hit("encrypt-files")


def _at_home(path: str) -> bool:
    bare = _HOME.sub("~", path)
    return bare.startswith("~") or any(
        map(is_home, re.findall(r"/(?:root|home/[\w${}-]{1,40}|Users/[\w${}-]{1,40})", bare))
    )


def _searched(scene: Scene) -> Iterator[str]:
    """The places that loops and `find` go through."""
    for step in scene.steps:
        yield from (part for _, word in step.command.assignments for part in word.text.split())
        if name_of(step.command.argv) == "find":
            yield from (word.text for word in step.command.argv)


JUDGES: dict[str, Callable[[Scene, Step], None]] = {
    "remove": _rm, "overwrite disk": _dd, "shred": _shred, "format": _format, "move": _mv, "clean": _git, "open mode": _chmod,
    "container": _docker, "set password": _password, "unquarantine": _quarantine, "encrypt": _encrypts,
}  # fmt: skip
"""What the tables call what commands harm."""
