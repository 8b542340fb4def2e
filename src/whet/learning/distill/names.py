"""What a distilled skill is called and how it is described, in the words of the one who asked.

Names are for a class of tasks: no values, no numbers, nothing of a single case. A description says what the skill does,
when to use it and which words a request would hold.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from whet.learning.distill.permissions import programs_of
from whet.learning.facts.goal import POINTING, without_asides
from whet.learning.facts.prose import capital, shorten, spoken
from whet.skill.names import slug
from whet.skill.terms import chunks, is_common, terms

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Sequence

    from whet.learning.facts.model import Facts, Parameter
    from whet.learning.facts.parameters import Blanks

DESCRIPTION = 1_024
NAME = 48
"""Characters of a name that is made here; the format allows a few more."""
TRIGGERS = 14
"""As many as there may be."""
_PROPOSED = 6
"""As many as are proposed."""
_PHRASES = 3
_STEM = 5
"""Letters by which two words are of one family."""
_WORDS = 6
_FEW = 2
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
    goal step steps step1 example described
    """.split()  # noqa: SIM905  a paragraph of words reads better than a list of forty strings
)
_SOURCE = frozenset("py js ts tsx jsx mjs java kt go rs rb php c cc cpp h hpp cs swift scala sh bash ps1 md".split())  # noqa: SIM905  names
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
_EMPTY_AND = re.compile(
    r"(?:,?\s+(?:and|or|,|(?:for|in|to|from|on|at|of|with|by|into|as)(?=\s*(?:[,;:]|\.?\Z)))\s*)+(?=[,;:]|\.?\Z)"
    r"|\s+(?=[,;:]|\.(?:\s|\Z))"
)
"""A joint that lost what it joined."""
_MASKED = re.compile(r"[,;:.]?[^,;:.\[\]]{0,80}\[secret[^\]\n]{0,40}\][^,;:.\[\]]{0,80}")
"""A clause around the mask of a secret: it is about this case, and nobody may ask for it."""
_UNSURE = re.compile(
    r"(?i)\b(?:i (?:think|guess|suppose|believe|assume|suspect)|not (?:quite |so )?sure|no idea|maybe|perhaps|probably"
    r"|possibly|might be|could be|i don'?t know|dunno|apparently)\b"
    r"|\A(?:we|i)(?:'re|'m| are| am| use) (?:still )?(?:on|using|running)\b"
)
_POLITE = re.compile(
    r"(?i)\A(?:@\S{1,200}\s+|(?:(?:kannst|könntest|koenntest|würdest) du|(?:können|könnten|würden) sie"
    r"|(?:peux|pourrais)-tu|(?:pouvez|pourriez)-vous|(?:puedes|podrías|puede|puoi|potresti|podes|kun je|kunt u)\b"
    r"|bitte\b|s'il (?:te|vous) pla[iî]t|por favor|per favore|mal\b|pls\b|plz\b),?\s+)+"
)
"""What stands before a request: a file that is pointed to, and how other languages ask."""
_ROUTINE = re.compile(
    r"(?i),?\s+(?:and|then)(?: then)? (?:make|run|check|see|verify|ensure|confirm)(?: sure)?(?: that)?"
    r"(?: (?:all|the|our|its|unit|existing))* (?:it|everything|tests?|test suite|suite)"
    r"(?: (?:still )?(?:pass(?:es)?|works?|succeeds?|(?:is|are) green))?(?=\.?\Z)"
)
"""What every job ends with."""
_THING = re.compile(
    r"(?i)\b(?:the|our|my|an?) [`'\"]?\{(?P<name>[a-z0-9_]+)\}[`'\"]? (?P<after>[a-z]+)\b"
    r"|\b(?P<noun>[a-z]+) [`'\"]?\{(?P<own>[a-z0-9_]+)\}[`'\"]?"
)
_ARTICLE = re.compile(r"(?i)\b(?:the|an?|our|my|this|each|every) (?:[\w-]+ ){0,2}\Z")
_WHICH = re.compile(r"(?i)\b(?:the |an? )?given (?:version|date|id|amount) of (?=\w)")
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

    text = _PLACE.sub(said, _things(blanks(_certain(goal)), {name for name, sort in sorts.items() if sort == "word"}))
    text = re.sub(r"(?i)\b(\w+) a given \1\b", r"a given \1", text)
    text = re.sub(r"(?i)\b(release|tag|build|revision) a given version\b(?! of)", r"a given \1", text)
    text = _BELOW.sub("", _WHICH.sub("", _PRAISE.sub("", text)))
    text = _OURS.sub("the", re.sub(r"[<>]", "", text).replace("`", ""))
    text = _EMPTY_AND.sub("", " ".join(_balanced(text).split()))
    text = re.sub(r"(?i)\b(?:the|this|that) (a given \w)", r"\1", text)
    shorter = _ROUTINE.sub("", text)
    text = (shorter if len(shorter.split()) > _FEW else text).strip(" ,;:.-")
    return capital(text) + "." if text else ""


