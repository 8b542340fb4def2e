"""What was read in a session and used later, in its own words.

Sources are texts that teach: skills that were loaded, documentation that was opened or fetched, manuals that were
printed. A passage is kept with a weight: the names, options and numbers in it that later commands and files hold, the
words it shares with the request and the work, and whether it lays down a rule. Nothing is rephrased, so values stay
exact.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from math import log
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from whet.learning.facts.model import Passage
from whet.learning.facts.prose import bare, capital, pieces
from whet.learning.facts.shell import asks_manual
from whet.learning.facts.tool_calls import plain
from whet.skill.terms import key_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whet.learning.facts.model import Parameter
    from whet.learning.facts.tool_calls import Act
    from whet.learning.transcripts.events import Event

_PIECE = re.compile(r"#[0-9A-Fa-f]{3,8}\b|(?<![\w-])--?[A-Za-z][\w-]{1,40}|\d+(?:\.\d+)+|\d{2,}|[^\W\d]\w*")
_NAME = re.compile(r"#.*|-.*|\d.*|.*_.*|.*\d.*|[a-z]+[A-Z].*|[A-Z][a-z]+[A-Z].*|[A-Z]{3,}")
_LONGEST = 60


@lru_cache(maxsize=1024)
def names(text: str) -> frozenset[str]:
    """What nobody writes by chance: identifiers, options, colours, numbers that say something."""
    return frozenset(
        piece.lower().lstrip("-") for piece in _PIECE.findall(text) if len(piece) <= _LONGEST and _NAME.fullmatch(piece)
    )


class Use:
    """What was done after something was read, as sets to compare with; built from the last call to the first."""

    __slots__ = ("by_name", "names", "terms", "wanted")

    def __init__(self, wanted: str) -> None:
        self.wanted = key_terms(wanted)
        self.names: set[str] = set()
        self.terms: set[str] = set()
        self.by_name: dict[str, list[int]] = {}

    def add(self, at: int, text: str) -> None:
        """Take a call in that came before those already taken in."""
        found = names(text)
        self.names |= found
        self.terms |= key_terms(text)
        for name in found:
            self.by_name.setdefault(name, []).append(at)

    def users(self, shared: Iterable[str], most: int) -> tuple[int, ...]:
        """The first calls that hold any of these names."""
        return tuple(sorted({at for name in shared for at in self.by_name[name][-most:]})[:most])


LONGEST = 2_400
"""Characters of one passage; a longer one is cut at an empty line, or at a line."""
PASSAGES = 600
"""Passages of one document."""
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.{0,200}?)[ \t#]*\Z")
_FENCE = re.compile(r"[ \t]{0,12}(`{3,}|~{3,})(.*)")
_ITEM = re.compile(r"([ \t]{0,12})(?:[-*+•]|\d{1,3}[.)])[ \t]+\S")
_ROW = re.compile(r"[ \t]*\|.*\|[ \t]*\Z")


class Piece(NamedTuple):
    """One passage."""

    section: str
    """The headings above it, joined by ` > `."""
    text: str
    code: bool
    """It is code, perhaps with a line that announces it."""


def taken_apart(text: str) -> list[Piece]:
    """The passages of a Markdown document in order; plain text is one without headings."""
    found: list[Piece] = []
    headings: list[tuple[int, str]] = []
    for block in _blocks(text.replace("\r\n", "\n").split("\n")):
        heading = _HEADING.match(block[0]) if len(block) == 1 else None
        if heading:
            level = len(heading[1])
            headings = [*(one for one in headings if one[0] < level), (level, heading[2].strip(" *"))]
            continue
        section = " > ".join(title for _, title in headings[-2:])
        body = "\n".join(block).strip("\n")
        code = any(_FENCE.match(line) for line in block)
        before = found[-1] if found and found[-1].section == section else None
        if (
            before
            and not before.code
            and before.text.rstrip(" *").endswith(":")
            and len(before.text) + len(body) < LONGEST
        ):
            found[-1] = Piece(section, f"{before.text}\n{body}", code)
        else:
            found.extend(Piece(section, part, code) for part in _parts(body, code=code))
        if len(found) >= PASSAGES:
            break
    return found[:PASSAGES]


def _blocks(lines: list[str]) -> list[list[str]]:
    """Lines that belong together: fenced code, a table, one item of a list with what is below it, a paragraph."""
    blocks: list[list[str]] = []
    block: list[str] = []
    fence, kind = "", ""

    def close() -> None:
        if any(line.strip() for line in block):
            blocks.append(block.copy())
        block.clear()

    for line in lines:
        opening = _FENCE.match(line)
        if fence:
            block.append(line)
            if opening and opening[1].startswith(fence) and not opening[2].strip():
                fence = ""
            continue
        item = _ITEM.match(line)
        sort = "row" if _ROW.match(line) else "item" if item else "text"
        if opening:
            if kind != "item" or not line[:1].isspace():
                close()
            fence, kind = opening[1], kind if block else "code"
        elif _HEADING.match(line):
            close()
            blocks.append([line])
            kind = ""
            continue
        elif not line.strip():
            if kind != "item":
                close()
                kind = ""
            elif block and block[-1].strip():
                block.append(line)
            continue
        elif sort != kind and not (kind == "item" and line[:2].isspace()):
            close()
            kind = sort
        elif item and not item[1]:
            close()
        block.append(line)
    close()
    return blocks


def _parts(body: str, *, code: bool) -> list[str]:
    """A passage, or several when it is too long; code is fenced again in each."""
    if len(body) <= LONGEST:
        return [body]
    lines = body.split("\n")
    opening = lines[0] if code and _FENCE.match(lines[0]) else ""
    parts: list[list[str]] = [[]]
    size = 0
    for line in lines:
        if size + len(line) > LONGEST or (size > LONGEST // 2 and not line.strip()):
            parts.append([])
            size = 0
        parts[-1].append(line[:LONGEST])
        size += len(line) + 1
    if not opening:
        return ["\n".join(part) for part in parts if part]
    closing = "```" if "`" in opening else "~~~"
    texts = []
    for number, part in enumerate(parts):
        head = [] if number == 0 else [opening]
        tail = [] if number == len(parts) - 1 else [closing]
        texts.append("\n".join([*head, *part, *tail]))
    return texts


_CODE = {
    "py": "python", "sh": "bash", "bash": "bash", "js": "javascript", "mjs": "javascript", "ts": "typescript",
    "tsx": "tsx", "jsx": "jsx", "sql": "sql", "rb": "ruby", "go": "go", "rs": "rust", "java": "java", "kt": "kotlin",
    "c": "c", "cpp": "cpp", "h": "c", "cs": "csharp", "php": "php", "r": "r", "jl": "julia", "lua": "lua",
    "ps1": "powershell", "yaml": "yaml", "yml": "yaml", "toml": "toml", "tf": "hcl", "css": "css", "scss": "scss",
    "html": "html", "vue": "vue", "svelte": "svelte", "proto": "protobuf", "ini": "ini", "cfg": "ini", "diff": "diff",
    "patch": "diff", "swift": "swift", "scala": "scala", "pl": "perl", "dockerfile": "dockerfile", "makefile": "make",
}  # fmt: skip
_WHOLE = 60
"""Lines of a file that are shown as they are."""
_SIGNATURE = re.compile(
    r"\s{0,8}(?:@\w|(?:export |pub(?:\(\w+\))? |public |private |protected |static |async |abstract |final |default )*"
    r"(?:def|class|func|function|fn|interface|type|struct|enum|trait|impl|module|package|resource|CREATE|ALTER"
    r"|describe|it|test)\b)"
)
_DEPTH = 4
_KEYS = 24


def language_of(path: str) -> str:
    """What a file is written in, for the fence around it; empty for data and prose."""
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    return _CODE.get(name.rpartition(".")[2], "")


def outline(path: str, content: str) -> tuple[str, str]:
    """What to show of a file that was written, and its language."""
    language = language_of(path)
    if language:
        return content.strip("\n"), language
    end = path.rpartition(".")[2].lower()
    if end in ("json", "jsonl", "ipynb") and len(content) < 200_000:
        shape = _json_shape(content.split("\n", maxsplit=1)[0] if end == "jsonl" else content)
        return (shape, "json") if shape else ("", "")
    if end in ("csv", "tsv"):
        header = content.split("\n", maxsplit=1)[0]
        return (header[:500], "") if re.search(r"[A-Za-z]{2}", header) else ("", "")
    if end in ("md", "rst"):
        headings = [line for line in content.split("\n") if re.match(r"#{1,3} \S", line)]
        return "\n".join(headings[:20]), ""
    return "", ""


def signatures(text: str) -> str:
    """Of a long file what it defines; of one that defines nothing the beginning."""
    lines = text.split("\n")
    if len(lines) <= _WHOLE:
        return text
    told = [line for line in lines if _SIGNATURE.match(line)][:_WHOLE]
    return "\n".join(told if len(told) > 1 else [*lines[: _WHOLE // 4], "…"])


def _json_shape(content: str) -> str:
    import json

    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    return json.dumps(_shape(value, 0), indent=1, ensure_ascii=False) if isinstance(value, dict | list) else ""


def _shape(value: Any, depth: int) -> Any:
    """The keys of a value, with what sort of thing each holds."""
    if isinstance(value, dict):
        return (
            {str(key)[:60]: _shape(one, depth + 1) for key, one in list(value.items())[:_KEYS]}
            if depth < _DEPTH
            else "…"
        )
    if isinstance(value, list):
        return [_shape(value[0], depth + 1), "…"][: len(value)] if value and depth < _DEPTH else []
    if isinstance(value, bool) or value is None:
        return value
    return 0 if isinstance(value, int | float) else "…"


MOST = 400
"""Passages that are kept."""
SHORTEST = 12
_EVIDENCE = 5
_EXAMPLE = 3
"""Names in a piece of code from which on it is an example of something, and not a drawing or a sentence."""
_DOCUMENT = re.compile(
    r"(?i)(?:^|/)(?:readme|contributing|changelog|[^/]{1,80}\.(?:md|mdx|rst|adoc|html?)"
    r"|(?:docs?|references?|guides?|manuals?)/[^/]{1,80}\.txt"
    r"|[^/]{0,60}(?:guide|manual|instructions|howto|reference|spec|faq)[^/]{0,40}\.txt)\Z"
)
_READS = re.compile(
    r"\b(?:cat|head|tail|less|sed -n|bat)\b[^|;&\n]{0,200}?([\w./~-]{1,200}\.(?:md|mdx|rst|adoc|txt))\b"
)
_FETCHES = re.compile(r"\b(?:curl|wget)\b[^|;&\n]{0,200}?https?://([\w.-]{1,100})")
_DATA = re.compile(r"\s*[\[{<]")
_TEXT = 400
"""Characters from which on an answer of the web is a text."""
_DOCS_TOOL = re.compile(r"(?i)mcp__\w*(?:doc|context7|wiki|knowledge|reference)")
_RULE = re.compile(
    r"(?i)\b(?:must|always|never|do not|don't|should|shall|only|before|after|first|prefer|avoid|ensure|make sure"
    r"|required?"
    r"|important|critical|note|warning|default|instead|unless|recommended|rule|step|priority|order|range|use)\b"
)
_PREAMBLE = re.compile(r"\A\s*Base directory for this skill:[^\n]{0,400}\n+")
_ARGUMENTS = re.compile(r"\n+ARGUMENTS:[^\n]{0,2000}\s*\Z")
_ORIENTATION = re.compile(
    r"(?i)\b(?:related skills|see also|external references|further reading|changelog|license|keywords"
    r"|table of contents)\b"
)
_INTEGER = 0.35
"""What a whole number in common is worth beside a name: it may be chance."""
_KEEP = {"skill": 0.2, "document": 0.4, "web": 0.5, "help": 0.5}
"""The least weight of a passage that is kept; a skill was loaded because it was wanted."""


class Source(NamedTuple):
    """A text that teaches."""

    at: int
    kind: Literal["skill", "document", "web", "help"]
    name: str
    text: str


def knowledge_of(events: Sequence[Event], found: Sequence[Act], request: str) -> tuple[Passage, ...]:
    """The passages that were used, in the order they were read."""
    use = Use(request)
    before = list(found)
    passages: list[Passage] = []
    for source in reversed(list(_sources(events, found))):
        while before and before[-1].at > source.at:
            act = before.pop()
            use.add(act.at, act.words)
        pieces = [piece for piece in taken_apart(source.text) if len(piece.text) >= SHORTEST]
        some = [
            Passage(
                piece.text,
                source.kind,
                source.name,
                piece.section,
                (source.at, *use.users(shared, _EVIDENCE)),
                round(weight, 3),
            )
            for piece, weight, shared in _weighed(pieces, use)
            if weight >= _KEEP[source.kind]
        ]
        passages[:0] = some
    first = {" ".join(one.text.split()): one for one in reversed(passages)}
    once = [one for one in passages if first[" ".join(one.text.split())] is one]
    heaviest = sorted(range(len(once)), key=lambda at: (-once[at].weight, at))[:MOST]
    return tuple(once[at] for at in sorted(heaviest))


def _weighed(pieces: Sequence[Piece], use: Use) -> Iterator[tuple[Piece, float, frozenset[str]]]:
    """Each passage with its weight and the names by which it was used.

    A name in few passages tells more than one in all of them. A section in which something was used lends a little to
    the passages beside it: what explains an option stands next to it.
    """
    held = [names(piece.text) for piece in pieces]
    rarity = Counter(name for one in held for name in one)
    sections: Counter[str] = Counter()
    own: list[tuple[float, frozenset[str]]] = []
    for piece, one in zip(pieces, held, strict=True):
        shared = one & use.names
        told = sum((_INTEGER if name.isdigit() else 1.0) / (1.0 + log(rarity[name])) for name in shared)
        words = key_terms(piece.text)
        common = len(words & use.terms) / (len(words) + 3.0)
        asked = len(words & use.wanted) / (len(words) + 3.0)
        part = len(shared) / (len(one) + 1.0)
        weight = 0.5 * min(told, 6.0) * (0.35 + part) + 1.2 * common + 1.2 * asked
        if _RULE.search(piece.text):
            weight += 0.3
        weight += 0.08 * min(sum(name[0].isdigit() or name[0] == "#" for name in one), 5)  # values nobody can guess
        if _ORIENTATION.search(piece.section):
            weight *= 0.3
        if piece.code and len(one) > _EXAMPLE and len(shared) < 2 and part < 0.2:
            weight *= 0.6  # an example of something that was not done
        own.append((weight, shared))
        sections[piece.section] = max(sections[piece.section], int(100 * weight))
    for piece, (weight, shared) in zip(pieces, own, strict=True):
        yield piece, weight + 0.15 * sections[piece.section] / 100, shared


def _sources(events: Sequence[Event], found: Sequence[Act]) -> Iterator[Source]:
    notes = [
        Source(at, "skill", event.about.partition(":")[2], _ARGUMENTS.sub("", _PREAMBLE.sub("", plain(event.text))))
        for at, event in enumerate(events)
        if event.kind == "note" and event.about.startswith("skill:")
    ]
    read = [source for act in found if not act.failed and act.output.strip() and (source := _read(act))]
    yield from sorted((*notes, *read), key=lambda source: source.at)


def _read(act: Act) -> Source | None:
    path, command = act.text("path"), act.text("command")
    if act.tool == "Read" and _DOCUMENT.search(path.replace("\\", "/")):
        return Source(act.at, "document", _called(path), act.output)
    if act.tool == "Web" and act.text("url"):
        return Source(act.at, "web", act.text("url").partition("//")[2].partition("/")[0] or "the web", act.output)
    if act.tool in ("Skill", "skill_view") and len(act.output) > 400:
        return Source(act.at, "skill", act.text("skill") or act.text("name"), act.output)
    if _DOCS_TOOL.match(act.tool):
        return Source(act.at, "document", act.tool.rpartition("__")[2], act.output)
    if command and asks_manual(command):
        return Source(act.at, "help", command.split("|")[0].strip()[:60], act.output)
    if command and (shown := _READS.search(command)) and _DOCUMENT.search(shown[1]):
        return Source(act.at, "document", _called(shown[1]), act.output)
    if len(act.output) > _TEXT and (fetched := _FETCHES.search(command)) and not _DATA.match(act.output):
        return Source(act.at, "web", fetched[1], act.output)
    return None


def _called(path: str) -> str:
    """A document's name, with the skill it belongs to."""
    plain_path = path.replace("\\", "/")
    skill = re.search(r"/skills/([\w.-]{1,64})/", plain_path)
    name = plain_path.rpartition("/")[2]
    return f"{skill[1]}/{name}" if skill else name


