"""What a distilled skill is called and how it is described, in the words of the one who asked.

Names are for a class of tasks: no values, no numbers, nothing of a single case. A description says what the skill does,
when to use it and which words a request would hold.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from whet.learning.facts.asking import POINTING, starts_with_verb
from whet.learning.facts.wording import capital, shorten
from whet.routing.words import chunks, is_common, words
from whet.skill.names import slug

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whet.learning.facts.model import Facts, Parameter
    from whet.learning.facts.parameters import Blanks

DESCRIPTION = 1_024
NAME = 48
"""Characters of a name that is made here; the format allows a few more."""
TRIGGERS = 14
_WORDS = 6
_ENOUGH = 4
"""Words after which a name may end where a clause does."""
_JOINTS = frozenset(
    "to and or based for from in into with so which that using on at by via of as where when".split()  # noqa: SIM905  words
)
_LIGHT = frozenset(
    """
    following given upcoming several different current existing provided certain specific internal called named new
    own please single item items today tomorrow yesterday keeps below above here based showing ever belong belongs
    located include includes including able correct correctly properly directly final finally via per etc task tasks
    goal step steps step1 example
    """.split()  # noqa: SIM905  a paragraph of words reads better than a list of forty strings
)
_RESERVED = frozenset(("anthropic", "claude"))
_BELOW = re.compile(
    r"(?i),?\s+(?:based on|using|from|in|with|as in|according to) the [\w ]{3,40}? (?:below|above)(?=[,.;]|\Z| and\b)"
)
_PLACE = re.compile(
    r"\s*(?:\(?\b(?:located |stored |found |saved |is )?(?:at|in|from|to|into|under|as|of|called|named"
    r"|titled)\s+)?[`'\"“(<]{0,2}\{([a-z0-9_]+)\}[`'\"”>)]{0,2}(?:::[\w:]{1,80})?"
)
_LEFT_OUT = frozenset(("file", "directory", "url", "name", "id", "word", "email", "phone"))
"""Sorts of values without which a goal says the same."""
_EMPTY_AND = re.compile(r"(?:,?\s+(?:and|or|,)\s*)+(?=[.,;]|\Z)|\s+(?=[,.;])")
_OURS = re.compile(r"\b(?:our|my)(?: own)?\b", re.IGNORECASE)
"""Whose it is; a skill is for everybody who has such a thing."""
_PRAISE = re.compile(
    r"(?i)\b(?:helps? (?:you |users? )?with|stuff|things|various|miscellaneous|and (?:much |many )?more|many tasks"
    r"|general tasks"
    r"|common tasks|powerful|comprehensive|seamless(?:ly)?|cutting[- ]edge|revolutionary|world[- ]class"
    r"|best[- ]in[- ]class"
    r"|state[- ]of[- ]the[- ]art|blazing(?:ly)?|effortless(?:ly)?|robust|amazing|ultimate|game[- ]chang\w+"
    r"|next[- ]gen(?:eration)?"
    r"|supercharge[ds]?|enterprise[- ]grade|battle[- ]tested|unparalleled|magical(?:ly)?|todo|fixme|tbd)\b\s*"
)
"""What fits any skill, or praises it; the linter objects to it, and rightly."""


def plain_goal(goal: str, blanks: Blanks, parameters: Sequence[Parameter]) -> str:
    """The goal without the values of this case: places are left out, other values named by what they are."""
    sorts = {one.name: one.sort for one in parameters}

    def said(found: re.Match[str]) -> str:
        sort = sorts.get(found[1], "")
        opens = not found.string[: found.start()].strip() or found.string[: found.start()].rstrip().endswith(":")
        if opens and not found[0].startswith(("(", " (")) and sort in ("file", "directory", "url", "id", "name"):
            return f" a given {found[1].rstrip('_0123456789') if sort in ('id', 'name') else sort}"
        lead = found[0].partition("{")[0].rstrip("`'\"“( ")
        if sort in _LEFT_OUT or (sort == "date" and not lead.strip()):
            return " " if sort in ("name", "word") else ""
        return f"{lead} a given {sort or 'value'}"

    text = _PLACE.sub(said, blanks(goal))
    text = re.sub(r"(?i)\b(\w+) a given \1\b", r"a given \1", text)
    text = re.sub(r"(?i)\b(release|tag|build|revision) a given version\b(?! of)", r"a given \1", text)
    text = _BELOW.sub("", _PRAISE.sub("", text))
    text = _OURS.sub("the", re.sub(r"[<>]", "", text).replace("`", ""))
    text = _EMPTY_AND.sub("", " ".join(_balanced(text).split()))
    return capital(text.strip(" ,;:.-")) + "." if text.strip(" ,;:.-") else ""


def _balanced(text: str) -> str:
    """Without a bracket that lost its other half."""
    return text if text.count("(") == text.count(")") else re.sub(r"[()]", "", text)


def name_of(goal: str) -> str:
    """A slug from the verb and what it is about; behind a colon stands what `it` means."""
    action, _, topic = goal.partition(": ")
    if topic and POINTING.search(action):
        goal = f"{action.partition(' ')[0]} {topic}"
    kept: list[str] = []
    for chunk in re.findall(r"[A-Za-z][\w'-]*|[,.;:]", goal):
        word = chunk.lower().replace("'", "")
        if (word in _JOINTS or chunk in ",.;:") and len(kept) >= _ENOUGH:
            break
        bare = not is_common(next(iter(words(word)), "the")) or (not kept and len(word) > 2)
        if bare and word not in _JOINTS | _LIGHT | _RESERVED and not re.search(r"\d", word) and chunk not in ",.;:":
            kept.append(word)
        if len(kept) >= _WORDS:
            break
    text = slug("-".join(kept)) if kept else "distilled-session"
    while len(text) > NAME and "-" in text:
        text = text.rpartition("-")[0]
    return text[:NAME].rstrip("-")


def triggers_of(facts: Facts, blanks: Blanks) -> tuple[str, ...]:
    """Words of the request that tell it from others, as the user spells them, the most telling first."""
    parts = [
        *[facts.goal] * 3,
        *(text for text in facts.requirements if not text.startswith("```")),
        facts.request[:1_500],
    ]
    text = re.sub(r"\{[a-z0-9_]+\}", " ", _PRAISE.sub(" ", blanks("\n".join(parts))))
    counts: Counter[str] = Counter()
    spelled: dict[str, str] = {}
    for chunk in chunks(text):
        key = (words(chunk) or [""])[-1]
        if _tells(chunk, key):
            counts[key] += 1
            spelled.setdefault(key, chunk)
    order = {key: at for at, key in enumerate(spelled)}
    ranked = sorted(counts, key=lambda key: (-min(counts[key], 6), order[key]))
    phrases = _phrases(re.sub(r"\{[a-z0-9_]+\}", ".", blanks(facts.goal)))
    held = " ".join(phrases).lower()
    single = [_spelled(spelled[key]) for key in ranked if spelled[key].lower() not in held]
    return (*phrases, *single)[:TRIGGERS]


def _phrases(goal: str) -> tuple[str, ...]:
    """Words of the goal that stand together: `parental leave request form`."""
    runs: list[list[str]] = [[]]
    for piece in re.findall(r"[\w'-]+|[^\w\s]", goal)[1:]:
        key = (words(piece) or [""])[-1]
        if _tells(piece, key) and piece.lower() not in _JOINTS:
            runs[-1].append(_spelled(piece))
        else:
            runs.append([])
    return tuple(dict.fromkeys(" ".join(run[:4]) for run in runs if len(run) > 1))[:4]


def _spelled(word: str) -> str:
    return word if word.isupper() or not word.istitle() else word.lower()


def _tells(chunk: str, key: str) -> bool:
    if not key or is_common(key) or len(chunk) < 3 or len(chunk) > 30 or chunk.lower() in _LIGHT:
        return False
    return not re.search(r"\d{2}|[<>]", chunk) and re.search(r"[^\W\d_]{3}", chunk) is not None


def extensions_of(parameters: Iterable[Parameter]) -> list[str]:
    """The kinds of files a session was about."""
    ends = (one.example.rpartition(".")[2].lower() for one in parameters if one.sort == "file" and "." in one.example)
    return list(dict.fromkeys(f".{end}" for end in ends if re.fullmatch(r"[a-z][a-z0-9]{0,5}", end)))[:4]


def description_of(goal: str, triggers: Sequence[str], extensions: Sequence[str]) -> str:
    """What the skill does, when to use it, and the words that call for it; never longer than the format allows."""
    what = goal or "Repeats a procedure that worked once."
    action = what.rstrip(".")
    action = action[:1].lower() + action[1:] if not action[:2].isupper() else action
    ask = "when the user asks to" if starts_with_verb(what) else "for this:"
    when = f" Use {ask} {shorten(action, 200)}"
    text = f"{shorten(what, 400)}{when}"
    quoted = [f'"{word}"' for word in dict.fromkeys(triggers)]
    files = f", or gives {' and '.join(extensions)} files for it" if extensions else ""
    while quoted and len(text) + len(files) + len(_mentions(quoted)) + 1 > DESCRIPTION:
        quoted.pop()
    text += _mentions(quoted) + files + "."
    return re.sub(r"[<>]", "", text)[:DESCRIPTION]


def _mentions(quoted: Sequence[str]) -> str:
    return f", or mentions {', '.join(quoted)}" if quoted else ""
