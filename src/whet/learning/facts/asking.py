"""What the user wanted: the goal as one sentence, and what the result must be like."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.learning.facts.wording import capital, pieces, shorten, spoken

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    r"|(?:task|goal|objective|instructions?|request)\s*[:-]\s+)"
)
_ASK = re.compile(
    r"(?i)\A(?:please|kindly|(?:can|could|would|will) (?:you|we)(?: please)?(?: help me(?: to| with)?)?"
    r"|(?:i|we)(?:'d| would)? (?:want|need|like)(?: you)?(?: help)?(?: to| with)?(?: help(?: me| us)?(?: to)?)?"
    r"|i am trying to|i'm trying to|help me(?: to| with)?|let's|let us"
    r"|you (?:need|have|ought) to|you are (?:asked|tasked|required|supposed|expected|given the task) (?:to|with)"
    r"|(?:your|the|my|our) (?:main |overall )?(?:task|goal|job|objective|mission|assignment|aim) (?:here )?is(?: to)?"
    r"|you (?:will|should|must|shall)|how (?:do|can|would|should) (?:i|we|you)|how to)\s+(?!be\b|not\b)"
)
_CLAUSE = re.compile(r"(?i)\A(?:given|for|in|using|based on|from|with|after|before|when|if|as)\s[^,.;\n]{2,90},\s+")
_PREAMBLE = re.compile(r"\A(?:[^:.!?\n]|\.(?=\S)){3,160}:\s+")
"""What it is about, before what to do: `Ticket 12: mend the export`."""
_ADVERB = re.compile(r"\A[A-Za-z]{4,16}ly\s+(?=[a-z])")
_WEAK = frozenset("work use look make get give put set handle take provide".split())  # noqa: SIM905  words
POINTING = re.compile(r"(?i)\b(?:this|that|these|those|the following|the above|it|them)\b")
_ARTICLE = re.compile(r"\A(?:The|A|An|Why|My|Our|Some|When|After|Since)\b")
_ROLE = re.compile(r"(?i)\A(?:you are|you're|act as|imagine|assume|this is|there (?:is|are)|here (?:is|are)|in this)\b")
_MUST = re.compile(
    r"(?i)\b(?:must|should|shall|only|exactly|never|always|do not|don't|cannot|at least|at most|no more than|ensure"
    r"|make sure|required?|needs? to|format|columns?|fields?|keys?|include|exclude|avoid|leave|keep|each|every|all|use"
    r"|without|instead|unless|prefer|follow|match|within|valid|sorted|unique|unchanged|empty|save|write|store|output)\b"
)
_PERSONAL = re.compile(r"(?i)\b(?:i am|i'm|i was|i have|i live|my|mine|his|her|he|she|i bought|i paid)\b")
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


def request_of(events: Sequence[Event]) -> tuple[int, str]:
    """The first message that asks for something, and its number; -1 when the user never said anything."""
    users = [(at, event.text.strip()) for at, event in enumerate(events) if event.kind == "user" and event.text.strip()]
    for at, text in users:
        if len(re.findall(r"\w+", _GREETING.sub("", text))) >= 3:
            return at, text[:REQUEST]
    return (users[0][0], users[0][1][:REQUEST]) if users else (-1, "")


def goal_of(request: str) -> str:
    """The request as one imperative sentence, as it was worded; empty when there is none."""
    best, sentence, number = -99.0, "", 0
    sentences = list(spoken(request))[:_CANDIDATES]
    for at, text in enumerate(sentences):
        plain, asked = imperative_of(text)
        words = re.findall(r"[\w'-]+", plain)
        if not words:
            continue
        verb = words[0].lower() in _VERBS
        content = len(words) - len(POINTING.findall(plain))
        score = 3.0 * verb + 2.0 * (asked and not _ROLE.match(plain)) + 1.0 * (4 <= len(words) <= 45) - 0.25 * at
        score -= 3.0 * bool(_ROLE.match(plain)) + 0.5 * plain.endswith(":") + 1.5 * (not verb and not asked)
        score -= 2.5 * (content < 4) + 1.0 * (words[0].lower() in _WEAK)
        if score > best:
            best, sentence, number = score, plain, at
    goal = capital(sentence.rstrip(" :;,.!?"))
    topic = next((text for text in reversed(sentences[:number]) if _is_topic(text)), "")
    if topic and POINTING.search(goal) and len(goal) < GOAL // 2:
        goal += f": {_ARTICLE.sub(lambda found: found[0].lower(), topic.rstrip(' .!?:'))}"
    return shorten(goal, GOAL) + "." if goal else ""


def _is_topic(sentence: str) -> bool:
    """Does it say what the matter is?"""
    words = len(re.findall(r"\w+", sentence))
    return (
        4 <= words <= 45 and not _ROLE.match(sentence) and not _GREETING.match(sentence) and not sentence.endswith(":")
    )


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


def requirements_of(request: str, goal: str) -> tuple[str, ...]:
    """The sentences and patterns of a request that say how things have to be done, without the story around them."""
    found: list[str] = []
    listing = False
    for kind, text in pieces(request):
        if kind == "code":
            found += [text] if len(text) <= _BLOCK else []
            listing = False
            continue
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
        if same or not 3 <= words <= 120 or _ROLE.match(plain):
            continue
        verb = starts_with_verb(imperative)
        if (verb or _MUST.search(plain) or kind == "item") and (verb or not _PERSONAL.search(plain)):
            found.append(plain)
            listing = plain.endswith(":")
    return tuple(dict.fromkeys(found))[:_REQUIREMENTS]