INSIGHTS = 24
"""Passages that are kept."""
_SAME = 0.7
"""The share of words that two passages have in common which say the same."""
_TEXTS = 120
"""Messages that are read, the last ones."""
_SAID_LENGTH = 700
"""Characters of one passage."""
_LEAST = 0.75
"""The weight below which a sentence explains nothing."""
_ANSWER = 1.3
"""What a sentence of the last answer is worth beside the same one on the way."""
_SAID_EVIDENCE = 3
_SHORTEST = 5
"""Words of a sentence that can explain something."""
_OF_A_CASE = frozenset(("date", "email", "phone", "amount", "id", "name", "version"))
_REASON = re.compile(
    r"(?i)\b(?:because|since|so that|otherwise|instead|rather than|therefore|means?|root cause|prevents?|avoids?"
    r"|ensures?|requires?|must|never|always|only|default|note|important|key|unless|if|when|before|after|must not|cannot"
    r"|needs? to|should|by|using|via|reject\w*|allow\w*|increas\w*|decreas\w*|reduc\w*)\b"
)
_CHAT = re.compile(
    r"(?i)\A(?:let me|let's|i'll|i will|i'm going to|i am going to|time to)\b"
    r"|\b(?:the user|user wants|skills?|tool calls?|toolsearch|wait|hmm|the task|todo list|subagents?"
    r"|(?:has|have) been|successfully|is (?:now )?(?:complete|done|ready|resolved|healthy)|all done"
    r"|looks? (?:good|great|right|correct|fine)|looking (?:at|back)|think|thinking|let me|let's)\b"
)
"""How the session talks about itself."""
_OPENING = re.compile(r"(?i)\A(?:ok(?:ay)?|good|great|now|next|then|first|finally|so|and|also)[,.:!]?\s+")
_MYSELF = re.compile(r"\b(?:I|I'm|I'll|I've|I'd|my|we|We|we're|we've|our|me)\b")
_DOUBT = re.compile(
    r"(?i)\b(?:might|maybe|perhaps|probably|possibly|seems?|appears?|i guess|not sure|whether|figure out|could be"
    r"|would be|likely|potentially|actually|however)\b"
)
_NUMBER = re.compile(r"(?<![\w#])\d[\d.,:/]*\d|(?<![\w#.])\d(?=\s*%)")
_PERSON = re.compile(r"\b[A-Z][a-z]{1,20}(?: [A-Z]\.?)? [A-Z][a-z]{1,20}\b")
_BRACKETS = re.compile(r"\s*\([^()\n]{1,120}\)")
_MARKER = re.compile(r"\A(?:[*+•]|\d{1,3}[.)])[ \t]+")
_RULER = re.compile(r"[ \t|:-]{3,}\Z")
_MARK = re.compile(r"[✓✔✅❌☑]|\[x\]", re.IGNORECASE)


