"""The profile `quality`: a linter for skills that are chosen when they should be and work when they are.

It never makes a package invalid; only the specification does. Fix a warning; an info is optional. Some checks
(sections, checks after steps) are warnings for a published package, but only infos for a private one.
"""

from __future__ import annotations

import posixpath
import re
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from whet.notes import Note
from whet.skill.body import first_prose
from whet.skill.body import sections as body_sections
from whet.skill.coerce import split_tools
from whet.skill.paths import SUPPORT_DIRECTORIES
from whet.skill.template import PHRASES, may_be_draft
from whet.skill.validate.fixable import written

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.notes import Severity
    from whet.skill.frontmatter import Document
    from whet.skill.validate.input import ValidationInput

MAX_LINES = 500
MAX_TOKENS = 5_000
CHARACTERS_PER_TOKEN = 4

INCIDENTS = 4
INCIDENTS_PER_1000 = 0.5

_BROAD = re.compile(r"(?i)\*|(?:bash|shell|sh|terminal|powershell|execute|run_command)(?:\([\s:*]*\))?")
_INCIDENT = re.compile(
    r"(?:\b(?:PRs?|MRs?|[Pp]ull [Rr]equests?|[Ii]ssues?|[Bb]ugs?|[Tt]ickets?)\s*#?|/(?:pull|issues|merge_requests)/"
    r"|(?<![\w&/#])#(?=\d{3}))\d{1,6}\b(?!;)"
)
_LEFTOVER = re.compile(
    r"\b(?:TODO|FIXME|TBD)\b(?!\.\w|s?[/\w\s,'\"-]{0,20}\b(?:comments?|markers?|lists?|items?|tags?|annotations?|notes?)\b)"
    r"|\b[Ll]orem ipsum\b"
)
EXAMPLES = {
    "body-empty": "1. Run git log --oneline v1.2..HEAD. It prints one line for each commit.",
    "body-too-long": "Move the table to references/fields.md, and write: Read references/fields.md.",
    "body-too-many-tokens": "Move the table to references/fields.md, and write: Read references/fields.md.",
    "broad-tool-grant": "allowed-tools: Bash(git log:*) Read",
    "description-from-body": "description: Fills PDF forms from a CSV file. Use when many forms have to be filled.",
    "description-marketing": 'not "A powerful PDF tool." but "Splits and merges PDF files."',
    "description-no-triggers": "Use when the user asks 'what changed since v2?' or names CHANGELOG.md.",
    "description-says-no-what": "Writes release notes from the git log. Use when a version is about to be released.",
    "description-says-no-when": "Use when a version is released, or when the user asks for a changelog.",
    "description-short": "Fills PDF forms from a CSV file. Use when many forms have to be filled.",
    "description-vague": 'not "Helps with documents." but "Converts .docx files to Markdown."',
    "examples-few": '- "What changed since v2?" writes the notes of v2..HEAD to NOTES.md.',
    "incident-log-shape": 'not "In #812 the cache was stale." but "Clear the cache before you measure."',
    "leftover-marker": 'not "TODO: the command" but "Run make release."',
    "no-final-newline": "`whet skill validate NAME --profile quality --fix`",
    "reference-dangling": "add the file, or correct its path: references/fields.md",
    "reference-nested": "not references/api/v2/fields.md but references/api-v2-fields.md",
    "section-missing": "## Limitations, and below it: Does not read scanned pages.",
    "step-without-check": "1. Run make test. It ends with 'passed' and exits with 0.",
}
"""Example of a fix for each code of this profile."""
_SECTION_EXAMPLES = {
    "Overview": "Fills forms from a CSV file, so that nobody types them.",
    "Usage": "1. Run make test. It ends with 'passed' and exits with 0.",
    "Examples": '- "What changed since v2?" writes the notes of v2..HEAD to NOTES.md.',
    "Dependencies": "git 2.30 or later.",
    "Limitations": "Does not read scanned pages.",
    "Changelog": "- 1.1.0: Also reads .ods files.",
}
_NAMED_LINES = 5
_QUOTATION = re.compile(r"\"[^\"\n]*\"|“[^“”\n]*”")


