"""What the user wanted: the goal as one sentence, and what the result must be like."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.learning.facts.prose import capital, pieces, shorten, small_sentences, spoken

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from whet.learning.transcripts.events import Event

REQUEST = 8_000
"""Characters of a request that are read."""
GOAL = 240
_SAME = 120
"""Characters at the beginning by which a sentence is known as the goal."""
_REQUIREMENTS = 60
_CANDIDATES = 40
_ITEM = 14
"""Words of a list item that only completes the sentence above the list."""
_BLOCK = 1_500
"""Characters of a pattern in a request; a longer one is data."""

_GREETING = re.compile(r"(?i)\A(?:hi|hello|hey|dear \w+|good (?:morning|afternoon|evening))\b[^,.!\n]{0,30}[,.!]\s*")
_LEAD = re.compile(
    r"(?i)\A(?:(?:ok(?:ay)?|so|now|then|next|first|also|and|but|alright|great|thanks|thank you)\b[,.!]?\s+"
    r"|(?:task|goal|objective|instructions?|request)\s*[:-]\s+|@[\w./-]{1,200}[,:]?\s+)"
)
_ASK = re.compile(
    r"(?i)\A(?:please|kindly|(?:can|could|would|will) (?:you|we)(?: please)?(?: help me(?: to| with)?)?"
    r"|(?:i|we)(?:'d| would)? (?:want|need|like)(?: you)?(?: help)?(?: to| with)?(?: help(?: me| us)?(?: to)?)?"
    r"|i am trying to|i'm trying to|help me(?: to| with)?|let's|let us"
    r"|you (?:need|have|ought) to|you are (?:asked|tasked|required|supposed|expected|given the task) (?:to|with)"
    r"|(?:your|the|my|our) (?:main |overall )?(?:task|goal|job|objective|mission|assignment|aim) (?:here )?is(?: to)?"
    r"|(?:kannst|könntest|würdest) du(?: (?:mir|uns))?(?: (?:bitte|mal))*|bitte|(?:peux|pourrais)-tu|puedes|podrías"
    r"|you (?:will|should|must|shall)|how (?:do|can|would|should) (?:i|we|you)|how to)\s+(?!be\b|not\b)"
)
_CLAUSE = re.compile(r"(?i)\A(?:given|for|in|using|based on|from|with|after|before|when|if|as)\s[^,.;\n]{2,90},\s+")
_PREAMBLE = re.compile(r"\A(?:[^:.!?\n]|\.(?=\S)){3,160}:\s+")
"""What it is about, before what to do: `Ticket 12: mend the export`."""
_ADVERB = re.compile(r"\A[A-Za-z]{4,16}ly\s+(?=[a-z])")
_WEAK = frozenset("work use look make get give put set handle take provide".split())  # noqa: SIM905  words
POINTING = re.compile(r"(?i)\b(?:this|that|these|those|the following|the above|it|them)\b")
_ARTICLE = re.compile(r"(?i)\A(?:The|A|An|Why|My|Our|Some|When|After|Since)\b")
_WORD = re.compile(r"https?://\S+|[\w'-]+")
_POLITE = re.compile(
    r"(?i),?\s+(?:for|to|cc|by) [\w.+-]{1,60}@[\w-]{1,60}\.[\w.-]{1,60}(?<!\.)"
    r"|[,;]?\s+(?:thx|thanks|thank you|pls|plz|please"
    r"|cheers)\b[ .!]*(?=\Z)|[,;(]?\s+(?:(?:the|my) )?[\w ]{1,20}(?:is|=|:) ?\[secret[^\]]{0,40}\]\)?"
)
"""What of a wish is for somebody: thanks, an address, a key."""
_LOOK = re.compile(r"(?i)\A(?:look at|see|check(?: out)?|have a look at|read|open)\s+https?://\S+\Z")
"""Where to look, without what for."""
_UNSURE = re.compile(
    r"(?i)\b(?:i (?:think|guess|suspect|believe|assume|hope|wonder)|not sure|no idea|any idea|maybe|perhaps|probably"
    r"|might be|could be|seems? to)\b"
    r"|\A(?:it|this|that|they|(?:i|we)(?:'m|'re| am| are)?(?: \w+)? (?:on|using|running|use|have))\b"
)
"""A guess, what goes on from another sentence, and what somebody works with."""
_ROLE = re.compile(r"(?i)\A(?:you are|you're|act as|imagine|assume|this is|there (?:is|are)|here (?:is|are)|in this)\b")
_MUST = re.compile(
    r"(?i)\b(?:must|should|shall|only|exactly|never|always|do not|don't|cannot|at least|at most|no more than|ensure"
    r"|make sure|required?|needs? to|format|columns?|fields?|keys?|include|exclude|avoid|leave|keep|each|every|all|use"
    r"|without|instead|unless|prefer|follow|match|within|valid|sorted|unique|unchanged|empty|save|write|store|output)\b"
)
_REPORTS = re.compile(
    r"(?i)\A(?:it|this|that|they)\s+(?:\w+ly |still |only |always |never )?(?:fail|crash|break|hang|happen|says?\b|work"
    r"|doesn't|does not|did)"
)
"""How something behaves, as opposed to how it should."""
_PERSONAL = re.compile(r"(?i)\b(?:i am|i'm|i was|i have|i live|my|mine|his|her|he|she|i bought|i paid)\b")
_ASIDE = re.compile(
    r"(?i)(?P<before>\A|[.!?;,:(]\s*|\n\s*|\s[-–—]\s+|\s)(?:(?:and|oh|also),? )?"
    r"\b(?:by the way|btw|as an aside|on (?:an(?:other)?|a (?:side|different|related)) note|side note|incidentally"
    r"|unrelated(?:ly)?(?: to (?:this|that))?|off[- ]topic|fyi|for your information|fwiw|p\.?\s?s\.?|übrigens"
    r"|nebenbei(?: bemerkt)?|au fait|por cierto)(?:\s?[,:-]\s*|\s+)"
    r"(?P<said>(?:[^\n.!?;()]|[.!?](?=\w)){1,400})(?P<end>[.!?;]?)"
)
"""What somebody says beside a request, up to the end of the sentence."""
_RULE = re.compile(
    r"(?i)\A(?:always|never|don'?t|do not|make sure|please|only|no)\b"
    r"|\b(?:must|should|shall|has to|have to|needs? to)\b"
)
_BESIDE = re.compile(
    r"(?i)\s*\([^()]{0,300}\b(?:is|are|was|were|has|had|does|did|isn't|aren't|i|i'm|we|we're|they|it|it's|he|she)\b"
    r"[^()]{0,300}\)"
)
"""A clause in brackets: it says how things are, not what to do."""
_VERBS = frozenset(
    """
    add adjust analyse analyze annotate anonymise anonymize answer append apply archive assess attach audit automate
    back benchmark bootstrap bring build bump calculate calibrate cancel categorise categorize change chart check
    classify clean clone collect combine compare compile compress compute configure connect convert copy count create
    crop cut debug decrypt deduplicate define delete deploy describe design detect determine diagnose diff document
    download draft draw edit enable encode encrypt estimate evaluate examine execute explain export extract fetch
    figure fill filter find fix format generate get give group handle identify implement import improve index inspect
    install integrate investigate label launch lint list load log look mail make map measure mend merge migrate mock
    modify monitor move normalise normalize open optimise optimize order organise organize pack package parse patch
    perform pick plan plot port post predict prepare process produce profile propose prove provide prune publish pull
    push put query raise rank read rebase rebuild recommend reconcile reconstruct record recover redact reduce
    refactor release remove rename render reorganize repair replace reply report reproduce rerun reset resize resolve
    restore restructure retrieve review rewrite roll rotate run sanitize save scaffold scan schedule score scrape
    search secure send set set-up setup share ship simulate smooth solve sort split squash standardize stop store
    submit summarise summarize sync tag test tidy trace track train transcode transcribe transform translate triage
    trim tune turn unify unpack update upgrade upload use validate verify visualise visualize wire work write
    """.split()  # noqa: SIM905  a paragraph of words reads better than a list of two hundred strings
)


def request_of(events: Sequence[Event], work: Collection[int] = ()) -> tuple[int, str]:
    """The first message that asks for something, and its number; -1 when the user never said anything.

    `work` are the numbers of the calls that did something. A message that was answered without any, a joke or a
    question before the work begins, is not what the session was about, unless it was a request that was asked back.
    """
    every = [(at, event.text.strip()) for at, event in enumerate(events) if event.kind == "user" and event.text.strip()]
    begun = min(work, default=len(events))
    users = [(at, text) for at, text in every if at < begun] or every
    said = [(at, text) for at, text in users if len(re.findall(r"\w+", _GREETING.sub("", text))) >= 3]
    if not work:
        return _cut((said or users or [(-1, "")])[0])
    asking = [(at, text) for at, text in said if any(wishes(sentence) for sentence in spoken(text))]
    led = [(at, text) for at, text in asking if at == users[-1][0] or _asked_back(events, at)]
    return _cut((led or asking or said[-1:] or users or [(-1, "")])[0])


def _cut(request: tuple[int, str]) -> tuple[int, str]:
    return request[0], request[1][:REQUEST]


def wishes(sentence: str) -> bool:
    """Does a sentence ask for something to be done?"""
    plain, asked = imperative_of(sentence)
    return asked or starts_with_verb(plain)


def _asked_back(events: Sequence[Event], at: int) -> bool:
    """Was a message answered with a question?"""
    after = next((event for event in events[at + 1 :] if event.kind in ("assistant", "user", "call")), None)
    return after is None or after.kind != "assistant" or after.text.rstrip(" *_`").endswith("?")


def without_asides(request: str) -> str:
    """A request without what is said beside it: `by the way`, `unrelated`. What asks for something stays."""

    def said(found: re.Match[str]) -> str:
        if wishes(found["said"]) or _RULE.search(found["said"]):
            return f"{found['before']}{found['said']}{found['end']}"
        return found["before"] if found["before"].strip() in {"(", "."} else found["before"].strip(" ,;:-–—")

    if not _ASIDE.search(request):
        return request
    left = re.sub(r"[ \t]*\(\s*\)", "", _ASIDE.sub(said, request))
    return re.sub(r"(?<=\S)[ \t]{2,}", " ", left).strip()


def goal_of(request: str) -> str:
    """The request as one imperative sentence, as it was worded; empty when there is none."""
    best, sentence, number = -99.0, "", 0
    sentences = [one for text in spoken(request) for one in small_sentences(text)][:_CANDIDATES]
    for at, text in enumerate(sentences):
        plain, asked = imperative_of(text)
        words = _WORD.findall(plain)
        if not words:
            continue
        verb = words[0].lower() in _VERBS
        content = len(words) - len(POINTING.findall(plain))
        score = 3.0 * verb + 2.0 * (asked and not _ROLE.match(plain)) + 1.0 * (4 <= len(words) <= 45) - 0.25 * at
        score -= 3.0 * bool(_ROLE.match(plain)) + 0.5 * plain.endswith(":") + 1.5 * (not verb and not asked)
        score -= 2.5 * (content < 4) + 1.0 * (words[0].lower() in _WEAK)
        if score > best:
            best, sentence, number = score, plain, at
    head, _, rest = _BESIDE.sub("", sentence).partition("; ")
    sentence = (
        head if rest and not wishes(rest) and len(_WORD.findall(head)) > 3 else f"{head}; {rest}" if rest else head
    )
    goal = capital(_POLITE.sub("", sentence).rstrip(" :;,.!?"))
    topic = next((text for text in reversed(sentences[:number]) if _is_topic(text)), "")
    if topic and _LOOK.match(goal):
        goal = f"Look into {_ARTICLE.sub(lambda found: found[0].lower(), topic.rstrip(' .!?:'))}"
        topic = ""
    points = POINTING.search(goal) or len(_WORD.findall(goal)) < 4
    if topic and points and len(goal) < GOAL // 2:
        goal += f": {_ARTICLE.sub(lambda found: found[0].lower(), topic.rstrip(' .!?:'))}"
    return shorten(goal, GOAL) + "." if goal else ""


def _is_topic(sentence: str) -> bool:
    """Does it say what the matter is, and no guess?"""
    words = len(re.findall(r"\w+", sentence))
    talk = _ROLE.match(sentence) or _GREETING.match(sentence) or _UNSURE.search(sentence)
    return 4 <= words <= 45 and not talk and not sentence.endswith((":", "?"))


def imperative_of(sentence: str) -> tuple[str, bool]:
    """A sentence without what politeness and grammar put before the verb, and whether anything of that was there."""
    text = _GREETING.sub("", sentence.strip())
    asked = False
    for _ in range(4):
        before = text
        text = _LEAD.sub("", text)
        found = _ASK.match(text)
        if found:
            text, asked = text[found.end() :], not found[0].rstrip().endswith("with")
        elif (clause := _CLAUSE.match(text)) and (_ASK.match(rest := text[clause.end() :]) or starts_with_verb(rest)):
            text = rest
        if text == before:
            break
    if not asked and not starts_with_verb(text) and (preamble := _PREAMBLE.match(text)):
        rest = text[preamble.end() :]
        if _ASK.match(rest) or (starts_with_verb(rest) and len(rest.split()) > 3):
            return imperative_of(rest)
    return _ADVERB.sub("", text), asked


def starts_with_verb(text: str) -> bool:
    """Does it begin with a word that says what to do?"""
    found = re.match(r"[\w-]+", text)
    return bool(found) and found[0].lower() in _VERBS if found else False


def _small(kind: str, text: str) -> list[str]:
    return [text] if kind == "code" else small_sentences(text)


def requirements_of(request: str, goal: str) -> tuple[str, ...]:
    """The sentences and patterns of a request that say how things have to be done, without the story around them."""
    found: list[str] = []
    listing = False
    parts = ((kind, one) for kind, text in pieces(request) for one in _small(kind, text))
    for kind, said in parts:
        if kind == "code":
            found += [said] if len(said) <= _BLOCK else []
            listing = False
            continue
        text = _POLITE.sub("", said)
        plain = _LEAD.sub("", text)
        asked = _ASK.match(plain)
        plain = capital(plain[asked.end() :] if asked else plain)
        imperative = imperative_of(text)[0]
        if kind == "item" and listing and len(found[-1]) < _BLOCK and len(text.split()) < _ITEM:
            found[-1] += ("" if found[-1].endswith(":") else ";") + " " + text.rstrip(" .;")
            continue
        listing = False
        words = len(re.findall(r"\w+", plain))
        same = goal.startswith(capital(imperative).rstrip(" :;,.!?")[:_SAME])
        if same or not 3 <= words <= 120 or _ROLE.match(plain) or _REPORTS.match(plain) or "[secret" in plain:
            continue
        verb = starts_with_verb(imperative)
        if (verb or _MUST.search(plain) or kind == "item") and (verb or not _PERSONAL.search(plain)):
            found.append(plain)
            listing = plain.endswith(":")
    return tuple(dict.fromkeys(found))[:_REQUIREMENTS]