class Case(NamedTuple):
    """What tells a sentence about the single case from one about the work."""

    known: set[str]
    """Numbers that commands, scripts or the request hold."""
    done: str
    """All commands and scripts."""
    values: re.Pattern[str]
    """Values that belong to the case."""

    def tells(self, text: str) -> bool:
        """Does a text tell of the single case?"""
        if "[secret" in text or self.values.search(text) or _MARK.search(text):
            return True
        if any(_plain(number) not in self.known for number in _NUMBER.findall(text)):
            return True
        return any(person not in self.done for person in _PERSON.findall(text))


def insights_of(
    events: Sequence[Event], done: Sequence[Act], request: str, parameters: Iterable[Parameter]
) -> tuple[Passage, ...]:
    """The passages that explain the work, in the order in which they were said."""
    use, case = _work(done, request, parameters)
    if not use.names and not use.terms:
        return ()
    told = [(at, event) for at, event in enumerate(events) if _is_told(event)][-_TEXTS:]
    last = max((at for at, event in told if event.kind == "assistant"), default=-1)
    found: list[Passage] = []
    for at, event in told:
        for text, section in _explained(event.text, case):
            weight, shared = _weight(text, use)
            weight *= _ANSWER if at == last else 1.0
            if weight >= _LEAST and (shared or _REASON.search(text)):
                evidence = tuple(dict.fromkeys((at, *use.users(shared, _SAID_EVIDENCE))))
                found.append(Passage(text, "session", "the session", section, evidence, round(weight, 3)))
    kept: list[tuple[int, frozenset[str]]] = []
    for number in sorted(range(len(found)), key=lambda number: (-found[number].weight, -number)):
        words = key_terms(found[number].text)
        if len(kept) < INSIGHTS and not any(_alike(words, others) for _, others in kept):
            kept.append((number, words))
    return tuple(found[number] for number, _ in sorted(kept, key=lambda one: one[0]))


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= _SAME * min(len(one), len(other))


