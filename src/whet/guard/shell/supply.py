"""Rules for packages from untrustworthy sources, and for commands in a disguised spelling."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cache
from itertools import chain, dropwhile, islice
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.shell.clients import programs, table
from whet.guard.shell.fetch import find_file
from whet.guard.shell.wrappers import INTERPRETERS, program
from whet.guard.tables import shape
from whet.guard.taint.sources import judge_image, judge_index, judge_package

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.guard.shell.flow import Scene
    from whet.guard.shell.step import Step
    from whet.guard.shell.words import Word


def judge_supply(scene: Scene, step: Step) -> None:
    """Judge where a command gets packages from, and how its name is spelled."""
    given = [(name, word.text) for name, word in step.assignments]
    given += [(name, value) for name, _, value in (text.partition("=") for text in step.texts if step.name in _SETTERS)]
    indexes = [value for name, value in given if name in table()["packages"]["variables"]]
    if step.name in table()["packages"]["managers"]:
        configures = "config" in step.operands and step.has("set", "--global", "--add")
        indexes += [*step.placed("url"), *(step.operands if configures else ())]
        if step.has("install", "i", "add", "isntall", "dlx", "get"):
            _install(scene, step)
    for word in indexes:
        name, _, value = word.partition("=")
        url = value if "://" in value and "://" not in name else word
        unchecked = step.value("--trusted-host") is not None or step.has("--insecure")
        scene.report(judge_index(url, unchecked=unchecked) if "://" in url else ())
    _sources(scene, step)
    _unpinned(scene, step)
    _split(scene, step)


def _install(scene: Scene, step: Step) -> None:
    """Judge the addresses of what a command installs or applies, itself or as a file that was fetched before."""
    fetched = [mark.subject for path in step.operands for mark in find_file(scene, path).has("fetched")]
    scene.report(chain.from_iterable(map(judge_package, (*(_OPTION.sub("", text) for text in step.texts), *fetched))))


def _add_index(scene: Scene, step: Step) -> None:
    scene.report(chain.from_iterable(judge_index(url) for text in step.texts for url in _URL.findall(text)))


def _get_module(scene: Scene, step: Step) -> None:
    """Judge a Go module, whose name begins with its host."""
    named = (text.partition("@")[0] for text in step.operands[1:] if _MODULE.match(text))
    scene.report(chain.from_iterable(judge_package(f"https://{name}") for name in named))


def _take_image(scene: Scene, step: Step) -> None:
    """Judge the image of a container."""
    after = dropwhile(lambda word: word not in ("run", "pull", "create"), step.operands)
    scene.report(judge_image(image) if (image := next(islice(after, 1, None), "")) else ())


def _clone(scene: Scene, step: Step) -> None:
    """Judge the clone of a repository if a later command builds or runs something in it."""
    urls = [text for text in step.operands if "://" in text]
    if not urls or not (found := [*judge_package(urls[0])]):
        return
    after = step.operands[step.operands.index(urls[0]) + 1 :]
    folder = after[0] if after else urls[0].rstrip("/").rpartition("/")[2].removesuffix(".git")
    for later in (one for one in scene.steps[step.number + 1 : step.number + _SOON] if one.argv):
        builds = later.name in table()["packages"]["builders"] or "/" in later.argv[0].text
        if not builds and later.name not in INTERPRETERS:
            continue
        words = (later.argv[0].text, *later.operands)
        named = any(f"{word.removeprefix('./')}/".startswith(f"{folder}/") for word in words)
        if named or (builds and f"{later.folder}/".startswith(f"{folder}/")):
            scene.report(one._replace(message=f"It builds or runs what it clones from {one.subject}") for one in found)
            return


_SOON = 50
"""Number of commands after a clone that are checked."""
_OPTION = expression(r"^-[\w-]{1,40}=")
_URL = expression(r"https?://[^\s\"'`]{1,300}")
_MODULE = expression(r"[a-z0-9-]{1,60}(?:\.[a-z0-9-]{1,60}){1,6}/")
_SOURCE = expression(
    r"\bdeb(?:-src)?[ \t]{1,9}(\[[^\]\n]{0,200}\][ \t]{1,9})?(https?://[^\s\"'`]{1,300})", re.IGNORECASE
)
"""An entry in apt's list of sources. With the option `trusted=yes`, apt installs unsigned packages from it."""