def _things(text: str, names: Container[str]) -> str:
    """With the kind where the goal names a thing: `the {table} table` is `a table`."""
    seen: set[str] = set()

    def kind(found: re.Match[str]) -> str:
        noun, name = found["after"] or found["noun"], found["name"] or found["own"]
        if name not in names or not re.sub(r"_\d+\Z", "", name).endswith(noun.lower()):
            return found[0]
        if found["own"] and _ARTICLE.search(text[: found.start()]):
            return found["noun"]
        article = "another" if noun in seen else "a" if found["after"] else "a given"
        seen.add(noun)
        return f"{article} {noun}"

    return _THING.sub(kind, text)


def _certain(goal: str) -> str:
    """The goal without guesses, chatter, secrets and what only politeness puts before it."""
    text = _MASKED.sub("", goal)
    parts = re.split(r"(?<=[.:;])\s+|\s+[-–—]\s+", _POLITE.sub("", text.strip()))
    sure = [part for part in parts if not _UNSURE.search(part)]
    text = " ".join(sure or parts)
    return " ".join(word for word in text.split() if not is_chatter(word.strip(".,;:!?")) or word[:1].isupper())


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
        bare = not is_common(next(iter(terms(word)), "the")) or (not kept and len(word) > 2)
        if is_foreign(word) or is_chatter(word):
            continue
        if bare and word not in _JOINTS | _LIGHT | _RESERVED and not re.search(r"\d", word) and chunk not in ",.;:":
            kept.append(word)
        if len(kept) >= _WORDS:
            break
    text = slug("-".join(kept)) if kept else "distilled-session"
    while len(text) > NAME and "-" in text:
        text = text.rpartition("-")[0]
    return text[:NAME].rstrip("-")


def triggers_of(facts: Facts, goal: str) -> tuple[str, ...]:
    """The words that tell this job from others, the most telling first.

    They are phrases of the goal, then what the user named and a step worked on or with, then rare words of the goal.
    """
    done = [text for step in facts.steps for text in (step.tool, step.title, step.action[:2_000], step.criterion)]
    acted = {term for chunk in chunks(" ".join(done)) for term in terms(chunk)}
    values = {term for one in facts.parameters for term in terms(f"{one.example} {' '.join(one.spellings)}")}
    phrases = _phrases(goal)
    held = {term for phrase in phrases for term in terms(phrase)}
    named = [one for one in chunks(goal) if is_rare(one)]
    said = chunks(_MASKED.sub("", " ".join(spoken(without_asides(facts.request[:1_500])))))
    told = [one for one in (*named, *said) if is_rare(one) and not set(terms(one)) & values and _acted(one, acted)]
    used = [name for name in programs_of(facts.steps) if is_rare(name)]
    rest = dict.fromkeys(_spelled(one) for one in (*told, *used, *named) if not set(terms(one)) <= held)
    return (*phrases, *_apart(rest))[:_PROPOSED]


def _acted(chunk: str, acted: Collection[str]) -> bool:
    """Did a step have to do with it? `deploy` is in `deployment`."""
    keys = terms(chunk)
    long = [key for key in keys if len(key) >= _STEM]
    return any(key in acted for key in keys) or any(
        one.startswith(key) or (key.startswith(one) and len(one) >= _STEM) for key in long for one in acted
    )


def _apart(found: Iterable[str]) -> list[str]:
    """Without those that are the same but for an ending or a capital."""
    kept: dict[str, str] = {}
    for one in found:
        kept.setdefault((terms(one) or [one])[-1], one)
    return list(kept.values())


def _phrases(goal: str) -> tuple[str, ...]:
    """Words of the goal that stand together, one of them rare: `parental leave request`."""
    runs: list[list[str]] = [[]]
    for piece in re.findall(r"[\w'-]+|[^\w\s]", goal)[1:]:
        if tells(piece) and piece.lower() not in _JOINTS | _LIGHT:
            runs[-1].append(piece)
        else:
            runs.append([])
    told = (run[:3] for run in runs if len(run) > 1 and any(is_rare(word) for word in run[:3]))
    return tuple(dict.fromkeys(" ".join(map(_spelled, run)) for run in told))[:_PHRASES]


def _spelled(word: str) -> str:
    return word if word.isupper() or not word.istitle() else word.lower()


def extensions_of(parameters: Iterable[Parameter]) -> list[str]:
    """The kinds of files that were handed over; code is not, it is there."""
    ends = (one.example.rpartition(".")[2].lower() for one in parameters if one.sort == "file" and "." in one.example)
    return list(
        dict.fromkeys(f".{end}" for end in ends if re.fullmatch(r"[a-z][a-z0-9]{0,5}", end) and end not in _SOURCE)
    )[:4]


def description_of(goal: str, triggers: Sequence[str], extensions: Sequence[str]) -> str:
    """What the skill does, when to use it, and the words that call for it; never longer than the format allows."""
    what = shorten((goal or "Repeats a procedure that worked once").rstrip(" .") + ".", 400)
    text = f"{what} Use when the user asks for this"
    quoted = [f'"{word}"' for word in dict.fromkeys(triggers)]
    files = f", or comes with {' or '.join(extensions)}" if extensions else ""
    while quoted and len(text) + len(files) + len(_mentions(quoted)) + 1 > DESCRIPTION:
        quoted.pop()
    text += _mentions(quoted) + files + "."
    return re.sub(r"[<>]", "", text)[:DESCRIPTION]


