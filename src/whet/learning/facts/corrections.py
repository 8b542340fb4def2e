"""What the user put right after the first request, and what they want kept to, as rules.

Each sentence of a message is judged by itself. A sentence that lays something down for good ("never", "always",
"remember to", "use X, not Y") is a rule wherever it stands. In a message that puts something right ("No, ..",
"Actually, ..", "You forgot ..") what it says to do is one as well, and so are the sentences beside a rule that say how
things have to be. A question, praise, a complaint without a remedy and the next thing to do are none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.learning.facts.goal import imperative_of, starts_with_verb
from whet.learning.facts.prose import capital, shorten, small_sentences, spoken
from whet.learning.signals import corrects

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.learning.facts.tool_calls import Act
    from whet.learning.transcripts.events import Event

MOST = 20
_MESSAGE = 4_000
"""Characters of a message that are read."""
_LONGEST = 300
"""Characters of a rule."""

_REJECTED = re.compile(
    r"(?:the user said|reason for the rejection|user (?:feedback|message))\s*:\s*(?P<why>.{3,600})",
    re.IGNORECASE | re.DOTALL,
)
_OBJECTS = re.compile(
    r"(?i)\A(?:(?:no(?:pe)?|nah|wrong|wait|stop|hold on|actually|hmm+|not quite|careful|one correction|oops|nein|halt"
    r"|moment|doch)\b\s*[,.;:!…—–-]|(?:actually|careful|rather)\s|(?:hmm+|oh|uh|um|ah|well)\b[ ,]+no\b"
    r"|(?:that|this|it)(?:'ll|'d| would| will) (?!be (?:great|good|nice|fine|ok|perfect|all)|work|help|do\b|make sense)"
    r"[a-z]{4,} )"
)
"""How a message begins that puts something right."""
_REMARK = re.compile(
    r"(?i)\A(?:no(?:pe)?|nah|nein|wrong|incorrect|wait|hold on|hmm+|stop|halt|moment|sorry|hey|oops|careful|well"
    r"|actually|rather|ok(?:ay)?|yes|yeah|right|great|good|nice|perfect|thanks|thank you|btw|by the way"
    r"|one correction|fyi|note"
    r"|that(?:'s| is| was) (?:not (?:right|what i \w+(?: for)?|correct|it)|wrong|incorrect)|not (?:like that|quite)"
    r"|that did(?:n't| not) work|still (?:failing|broken|wrong|not working)|try again|undo that|revert (?:that|it)"
    r"|(?:please )?remember|reminder|(?:hmm+|oh|uh|um|ah|well) no)"
    r"\s*(?:[,.;:!…—–-]+\s*|\Z)(?:(?:please|but|and|so)\s+)?"
)
_SIGNS = re.compile(r"\A[^\w\s`'\"(\[{<./@#$~*-]+\s*")
"""A thumb or a smile before the first word."""
_TAIL = re.compile(
    r"(?i),?\s+(?:from now on|ok(?:ay)?|please|pls|thx|thanks)\Z"
    r"|,\s+(?:and|then) (?:please )?(?:undo|revert|restore|roll back|put back)\b[^,;]{0,60}\Z"
)
"""What ends a sentence and is no part of the rule: that it is one, and what only had to be done this once."""
_APOSTROPHE = re.compile(r"(?i)\b(do|does|did|is|are|should|must|would|could|was|were|have|has)nt\b|\b(ca|wo)nt\b")
_OPENER = re.compile(r"(?i)\A(?:actually|rather|please|pls|bitte|just)\s+")
_REWORDED: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(rf"(?i)\A{pattern}"), words)
    for pattern, words in (
        (r"(?:(?:please |do )?remember to|(?:please )?be sure to|you were supposed to)\s+", ""),
        (r"(?:and |so )?from now on,?\s+(?:please )?(?=[a-z])", "From now on, "),
        (r"you (?:forgot|(?:still )?need|still have) to\s+", ""),
        (r"you (?:forgot|missed|left out)\s+(?:about\s+)?(?=[a-z`'\"])", "Do not forget "),
        (r"you (?:didn't|did not)\s+(?=(?:add|check|include|keep|mention|put|run|save|test|update|use)\b)", ""),
        (r"you should(?:n't| not) have (?:used|run|pushed|changed|touched|removed|deleted)\s+", "Leave alone: "),
        (r"you should(?:n't| not)\s+", "Do not "),
        (r"you (?:must|should|have to|ought to)\s+(?!not\b|be\b|have\b)", ""),
        (r"you (?:must not|mustn't|may not|can't|cannot)\s+", "Do not "),
        (r"i (?:don't|do not|didn't|did not) want you to\s+", "Do not "),
        (r"i (?:don't|do not|didn't|did not) want (?:to see )?(?:any\s+)?", "No "),
        (r"you used (?P<bad>[^,.;]{2,60}) instead of (?P<good>[^,.;]{2,60})", r"Use \g<good> instead of \g<bad>"),
        (r"(?:i (?:said|told you|asked you|want you)(?: to| that)?|as i said,?)[:,]?\s+", ""),
    )
)  # fmt: skip
"""What people say of a slip, and the rule that it means."""
_WANTS = re.compile(r"(?i)\Ai(?:'d| would)? (?:want|need|prefer|like)\s+(?!you\b|to\b)(?=[a-z])")
_LASTING = re.compile(
    r"(?i)\b(?:from now on|in (?:the )?future|next time|every time|each time|whenever|everywhere|only ever|at all times"
    r"|instead of|rather than|(?:only|even) (?:after|when|if|on|then)|before (?:you|each|every|any|\w+ing)"
    r"|after (?:each|every)|without (?:asking|\w+ing \w+ first))\b|, (?:and )?not \w"
)
"""What makes a sentence that says what to do one for good."""
_ORDER = re.compile(
    r"(?i)\A(?:(?:and|but|so|also|then)\s+)?(?:always|never|don't|do not|make sure|ensure|be sure|be careful|prefer"
    r"|avoid|stick to|no more|under no circumstances|keep in mind"
    r"|only (?!the|an?|one|this|that)[a-z]+ .{0,80}\b(?:when|if|after|once))\b"
)
"""A sentence that begins like this is a rule."""
_FOREIGN = re.compile(r"(?i)\b(?:immer|stets|niemals|nie|künftig|ab jetzt|toujours|jamais|siempre|nunca)\b")
_CLAUSE = re.compile(
    r"(?i)[,;:—–]\s*(?:(?:and|but|so|please)\s+)?(?:always|never|don't|do not|make sure|be sure)\s+(?!mind\b)"
)
"""A sentence that goes on like this is a rule as well."""
_CASE = re.compile(
    r"(?i)\A(?:if|when|whenever|unless|instead of|every time|each time|wherever|where)\b"
    r"(?! (?:you (?:have|want|can|like|get|are|need)|you're|possible|needed|that|this|it'?s?|not|everything|all)\b)"
    r"[^,.;\n]{3,90},\s+(?:then\s+)?"
)
"""When something is to be done, before what is to be done."""
_NORM = re.compile(
    r"(?i)\A(?!(?:i|it|this|that|there|he|she|they|you|what|which|who|something|somebody|someone|no need)\b)"
    r"(?:we (?:always|never|don't|do not|only|use|prefer|keep)\b|.{2,120}?\b(?:must(?:n't)?|should(?:n't)?"
    r"|ha(?:s|ve) to|needs? to|may not|only counts?|counts? only"
    r"|(?:is|are) (?:always|never|only|not allowed|forbidden|required)"
    r"|go(?:es)? (?:in|into|to|under|before|after|first)|belongs? |never|always))\b"
)
"""A sentence that says how things have to be."""
_WITH = re.compile(r"(?i)\A(?:use|go through|stick (?:to|with)|work with) \S")
"""A sentence beside a rule that says with what it is kept to."""
_STATES = re.compile(
    r"(?i)\A(?!(?:i|it|this|that|there|he|she|they|you|what|which|who|we)\b)\S.{1,120}?"
    r"\b(?:is|are|has|have|go(?:es)?|belongs?|comes?|stays?|counts?|starts?|ends?|holds?|means?|only)\b"
)
_NO_RULE = re.compile(
    r"(?i)\A(?:(?:do not|don't) (?:worry|bother|know|mind|care|think|see|get|panic|hesitate|understand|be sorry)"
    r"|no need|never mind|try (?:it |that )?again|make sure (?:that )?(?:it|this|that)\b"
    r"|(?:i|it|they|he|she|this|that) )"
    r"|(?<=\w )(?<!and )(?<!but )(?<!so )(?:always|never|don't|doesn't|do not|does not)"
    r"\s+(?:seem|fail|crash|break|work|pass|finish|stop|hang|happen"
    r"|show up|come up|appear|load|respond|return|match|exist)"
)
"""Sentences with the words of a rule that lay nothing down: comfort, and how something behaves."""
_TURN = re.compile(
    r"(?i)\A(?:(?:wait|ask|stop|retry|tell|quote)\b|(?!(?:the|an?|i|we|you|he|she|it|they|this|that|these|those|there|here|what|which|who|whose|how|why|when"
    r"|where|is|are|was|were|am|be|been|do|does|did|has|have|had|can|could|will|would|shall|should|may|might|must|if|as"
    r"|so|and|but|or|because|since|while|in|on|at|by|for|from|with|of|to|into|about|like|than|all|both|each|every|some"
    r"|most|many|few|several|one|two|three|none|nothing|nobody|everything|everyone|my|our|your|his|her|its|their|thanks"
    r"|thank|sorry|yes|no|not|still|also|just|only|even|same|again|almost|maybe|perhaps|right|wrong|back)\b)"
    r"[a-z][a-z-]{1,15} (?:the|an?|all|each|every|any|both|your|our|my|its|their|his|her|no|only|this|that|these|those"
    r"|it|me|us|them|by|with|to|in|on|at|from|into|for|as|up|out|off|back|down|before|after|until|everything"
    r"|nothing|`\S|\d))"
)
"""A word that is no other part of speech and is followed by its object: most likely it says what to do."""
_WANTED = "The user wants "


def corrections_of(events: Sequence[Event], first: int, found: Sequence[Act]) -> tuple[str, ...]:
    """The rules of a session, each once, in the order in which they were laid down."""
    texts = [(at, event.text, False) for at, event in enumerate(events) if event.kind == "user" and at > first]
    texts += [
        (act.at, match["why"], True) for act in found if act.failed and (match := _REJECTED.search(act.output[:4_000]))
    ]
    rules = (rule for _, text, objects in sorted(texts) for rule in rules_of(text, objects=objects))
    return tuple(dict.fromkeys(rules))[:MOST]


def rules_of(message: str, *, objects: bool = False) -> Iterator[str]:
    """The rules that a message lays down; `objects` where it is known to put something right."""
    said = sentences_of(message)
    objects = objects or corrects(message) or any(_OBJECTS.match(sentence) for sentence in said)
    plain = [(sentence, *_plain(sentence)) for sentence in said]
    laid = any(_is_rule(text, reworded) for _, text, reworded in plain)
    for sentence, text, reworded in plain:
        if len(re.findall(r"\w+", text)) < 3 or _NO_RULE.search(text) or _asks(sentence, text):
            continue
        wanted = text.startswith(_WANTED) or _says_what_to_do(text) or _STATES.match(text)
        beside = (objects and wanted) or (laid and (_NORM.match(text) or _WITH.match(text) or _added(sentence, text)))
        if beside or _is_rule(text, reworded):
            yield shorten(capital(text.rstrip(" .!?:;,")), _LONGEST) + "."


def sentences_of(message: str) -> list[str]:
    """The sentences of a message, also of one without capitals and apostrophes."""
    said = (one for sentence in spoken(message[:_MESSAGE]) for one in small_sentences(sentence))
    return [_APOSTROPHE.sub(lambda word: f"{word[0][:-2]}n't", one.strip().replace("’", "'")) for one in said]


def stripped(sentence: str) -> str:
    """A sentence without what leads up to what it says."""
    text = sentence
    for _ in range(3):
        text = _OPENER.sub("", _REMARK.sub("", _SIGNS.sub("", text)))
    return text


def _plain(sentence: str) -> tuple[str, bool]:
    """A sentence without what leads up to the rule, and whether it told of a slip."""
    text = stripped(sentence)
    while (end := _TAIL.search(text.rstrip(" .!"))) and end.start():
        text = text[: end.start()]
    for pattern, words in _REWORDED:
        if found := pattern.match(text):
            return found.expand(words) + text[found.end() :], True
    if found := _WANTS.match(text):
        return _WANTED + text[found.end() :], False
    if _case(text):
        return text, False
    plain, asked = imperative_of(text)
    return (plain if asked or not text.endswith(plain) or ": " not in text[: -len(plain)] else text), False


def _is_rule(text: str, reworded: bool) -> bool:
    """Does a sentence lay something down by itself?"""
    if reworded or _ORDER.match(text) or _CLAUSE.search(text) or _case(text) or _FOREIGN.search(text):
        return not _NO_RULE.search(text)
    return bool(_NORM.match(text) or (_LASTING.search(text) and _says_what_to_do(text)))


def _added(sentence: str, text: str) -> bool:
    """Does a sentence add to the rule before it how things are? `and amounts are in cents`"""
    return re.match(r"(?i)(?:and|also)\s", sentence) is not None and _STATES.match(text) is not None


def _case(text: str) -> bool:
    """Does it say what to do whenever something is so?"""
    found = _CASE.match(text)
    return found is not None and _says_what_to_do(text[found.end() :])


def _says_what_to_do(text: str) -> bool:
    return starts_with_verb(text) or _TURN.match(text) is not None or _ORDER.match(text) is not None


def _asks(sentence: str, text: str) -> bool:
    """Is it a question? `Can you use tabs instead of spaces?` is none."""
    return sentence.endswith("?") and not (text != sentence and _LASTING.search(text))
