"""The values in a text that belong to one case: paths, file names, addresses, dates, versions, numbers that identify.

They are recognized by their shape alone. A request's values are the inputs of a task, which differ next time.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind = Literal["file", "directory", "url", "email", "date", "version", "amount", "phone", "id", "name"]

USUAL = frozenset(
    """
    readme.md package.json package-lock.json pyproject.toml requirements.txt setup.py setup.cfg dockerfile makefile
    docker-compose.yml docker-compose.yaml compose.yaml cargo.toml cargo.lock go.mod go.sum tsconfig.json pom.xml
    build.gradle gemfile composer.json environment.yml environment.yaml changelog.md license.md contributing.md
    skill.md claude.md agents.md index.html conftest.py __init__.py main.py yarn.lock pnpm-lock.yaml uv.lock
    poetry.lock chart.yaml values.yaml .env .gitignore tox.ini manifest.json
    """.split()  # noqa: SIM905  a paragraph of names reads better than a list of fifty strings
)
"""File names that are the same in every project and therefore not inputs."""
_SYSTEM = ("/etc/", "/usr/", "/bin/", "/sbin/", "/lib/", "/dev/", "/proc/", "/sys/", "/boot/")
_EXTENSIONS = (
    "pdf|docx?|xlsx?|pptx?|csv|tsv|jsonl?|ya?ml|toml|xml|html?|md|rst|txt|tex|log|sql|db|sqlite|parquet|png|jpe?g|gif"
    "|svg|webp|bmp|tiff?|mp3|mp4|mov|avi|mkv|wav|flac|zip|tar|gz|tgz|bz2|7z|py|js|tsx?|jsx|mjs|java|kt|go|rs|rb|php|cc?"
    "|cpp|hpp?|cs|swift|scala|sh|bash|ps1|ipynb|jl|lua|s?css|vue|proto|ini|cfg|conf|env|nc|np[yz]|h5|pt|onnx|pem|crt|key"
    "|bib|srt|vtt|ics|eml|msg|patch|diff|lock|tf|tfvars|gradle|pot?|stl|obj|geojson|gpx|whl"
)
_PATH = re.compile(r"(?<![\w.:/~$}\\<-])(?:~?/|[A-Za-z]:[\\/])(?:[\w.@%+~-]{1,120}[\\/]){0,20}[\w.@%+~-]{1,120}[\\/]?")
_FILE = re.compile(rf"(?<![\w./\\@%$}}-])(?:[\w.-]{{1,60}}/){{0,6}}[\w-][\w.-]{{0,80}}\.(?:{_EXTENSIONS})(?![\w(/@-])")
_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
_PROPER = r"[A-Z][\w'-]*(?: [A-Z][\w'-]*){0,3}"
_OWNED = "repo|repository|branch|namespace|bucket|cluster"
_CURRENCY = "USD|EUR|GBP|CHF"
_SHAPES: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("url", re.compile(r"\b(?:https?|ssh|git|ftp|s3|gs)://[^\s`'\"<>(){}\[\]|\\]{3,300}(?<![.,;:!?])")),
    ("email", re.compile(r"(?<![\w.+:/-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{2,63}){1,4}(?!\w|:[\w~/.])")),
    ("id", re.compile(r"(?<![\w-])[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}(?![\w-])")),
    ("id", re.compile(r"(?<![\w#-])(?=[0-9a-f]{0,39}[0-9])(?=[0-9a-f]{0,39}[a-f])[0-9a-f]{7,40}(?![\w-])")),
    ("id", re.compile(r"(?<![\w-])(?!(?:CVE|UTF|ISO|SHA|RFC|HTTP|CWE)-)[A-Z][A-Z0-9]{1,9}(?:-\d{1,6}){1,3}(?!\w)")),
    ("id", re.compile(r"(?<![\w&#])#\d{1,6}(?![\w-])|(?<![\w.,#-])\d{5,}(?![\w.,-]?\d)(?!\w)")),
    ("id", re.compile(r"(?<![\w.-])\d{5,}(?:-\d{2,}){1,3}(?![\w-])")),
    ("id", re.compile(r"(?<![\w-])[A-Z]{2,6}_?\d{4,}(?:\.\d{1,2})?(?![\w-])")),
    ("name", re.compile(rf"\b(?:called|named|titled) (?P<value>[\"“][^\"”\n]{{2,60}}[\"”]|{_PROPER})")),
    ("name", re.compile(rf"\b(?:{_OWNED}) (?P<value>[\w.-]{{1,60}}[-_/][\w./-]{{1,60}})(?<!\.)")),
    ("date", re.compile(r"(?<![\w-])(?:19|20)\d\d-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?(?![\d-])")),
    ("date", re.compile(rf"\b{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?,? (?:19|20)\d\d\b")),
    ("date", re.compile(rf"\b\d{{1,2}}\.? {_MONTH} (?:19|20)\d\d\b")),
    ("date", re.compile(r"(?<![\w/.])\d{1,2}([/.])\d{1,2}\1(?:19|20)\d\d(?![\w/])")),
    ("amount", re.compile(rf"(?:[$€£¥]|\b(?:{_CURRENCY}) ?)\d[\d,.']{{0,14}}(?<![,.'])(?!\w)")),
    ("amount", re.compile(rf"(?<![\w.])\d[\d.,]{{0,12}} ?(?:€|{_CURRENCY})(?!\w)")),
    ("version", re.compile(r"(?<![\w./-])v?\d{1,4}(?:\.\d{1,5}){1,3}(?:[-+][\w.]{1,20})?(?![\w-]|\.\d)")),
    ("phone", re.compile(r"(?<![\w.-])(?:\+\d{1,3}[ -]?)?(?:\(\d{2,4}\)[ -]?|\d{2,4}[ -])\d{3}[ -]?\d{3,5}(?!\w)")),
)  # fmt: skip


class Value(NamedTuple):
    """A value of the case."""

    kind: Kind
    text: str


def values_of(text: str) -> tuple[Value, ...]:
    """Return the values in a text, each once, in order; a path that is part of another is left out."""
    found: dict[tuple[int, int], Value] = {}
    for start, end, value in _found(text):
        if not any(first <= start and end <= last for first, last in found):
            found[start, end] = value
    ordered = dict.fromkeys(value for _, value in sorted(found.items()))
    whole = {value.text for value in ordered}
    names = {text.rpartition("/")[2] for text in whole if "/" in text}
    return tuple(
        one for one in ordered if one.text not in names and one.text.removesuffix("/") not in whole - {one.text}
    )


def _found(text: str) -> Iterator[tuple[int, int, Value]]:
    for kind, pattern in _SHAPES[:2]:
        yield from ((one.start(), one.end(), Value(kind, one[0])) for one in pattern.finditer(text))
    for one in _PATH.finditer(text):
        path = one[0].rstrip(".,;:")
        if text[one.end() : one.end() + 1] in ("{", "<", "$", "*"):
            continue  # the pattern of a path
        if not f"{path}/".startswith(_SYSTEM) and path.strip("/~\\"):
            name = path.replace("\\", "/").rpartition("/")[2]
            yield one.start(), one.start() + len(path), Value("file" if "." in name else "directory", path)
    for one in _FILE.finditer(text):
        if one[0].rpartition("/")[2].lower() not in USUAL:
            yield one.start(), one.end(), Value("file", one[0])
    for kind, pattern in _SHAPES[2:]:
        part = "value" if "value" in pattern.groupindex else 0
        yield from ((*one.span(part), Value(kind, one[part].strip('"“”'))) for one in pattern.finditer(text))


def without_values(text: str) -> str:
    """Return a sentence without the values of its case, and without words that lead to them."""
    for value in sorted(values_of(text), key=lambda one: -len(one.text)):
        text = re.sub(rf"(?:\s*\b{_LEADS}(?:\s+{_KINDS})?)?\s*[`'\"“(]*{re.escape(value.text)}[`'\"”)]*", " ", text)
    return re.sub(rf"(?:,|\s|\b{_LEADS})*\s*([,.;:]|\Z)", r"\1", " ".join(text.split())).strip(" ,;:-")


_LEADS = r"(?:at|in|on|from|to|into|under|as|of|for|with|by|called|named|titled|located|stored|saved|and|or)\b"
_KINDS = r"(?:the\s+)?(?:version|release|ticket|issue|pull request|date|day|file|folder|directory|branch|number|id)\b"
"""Nouns before a value."""