def _mentions(quoted: Sequence[str]) -> str:
    return f", or mentions {', '.join(quoted)}" if quoted else ""


_FOREIGN = frozenset(
    """
    und oder aber der die das den dem des ein eine einen einem einer eines ich du er sie wir ihr mich dich mir dir uns
    ist sind habe hast hat haben kann kannst koennen können könntest könnten könnt bitte mit für von vom zu zum zur auf
    aus bei nach über unter im am als wie wenn dass weil nicht kein keine noch nur auch dann dort hier diese diesen
    dieser dieses alle alles soll sollte sollen muss möchte wird werden danke hallo mal
    le la les un une des du de et ou mais dans sur sous avec pour par sans ce cette ces est sont je tu il elle nous vous
    ils mon ma mes ton ta tes qui que quoi dont ne pas plus peux peut pouvez pourrais pourriez merci bonjour svp
    el los las una unos y pero en con por para sin este esta estos estas es son yo tú usted nosotros mi mis su sus
    quien no puedes puede podrías gracias hola favor
    lo gli dei della delle nel nella sul con per tra fra che chi non puoi può potresti grazie ciao questo questa
    os um uma uns umas ao à não voce você pode podes obrigado olá isto isso
    het een en van voor met op te dat niet wel kun kunt graag alsjeblieft dank
    """.split()  # noqa: SIM905  a paragraph of words reads better than a list of two hundred strings
)
"""The small words of German, French, Spanish, Italian, Portuguese and Dutch."""
_CHATTER = frozenset(
    "thx ty pls plz lol haha btw fyi asap cheers guys folks buddy mate dude hmm huh ugh yep nope".split()  # noqa: SIM905  words
)
"""What people say around a request."""
_NOISE = frozenset(
    """
    sorry hope mess careful careless luck cool awesome perfect weird strange annoying stuck idea ideas guess suppose
    believe wonder morning afternoon evening tonight weekend monday tuesday wednesday thursday friday saturday sunday
    week month year boss colleague everywhere somehow anyway actually basically simply quickly easily carefully finally
    later soon described secret password passwd token credential credentials traceback exception recent call error
    errors fails failed failure failing broken crash crashed
    """.split()  # noqa: SIM905  a paragraph of words reads better than a list of sixty strings
)
"""What tells of a mood, a day, a secret or a failure, and not of a job."""
_GENERIC = frozenset(
    """
    add adjust against amount apply ask back blame bring build bump call cargo cause change check clean clear close
    code command commit config configuration content copy create csv curl cut data database date day days default
    delete description detail details directory docker docs document done download edit end entries entry example
    export fetch field fields figure file files fill find fix folder format function generate get git give goes
    group handle home host html id image images implement import improve include info input install internal issue
    item job json keep key keys language leave level library line lines link list load local log logs look machine
    main major make manage md mean message method minor mode model month move name names new newest node npm npx
    number numbers object open option options order output package page pages part pass path paths pip place plan
    pnpm point prepare problem process program project provide pull push put pytest python query question quick read
    readme record related release remove rename repo report repository request result results review roll row rows
    run save scp screen script section see send server service set setup show size sort sorted source ssh start
    state status step stop store string structure system table tables tag tar task team template test tests text
    things ticket time title tool tools turn txt type types update upload url use user users uv value values version
    versions view way web wget work works write xml yaml yarn zip
    """.split()  # noqa: SIM905  a paragraph of words reads better than a list of two hundred strings
)
"""What stands in the requests for many jobs."""
_SHAPE = re.compile(r"(?=.*[^\W\d_]{3})[^\W_][^\s<>.@/\\_:]{1,28}")


def tells(chunk: str) -> bool:
    """Is it a word of a job at all? It may stand in a phrase."""
    plain = chunk.lower().replace("’", "'")
    key = (terms(chunk) or [""])[-1]
    if not key or is_common(key) or {plain, plain.removesuffix("s")} & (_FOREIGN | _CHATTER | _NOISE):
        return False
    return _SHAPE.fullmatch(chunk) is not None and not re.search(r"\d{2}", chunk) and len(chunk) > 2


def is_rare(chunk: str) -> bool:
    """Does it tell a job from others by itself?"""
    return tells(chunk) and not _terms(chunk) <= _generic()


def is_foreign(word: str) -> bool:
    """Is it a small word of another language than English?"""
    return word.lower() in _FOREIGN


def is_chatter(word: str) -> bool:
    """Is it said beside any job?"""
    return word.lower() in _CHATTER


def _terms(chunk: str) -> set[str]:
    return set(terms(chunk)) or {""}


@lru_cache(maxsize=1)
def _generic() -> frozenset[str]:
    return frozenset(term for word in _GENERIC for term in terms(word))