def _is_told(event: Event) -> bool:
    return event.kind == "assistant" or (event.kind == "note" and event.about == "thinking")


def _work(done: Sequence[Act], request: str, parameters: Iterable[Parameter]) -> tuple[Use, Case]:
    """Commands and scripts as things to compare with; data that was written is the case, not the work."""
    use = Use(request)
    texts = [request]
    for act in reversed(done):
        if act.tool == "Bash" or (act.tool in ("Write", "Edit") and language_of(act.text("path"))):
            use.add(act.at, act.words)
            texts.append(act.words)
    work = "\n".join(texts)
    forms = sorted(
        {form for one in parameters if one.sort in _OF_A_CASE for form in (one.example, *one.spellings) if form},
        key=len,
        reverse=True,
    )
    values = re.compile("|".join(rf"(?<!\w){re.escape(form)}(?!\w)" for form in forms) or r"(?!)")
    return use, Case({_plain(number) for number in re.findall(r"\d[\d.,:/]*\d|\d", work)}, work, values)


def _plain(number: str) -> str:
    return number.strip(".,:/").replace(",", "")


def _weight(text: str, use: Use) -> tuple[float, frozenset[str]]:
    """How much a text explains of the work, and the names by which one sees it."""
    held, words = names(text), key_terms(text)
    shared = held & use.names
    told = sum(0.35 if name.isdigit() else 1.0 for name in shared)
    common = len(words & use.terms) / (len(words) + 4.0)
    asked = len(words & use.wanted) / (len(words) + 4.0)
    weight = 0.3 * min(told, 5.0) + 0.8 * common + 0.5 * asked + 0.25 * bool(_REASON.search(text))
    return weight, shared