def check(package: ValidationInput, document: Document) -> Iterator[Note]:
    """Yield every finding of the linter."""
    body = document.body
    rows = rows_of(body, document.body_line)
    sections = sections_of(rows)
    prose = [row for row in rows if not row.code]
    yield from check_description(document)
    yield from _size(body, document)
    yield from check_sections(sections, published=package.published)
    yield from check_steps(sections, published=package.published)
    yield from check_references(prose, package.files)
    yield from _grants(document)
    yield from _incidents(prose, document.body_line)
    yield from _leftovers(prose, document)
    if body and not body.endswith("\n"):
        yield Note(
            "no-final-newline",
            "info",
            "The file does not end with a newline.",
            line=rows[-1].line,
            fix="Adds a newline.",
        )


def example_for(finding: Note) -> str:
    """Return an example of a fix; "" for a finding of another profile."""
    section = finding.message.removesuffix(".").rpartition(" ")[2]
    if finding.code == "section-missing" and section in _SECTION_EXAMPLES:
        return f"## {section}, and below it: {_SECTION_EXAMPLES[section]}"
    return EXAMPLES.get(finding.code, "")


def _size(body: str, document: Document) -> Iterator[Note]:
    line = document.body_line
    if not body.strip():
        yield Note("body-empty", "warning", "There are no instructions below the frontmatter.", line=line)
    lines = body.count("\n") + (not body.endswith("\n"))
    if lines > MAX_LINES:
        message = f"The body has {lines:,} lines; keep it to {MAX_LINES} and move the rest to references/."
        yield Note("body-too-long", "warning", message, line=line)
    tokens = len(body) // CHARACTERS_PER_TOKEN
    if tokens > MAX_TOKENS:
        message = f"The body has about {tokens:,} tokens; keep it to {MAX_TOKENS:,} and move the rest to references/."
        yield Note("body-too-many-tokens", "warning", message, line=line)
    values = document.values
    if not values.get("description") and (prose := first_prose(body)):
        message = f"Without a description, clients show {prose[:40]!r} instead."
        yield Note("description-from-body", "warning", message, line=document.lines.get("description"))


def _grants(document: Document) -> Iterator[Note]:
    for key in ("allowed-tools", "allowed_tools"):
        for tool in split_tools(document.values.get(key)):
            if _BROAD.fullmatch(tool):
                message = f"The skill asks for {tool} without limits; name the commands, such as Bash(git:*)."
                yield Note("broad-tool-grant", "warning", message, line=document.lines.get(key))


def _incidents(prose: list[Row], line: int) -> Iterator[Note]:
    text = "\n".join(without_code(row.text) for row in prose)
    count = sum(1 for _ in _INCIDENT.finditer(text))
    if count >= INCIDENTS and count * 1000 >= INCIDENTS_PER_1000 * len(text):
        message = f"The body refers to {count} issues and pull requests; describe the procedure, not its history."
        yield Note("incident-log-shape", "warning", message, line=line)


def check_leftovers(document: Document) -> Iterator[Note]:
    """Return the findings about leftovers of a draft."""
    return _leftovers([row for row in rows_of(document.body, document.body_line) if not row.code], document)


def _leftovers(prose: list[Row], document: Document) -> Iterator[Note]:
    places = [(document.lines.get("description"), written(document, "description") or "")]
    if may_be_draft(document.body):
        places.extend((row.line, without_code(row.text)) for row in prose)
    marked = [(line, match[0]) for line, text in places if (match := _LEFTOVER.search(_QUOTATION.sub("", text)))]
    words = ((line, phrase) for line, text in places for phrase in PHRASES if phrase in text)
    if found := marked or [(line, f"The template's text ({phrase!r})") for line, phrase in words]:
        lines, (first, marker) = [str(line) for line, _ in found], found[0]
        more = f" and {len(lines) - _NAMED_LINES} more" if len(lines) > _NAMED_LINES else ""
        where = f" on {len(lines)} lines: {', '.join(lines[:_NAMED_LINES])}{more}" if len(lines) > 1 else ""
        yield Note("leftover-marker", "warning", f"{marker} is left over from a draft{where}.", line=first)


# --- the description: does it get its skill chosen? -------------------------------------------------------------------

MIN_CHARACTERS = 40
LOOKED_AT = 2_000
"""Characters of a description that are checked; the specification allows half as many."""