def _sources(scene: Scene, step: Step) -> None:
    for text in (*step.texts, *step.input.texts) if "://" in step.plain or "://" in step.input.said else ():
        for options, url in _SOURCE.findall(text):
            scene.report(judge_index(url, unchecked="trusted=yes" in options.replace(" ", "")))


JUDGES: dict[str, Callable[[Scene, Step], None]] = {
    "install": _install, "add index": _add_index, "get module": _get_module, "take image": _take_image, "clone": _clone,
}  # fmt: skip
"""The kinds of supply that the tables name, with their judges."""
_SETTERS = ("export", "setx", "set", "declare", "typeset", "readonly")


def _unpinned(scene: Scene, step: Step) -> None:
    skip = table()["packages"]["runners"].get(step.name)
    if skip is None or (skip and step.operands[:1] not in (["run"], ["dlx"])):
        return
    package = next(iter(step.operands[skip:]), "")
    if package and "@" not in package[1:] and "==" not in package and (step.name != "npx" or step.has("-y", "--yes")):
        scene.hit("unpinned-run", None, package[:80])


@cache
def _dangerous() -> frozenset[str]:
    """Return the programs whose names nobody has a reason to split."""
    named = {*programs("fetchers"), *programs("sockets"), *INTERPRETERS, *programs("telling")}
    return frozenset(named - {"http", "https", "fetch", "fish"})


_ODD_NAME = shape("shell_signs", "odd_name", 0)
_EXPANDED = expression(r"\$\{[^}]{1,80}\}|\$\w{1,40}|\$\([^)]{0,200}\)|`[^`]{0,200}`")
_EMPTY = expression(r"\$\{?[@*!#0-9_]\}?|''|\"\"|\\")
_JOINED = expression(r"\w\$\{?[@*!#0-9_]\}?\w")


def _split(scene: Scene, step: Step) -> None:
    if not step.command.argv:
        return
    for word in {step.command.argv[0], step.argv[0]}:
        odd = word.source != word.text or not word.known or any(sign in word.text for sign in "?*[")
        if odd and len(word.source) < 400 and (name := _disguised(word)):
            scene.hit("split-command", None, name)
            return


def _disguised(word: Word) -> str:
    """Return the dangerous program that the first word of a command spells in pieces, or an empty text."""
    source = word.source
    name = program(word.text.split()[0] if word.text.split() else "")
    if any(sign in source for sign in "?*[") and "/" in source and not word.names and not word.substituted:
        pattern = word.text
        rooms = [room for room in _ROOMS if room.count("/") == pattern.count("/")]
        return next((one for one in sorted(_dangerous()) for room in rooms if fnmatchcase(room + one, pattern)), "")
    if not word.known:
        bare = _EMPTY.sub("", source)
        return bare if bare != source and bare in _dangerous() and _JOINED.search(source) else ""
    if name not in _dangerous():
        return ""
    last = re.sub(r"^.*/(?=[^/}]*$)", "", source)
    if word.names or word.substituted:
        return name if _in_pieces(word, last) else ""
    stripped = last.removeprefix("\\")
    if len(stripped) > 1 and stripped[0] == stripped[-1] and stripped[0] in "'\"" and stripped.count(stripped[0]) == 2:
        return ""
    return name if _ODD_NAME.search(stripped) or "$'" in stripped else ""


_ROOMS = ("/bin/", "/usr/bin/", "/sbin/", "/usr/local/bin/")


def _in_pieces(word: Word, last: str) -> bool:
    """Return whether letters adjoin an expansion, or several expansions follow each other; a version number does not count."""
    if word.substituted and not word.names:
        return True
    bare = last.strip("\"'")
    rest = _EXPANDED.sub("", bare)
    count = len(_EXPANDED.findall(bare))
    if count >= 2:
        return bool(re.fullmatch(r"[\w\"']{0,20}", rest)) and "/" not in bare
    if re.fullmatch(r"(?:python|pip|ruby|php|node|perl)\d?[.\d-]{0,6}", rest.strip("\"'")):
        return False
    return bool(re.fullmatch(r"[\w\"']{1,20}", rest)) and "/" not in bare