def _explained(message: str, case: Case) -> Iterator[tuple[str, str]]:
    """The parts of a message that may explain something, each with the heading above it."""
    for piece in taken_apart(message):
        if piece.code:
            continue
        lines = piece.text.split("\n")
        if all(_ROW.match(line) for line in lines):
            text = _rows(lines, case)
        elif len(lines) > 1 and lines[0].rstrip(" *").endswith(":"):
            text = _listed(lines, case)
        else:
            text = _prose(piece.text, case)
        if text and len(text) <= _SAID_LENGTH:
            yield text, "" if case.tells(piece.section) or len(piece.section) > 60 else piece.section


def _rows(lines: list[str], case: Case) -> str:
    """The rows of a table that are not about the case."""
    head = [line for line in lines[:2] if line is lines[0] or _RULER.match(line)]
    rows = [line for line in lines[len(head) :] if not case.tells(line)]
    return "\n".join([*head, *rows]) if rows and not case.tells(lines[0]) else ""


def _listed(lines: list[str], case: Case) -> str:
    """A list with the line that announces it, less the items that explain nothing."""
    kept = [_MARKER.sub("- ", line) for line in lines[1:] if line.strip() and _explains(line, case)]
    head = capital(bare(lines[0].strip()))
    announced = _explains(head, case) and not head.startswith("Here")
    return "\n".join([head, *kept] if announced and len(kept) > 1 else kept)


def _prose(text: str, case: Case) -> str:
    """The sentences of a paragraph or item that explain something."""
    kept: list[str] = []
    for _, sentence in pieces(text):
        if len(sentence.split()) < _SHORTEST or _CHAT.search(_OPENING.sub("", sentence)):
            continue
        plain = _BRACKETS.sub(lambda found: "" if case.tells(found[0]) else found[0], bare(sentence))
        if len(plain.split()) >= _SHORTEST and _explains(plain, case):
            kept.append(capital(plain))
    return " ".join(kept)


def _explains(text: str, case: Case) -> bool:
    """Is it neither talk, nor doubt, nor about the case?"""
    talk = _CHAT.search(text) or _MYSELF.search(text) or _DOUBT.search(text) or "?" in text or "…" in text
    return not talk and not text.endswith("...") and not case.tells(text)