_WHEN = re.compile(
    r"(?i)\bwhen(?:ever)?\b|\b(?:use[ds]?|apply|invoke|activate|trigger)s?\s+(?:\w+\s+){0,3}?(?:for|if|to|before|after|on|with)\b"
    r"|\bif (?:the user|you|someone)\b|\btriggers?\b|\b(?:wenn|quand|lorsque|cuando|quando|когда)\b"
    r"|当.{1,40}时|用于|适用|場合|とき|ときに|使用する|경우|때"
)
_ONLY_WHEN = re.compile(r"(?i)\s*(?:use|apply|invoke|activate)\s+(?:\w+\s+){0,3}?when(?:ever)?\b[^.!?;\n]*[.!?;]?\s*")
_TRIGGER = re.compile(
    r"(?i)[\"“”'‘`«「『][^\"“”'’`»」』\n]{2,80}[\"”'’`»」』]|(?<![\w/])\.[a-z][a-z0-9]{1,5}\b"
    r"|\b(?:such as|e\.g\.|for example|mentions?|mentioning|asks?|asking|asked|says?|requests?|wants?)\b|例如|比如|「"
)
_SENTENCE_END = re.compile(r"[.!?](?:\s|$)")
_SITUATION = re.compile(r"(?i)\b(?:when(?:ever)?|use|for|if)\b")
_ALTERNATIVE = re.compile(r"(?i)\bor\b|,.*(?:,|\band\b)|\(1\)")
VAGUE = re.compile(
    r"(?i)\b(?:helps? (?:you |users? )?with|stuff|things|various|miscellaneous|and (?:much |many )?more|many tasks"
    r"|general tasks|common tasks)\b"
)
MARKETING = re.compile(
    r"(?i)\b(?:powerful|comprehensive|seamless(?:ly)?|cutting[- ]edge|revolutionary|world[- ]class|best[- ]in[- ]class"
    r"|state[- ]of[- ]the[- ]art|blazing(?:ly)?|effortless(?:ly)?|robust|amazing|ultimate|game[- ]chang\w+"
    r"|next[- ]gen(?:eration)?|supercharge[ds]?|enterprise[- ]grade|battle[- ]tested|unparalleled|magical(?:ly)?)\b"
)


def check_description(document: Document) -> Iterator[Note]:
    """Yield findings about the wording; the specification reports a missing description."""
    description = (written(document, "description") or "")[:LOOKED_AT].strip()
    if not description:
        return
    line = document.lines.get("description")
    said = any(document.values.get(key) for key in ("when_to_use", "when-to-use"))
    triggers = said or bool(document.values.get("triggers"))
    if len(description) < MIN_CHARACTERS:
        message = f"The description has only {len(description)} characters; say what the skill does and when to use it."
        yield Note("description-short", "warning", message, line=line)
    if not said and not _WHEN.search(description):
        message = "The description does not say when to use the skill; add a sentence such as 'Use when ...'."
        yield Note("description-says-no-when", "warning", message, line=line)
    if _ONLY_WHEN.fullmatch(description):
        message = "The description says when to use the skill but not what it does."
        yield Note("description-says-no-what", "info", message, line=line)
    if not triggers and not _TRIGGER.search(description) and not _several_situations(description):
        message = "The description names no concrete words, files or requests that call for the skill."
        yield Note("description-no-triggers", "info", message, line=line)
    for code, pattern, advice in (
        ("description-vague", VAGUE, "fits any skill; name the things instead"),
        ("description-marketing", MARKETING, "is praise; say what the skill does instead"),
    ):
        if words := list(dict.fromkeys(found[0].lower() for found in pattern.finditer(description))):
            listed = ", ".join(repr(word) for word in words)
            yield Note(code, "warning", f"In the description, {listed} {advice}.", line=line)


def _several_situations(description: str) -> bool:
    """Return whether a sentence lists more than one occasion: `Use when merging, splitting or signing`."""
    for sentence in _SENTENCE_END.split(description):
        occasion = _SITUATION.search(sentence)
        if occasion and _ALTERNATIVE.search(sentence.replace("\n", " "), occasion.end()):
            return True
    return False


# --- the body: does it carry a reader through? ------------------------------------------------------------------------

MIN_EXAMPLES = 2

