"""The private data that a command of a shell script itself reads, picks, prints or packs, by what it is and what it names."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.places import places
from whet.guard.shell.clients import printing, programs, sent_file, table
from whet.guard.shell.step import COMMON_FOLDERS, DECLARATIONS, joined_path
from whet.guard.shell.wrappers import FINDERS, name_of, texts_of
from whet.guard.tables import shape
from whet.guard.taint.files import holds_environment
from whet.guard.taint.mark import ENVIRONMENT, Mark
from whet.guard.taint.secret import secret_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.guard.places import Place
    from whet.guard.shell.step import Step

_SETTINGS = frozenset({"the agent's own keys", "Docker credentials", "Kubernetes credentials", "git credentials"})
_LONGEST_PATH = 2_000


def add_private(step: Step) -> None:
    """Add the private data that a step itself reads."""
    name = step.name
    picker = name in programs("pickers") and not _keeps_all(step)
    for text in _opens(step):
        if holds_environment(text):
            step.own.add(ENVIRONMENT)
        for place in secret_places(text):
            if picker and not place.grave:
                step.own.update(_picked(step))
            else:
                grave = place.grave and not (picker and place.what in _SETTINGS)
                step.own.add(Mark("secret", place.what, "", grave, whole=not picker))
        if "known_hosts" in text and name in programs("readers"):
            step.own.add(Mark("listing", "the machines that this one knows", text))
    if _is_given(step):
        step.own.update(map(opened_place, searched_places(texts_of(step.command.argv))))
    if (dumped := _dump(step)) is not None:
        step.own.add(dumped)
    step.fed.update(step.own)
    printed_by_code = (_NAMED_IN_CODE.findall(code) for code in _printing_code(step))
    prints = name == "printenv" or (name in DECLARATIONS and step.has("-p"))
    names = step.texts if prints else chain.from_iterable(printed_by_code)
    step.fed.update(key for word in names if (key := secret_key(word)) is not None)
    if (taken := _source_code(step)) is not None:
        step.fed.add(taken)


def _opens(step: Step) -> list[str]:
    """Return the texts in which the step may name files that it reads."""
    name = step.name
    texts = [one.target.text for one in step.command.redirections if one.operator[:1] == "<"]
    reads = name in programs("readers")
    if reads and name in programs("movers"):
        texts += step.operands if step.placed("output") else step.operands[:-1]
    elif reads:
        texts += [one.text for one in step.arguments if not one.option.startswith("--exclude")]
    elif name in programs("fetchers"):
        texts += map(sent_file, step.arguments)
        texts += [
            word for word in step.texts if word[:5].lower() == "file:" or "169.254." in word or "metadata.g" in word
        ]
    elif name in programs("openers"):
        texts += [*step.texts, *(step.command.heredoc or "").split("\n")]
    elif not step.argv:
        texts += [word.text[2:-1].lstrip("< ") for _, word in step.command.assignments if "$(<" in word.text]
    texts += _printing_code(step)
    if step.folder and (reads or name in programs("fetchers")):
        texts = [joined_path(step.folder, text) for text in texts]
    if _is_given(step):
        texts += [word.text for word in step.command.argv[: step.slot(0)]]
    return texts


def _is_given(step: Step) -> bool:
    """Return whether `find` or `fd` passes files to the step to read or send."""
    given = step.name not in FINDERS and name_of(step.command.argv) in FINDERS
    return given and (step.name in programs("readers") or step.name in programs("fetchers"))


@lru_cache(maxsize=4096)
def secret_places(text: str) -> tuple[Place, ...]:
    """Return the places in a text that hold secrets, public keys excluded."""
    if len(text) >= _LONGEST_PATH:
        return ()
    plain = " ".join(word for word in text.split(" ") if not word.endswith(".pub"))
    return tuple(place for place in places(plain) if place.kind == "secret")


def opened_place(mark: Mark) -> Mark:
    """Turn a mark for the name of a secret file into a mark for its content."""
    return Mark("secret", mark.what, "", mark.grave, whole=True) if mark.kind == "place" else mark


def named_places(text: str) -> Iterator[Mark]:
    """Yield the marks of the secret files that a text names."""
    yield from (Mark("place", place.what, place.text, place.grave) for place in secret_places(text))
    for word in text.split() if "*" in text else ():
        yield from _globbed(word)


_SECRET_WORD = expression(r"[A-Za-z_]*(?:KEY|TOKEN|SECRET|PASS)[A-Za-z_]*", re.IGNORECASE)


def _keeps_all(step: Step) -> bool:
    """Return whether a filter keeps all lines that matter: `grep -v '^#'`, `awk 1`."""
    return step.has("-v", "--invert-match") or not step.operands or not any(map(str.isalpha, step.operands[0]))


def _picked(step: Step) -> Iterator[Mark]:
    """Yield the keys that a filter picks out of a settings file, by the names in its expression."""
    for name in _SECRET_WORD.findall(" ".join(step.texts[:-1]))[:20]:
        if (key := secret_key(name) or secret_key(f"API_{name}")) is not None:
            yield key


def searched_places(texts: Sequence[str]) -> Iterator[Mark]:
    """Yield the secret files that `find` looks for."""
    for option, name in pairwise(texts):
        if option in ("-name", "-iname", "-path", "-wholename"):
            for what, names in table()["searches"].items():
                if name.lower() in names:
                    yield Mark("place", what, name, grave=True)
        elif option in ("-e", "--extension"):
            yield from _globbed(f"~/*.{name}")


def _globbed(text: str) -> Iterator[Mark]:
    """Yield the secret files that a glob pattern in a home directory matches."""
    name = text.rpartition("/")[2].lower()
    if "*" in name and text.startswith(("~", "$HOME", "/")):
        for what, names in table()["searches"].items():
            if name in names:
                yield Mark("place", what, text, grave=True)


def _source_code(step: Step) -> Mark | None:
    """Return a mark if the step prints or packs the whole project or the home directory."""
    here = not step.folder or step.folder in COMMON_FOLDERS
    packed = here and step.name in programs("archivers") and any(word in table()["everything"] for word in step.texts)
    if packed or (step.name == "git" and step.operands[:1] and step.operands[0] in table()["prints_source"]):
        return Mark("file", "the source code of the project", ".", grave=True)
    return None


_NAMED_IN_CODE = expression(
    r"(?:\bos\.(?:environ(?:\.get\(|\[)|getenv\()|\bprocess\.env(?:\.|\[)|\$ENV[{.]|\bENV(?:\[|\.fetch\()|\bENVIRON\["
    r"|\benv\.|\bgetenv\()\s{0,3}[\"']?([A-Za-z_]\w{2,60})"
)
"""An environment variable as one-line programs of various languages spell it."""
_ENVIRONMENT = shape("shell_signs", "environment", 0)
_PRINTS = expression(r"\b(?:p?print\w?|print_r|var_dump|var_export|puts|echo|write|log|say|dump|pp?|dir|table)\b")
_CALL = r"\b(?:{})\b[\w.:>-]{0,60}\s?\((?:[^()]|\((?:[^()]|\([^()]{0,100}\)){0,100}\)){0,200}(?:\)|$)"
_CALLS_OUT = shape("shell_signs", "calls_out", 0, frame=_CALL)
"""A call that passes data to another program, with its arguments."""
_STATEMENT = expression(r"[;\n]")
_MAKES = expression(
    r"\$?(\w{1,40})\s{0,4}(?::?=(?![=~])|\+=|\bin\b)|\bas\s{1,4}(\w{1,40})|\bopen\s?\(\s{0,4}(?:my\s{1,4})?\$?(\w{1,40})"
)
"""A name that is assigned to."""
_NAME = expression(r"[A-Za-z_]\w{0,40}")
_PRINTERS = frozenset(("awk", "gawk", "mawk", "nawk", "jq", "yq", "gojq"))


def _printing_code(step: Step) -> list[str]:
    """Return the one-line programs of a step, reduced to the code that produces their output."""
    if step.name in _PRINTERS:
        return step.operands[:1]
    given = [_CALLS_OUT.sub("", one.text) for one in step.inner if one.language != "shell"]
    return given if step.name == "node" and step.has("-p", "--print") else list(filter(None, map(_shown, given)))


def _shown(code: str) -> str:
    """Return the statements of a program that print, and those that compute what is printed."""
    kept: list[str] = []
    used: set[str] = set()
    for statement in reversed(_STATEMENT.split(code)):
        made = {name for names in _MAKES.findall(statement) for name in names if name}
        if _PRINTS.search(statement) or not used.isdisjoint(made):
            kept.append(statement)
            used.update(_NAME.findall(statement))
    return ";".join(reversed(kept))


def _dump(step: Step) -> Mark | None:
    """Return a mark for what a command prints by its nature."""
    for row in printing(step.name):
        if re.match(row["arguments"], step.plain):
            what, grave = row["what"], row.get("grave", False)
            key = secret_key(what) if what.isupper() else ENVIRONMENT if row.get("kind") == "env" else None
            return key or Mark(row.get("kind", "secret"), what, "", grave, whole=grave)
    return ENVIRONMENT if any(map(_ENVIRONMENT.search, _printing_code(step))) else None