_SECTIONS = {
    "Overview": re.compile(r"(?i)overview|introduction|about|purpose|what (?:it|this)\b.*"),
    "Usage": re.compile(r"(?i).*\b(?:usage|how to use|steps?|procedures?|workflows?|instructions|quick ?start)\b.*"),
    "Examples": re.compile(r"(?i).*\bexamples?\b.*"),
    "Dependencies": re.compile(r"(?i).*\b(?:dependencies|requirements|prerequisites|requires)\b.*"),
    "Limitations": re.compile(r"(?i).*\b(?:limitations?|limits|caveats|gotchas|pitfalls|known issues)\b.*"),
    "Changelog": re.compile(r"(?i).*\b(?:change ?log|version history|release notes|changes)\b.*"),
}
_PROCEDURE = re.compile(r"(?i).*\b(?:usage|steps?|procedures?|workflows?)\b.*")
_STEP_TITLE = re.compile(r"(?i)(?:step|phase)\s*\d+\b.*|\d+[.):]\s.*")
_STEP = re.compile(r" {0,3}\d{1,3}[.)][ \t]+\S.*")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,3}[.)])[ \t]+\S.*|\*\*.+")
_CHECKED = re.compile(
    r"(?i)\b(?:success|succeed|done (?:when|if|once)|verif|expect|check|confirm|ensure|make sure|validate|until"
    r"|pass(?:es|ed)\b|exit(?:s| code| status)\b|should (?:see|show|print|return|read|be|pass|exit|contain|list|say)\b"
    r"|(?:prints|shows|reports|returns|outputs)\b)"
)


def check_sections(sections: tuple[Section, ...], *, published: bool) -> Iterator[Note]:
    """Check for the sections that a new reader needs, and for at least two examples."""
    severity = _severity(published=published)
    for name, title in _SECTIONS.items():
        if not any(title.fullmatch(section.title) for section in sections):
            yield Note("section-missing", severity, f"There is no section {name}.")
    examples = _outermost(sections, _SECTIONS["Examples"])
    count = sum(map(_examples, examples))
    if examples and count < MIN_EXAMPLES:
        message = f"There are fewer than {MIN_EXAMPLES} examples."
        yield Note("examples-few", severity, message, line=examples[0].line)


def check_steps(sections: tuple[Section, ...], *, published: bool) -> Iterator[Note]:
    """Check that every numbered step of a procedure says how to tell that it worked."""
    for section in _outermost(sections, _PROCEDURE):
        for step in _steps(section):
            if not any(_CHECKED.search(row.text) for row in step):
                start = step[0].text.strip("# ")
                message = f"The step {start[:60]!r} does not say how to tell that it worked."
                yield Note("step-without-check", _severity(published=published), message, line=step[0].line)


def _severity(*, published: bool) -> Severity:
    return "warning" if published else "info"


def _outermost(sections: tuple[Section, ...], title: re.Pattern[str]) -> list[Section]:
    """Return the sections with that title that are not inside another one of it."""
    found: list[Section] = []
    until = 0
    for section in sections:
        if title.fullmatch(section.title) and section.line > until:
            found.append(section)
            until = section.rows[-1].line
    return found


def _examples(section: Section) -> int:
    """Return the number of examples in a section, however they are separated."""
    fences = sum(1 for row, before in zip(section.rows[1:], section.rows, strict=False) if row.code and not before.code)
    items = sum(1 for row in section.rows if not row.code and _ITEM.fullmatch(row.text))
    text = any(row.text.strip() for row in section.rows[1:])
    return max(len(section.parts), fences, items, int(text))


def _steps(section: Section) -> Iterator[tuple[Row, ...]]:
    """Yield the rows of each step: parts with numbered titles, or else numbered items."""
    numbered = [part for part in section.parts if _STEP_TITLE.fullmatch(part.title)]
    if numbered:
        top = min(part.level for part in numbered)
        yield from (part.rows for part in numbered if part.level == top)
        return
    step: list[Row] = []
    for row in section.rows[1:]:
        if not row.code and (_STEP.fullmatch(row.text) or row.text.startswith("#")):
            if step:
                yield tuple(step)
            step = []
        if step or (not row.code and _STEP.fullmatch(row.text)):
            step.append(row)
    if step:
        yield tuple(step)


# --- the files: does everything the body points to exist? -------------------------------------------------------------

_LINK = re.compile(r"\]\([ \t]*<?([^)\s>]+)")
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[/#~\\]|.*[{}<>$*|]")
_FILE = re.compile(rf"(?:^|[\s\"'=(]|\./|\}}/)((?:{'|'.join(SUPPORT_DIRECTORIES)})/[\w.-][\w./-]*+)(?![*<{{$\[])")
_SUPPORT = tuple(f"{start}{directory}/" for directory in SUPPORT_DIRECTORIES for start in ("", "./"))
_LIKE_A_PATH = re.compile(r".*/.*|.*\.[A-Za-z0-9]{1,8}")


def check_named_files(body: str, line: int, files: Sequence[str]) -> Iterator[Note]:
    """Yield notes about missing files in the usual directories of a skill that the instructions name."""
    prose = [row for row in rows_of(body, line) if not row.code]
    for note in check_references(prose, tuple(files)):
        if note.code == "reference-dangling" and note.message.startswith(_SUPPORT):
            yield note


def check_references(prose: list[Row], files: tuple[str, ...]) -> Iterator[Note]:
    """Yield notes about references to missing files, and about files that are hard to reach."""
    known = set(files)
    for file in files:
        while file := posixpath.dirname(file):
            known.add(file)
    seen: set[str] = set()
    for row in prose:
        for target in _targets(row.text):
            path = posixpath.normpath(target)
            if path not in known and path not in seen:
                seen.add(path)
                message = f"{target} does not exist in the skill."
                yield Note("reference-dangling", "warning", message, line=row.line)
    nested = [file for file in files if file.startswith("references/") and file.count("/") > 1]
    if nested:
        others = f" and {len(nested) - 1} more are" if len(nested) > 1 else " is"
        message = f"{nested[0]}{others} more than one level below references/."
        yield Note("reference-nested", "info", message)


def _targets(text: str) -> Iterator[str]:
    if "](" in text:
        for link in _LINK.findall(without_code(text)):
            path = _unquoted(re.split(r"[#?]", link, maxsplit=1)[0])
            if path and not _ELSEWHERE.match(link) and _LIKE_A_PATH.fullmatch(path):
                yield path
    for code in inline_code(text):
        for path in _FILE.findall(code):
            yield path.rstrip(".")


def _unquoted(path: str) -> str:
    if "%" not in path:
        return path
    from urllib.parse import unquote

    return unquote(path)


# --- rows and sections ------------------------------------------------------------------------------------------------

_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_INLINE_CODE = re.compile(r"(?<!`)(`{1,8}+)(?!`)(.{1,500}?)(?<!`)\1(?!`)")


class Row(NamedTuple):
    """A row of the body."""

    line: int
    """Line in the file, from 1."""
    text: str
    code: bool
    """Whether it is in a fenced code block, including the fences."""


class Section(NamedTuple):
    """A heading and everything below it up to the next heading of its level or above."""

    title: str
    level: int
    rows: tuple[Row, ...]
    """Rows, starting with the heading."""
    parts: tuple[Section, ...]
    """Nested sections of any level, in order."""

    @property
    def line(self) -> int:
        """Line of the heading in the file."""
        return self.rows[0].line


def rows_of(body: str, first_line: int) -> tuple[Row, ...]:
    """Return the rows of a body that begins at the given line of the file."""
    rows: list[Row] = []
    fence = ""
    for number, text in enumerate(body.replace("\r\n", "\n").split("\n"), first_line):
        found = _FENCE.match(text)
        code = bool(fence or found)
        if found and not fence:
            fence = found[1]
        elif found and found[1].startswith(fence) and text.strip() == found[1]:
            fence = ""
        rows.append(Row(number, text, code))
    return tuple(rows)


def sections_of(rows: tuple[Row, ...]) -> tuple[Section, ...]:
    """Return every section of a body, of any level, in order."""
    made: list[Section] = []
    for found in reversed(body_sections([row.text for row in rows])):
        parts = tuple(takewhile(partial(_begins_before, rows[0].line + found.end), reversed(made)))
        made.append(Section(found.title.strip("*_ :"), found.level, rows[found.start : found.end], parts))
    return tuple(reversed(made))


def _begins_before(line: int, section: Section) -> bool:
    return section.line < line


def without_code(text: str) -> str:
    """Return a row without its inline code."""
    return _INLINE_CODE.sub("", text) if "`" in text else text


def inline_code(text: str) -> list[str]:
    """Return the inline code of a row."""
    return [found[2] for found in _INLINE_CODE.finditer(text)] if "`" in text else []
