"""What was done and did not stay: what the user objected to, and what the session took back by itself.

Whatever the user forbade right after it was done is no step, no remedy and no tool of the skill, however well the
command ended. Which call is meant is decided by order and words: among the calls since the user spoke last, those that
the objection names; where it names none but says what to do instead, the last one. A change and its reversal are as
good as nothing.
"""

from __future__ import annotations

import re
from bisect import bisect
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from whet.learning.facts.corrections import sentences_of, stripped
from whet.learning.facts.criteria import BUILDING, TESTING
from whet.learning.facts.prose import capital, shorten
from whet.learning.facts.shell import main_program, only_looks, shape
from whet.learning.facts.tool_calls import parts, reversed_by, without_parts
from whet.skill.terms import key_terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.learning.facts.tool_calls import Act
    from whet.learning.transcripts.events import Event

_WORDS = 4_000
"""Characters of a call in which an objection's words are looked for."""
_SAID = 200
FILES = ("Write", "Edit", "MultiEdit", "NotebookEdit")
_QUIET = frozenset(("Read", "Search", "Web", "LS", "Glob", "Grep", "Task"))
_FORBIDS = re.compile(
    r"(?i)(?:\A|[,;:—–]\s*|\b(?:and|but|so|please)\s+)"
    r"(?:(?:you|we) )?(?:don't|do not|never|stop|avoid|quit|no more|leave\b(?=.{1,60}\balone)"
    r"|should(?:n't| not)(?: have)?|must(?:n't| not)|may not|can(?:'t|not))\s+(?P<what>\S.*)"
    r"|\A(?:i|we) (?:didn't|did not|don't|do not) (?:ask|want)\b(?P<unasked>.*)"
)
_HARMS = re.compile(
    r"(?i)\A(?:that|this|it|which)(?:'ll|'d| would| will| could| might| can)?(?: (?:just|also|only|even|simply))? "
    r"(?P<harm>(?:overwrit|delet|destroy|remov|break|los[et]|wip|drop|kill|leak|expos|replac|reset|corrupt|truncat|clobber"
    r"|erase|disabl|weaken|bypass|skip|hid|mask|publish|push|affect|chang|touch|restart|lock|block|ruin)\w*.*)"
)
"""What a call does that nobody wanted: `That would overwrite the crontab`."""
_NOT_THAT = re.compile(
    r"(?i)(?:\binstead of|\brather than|, (?:and )?not(?= \S))\s+(?P<bad>[^,.;:]{2,80})|\b(?P<hand>not by hand)\b"
)
_GOES_ON = re.compile(r"(?i)\s*(?:[;:—–]|,\s*(?:but|use|please|rather|instead|and use|just)\b|\binstead\b).*")
_ON_TERMS = re.compile(
    r"(?i)\b(?:without|until|unless|before|yet|again|forget|hesitate|worry|bother"
    r"|mind|care|know|think|see|understand|panic|more than|too (?:many|much))\b"
)
"""What is forbidden only so far: it may be done, in its time."""
_UNDO = re.compile(
    r"(?i)\b(?:undo|reverts?|roll(?:ed|ing)? (?:it |that |this )?back|rollback|restore|change it back"
    r"|(?:take|put) (?:it|that|this|them|everything|the \w+) back)\b"
)
_UNDO_THAT = re.compile(
    r"(?i)\A(?:(?:no|nope|wait|stop|please|ok|oh)\b[,.!]*\s+)*(?:undo|revert|roll back|take back|put back)\s+"
    r"(?:that|this|it|them|the last|your|everything|the changes?)\b"
)
_OTHERWISE = re.compile(r"(?i)\b(?:instead|use|rather|goes? through|go through|only (?:through|via|by))\b")
_OPENS = re.compile(
    r"(?i)\A(?:no(?:pe)?|nah|nein|wrong|wait|stop|hold on|halt|oh no|careful|hmm+,? no|don't|do not|never|please don't"
    r"|please do not|undo|revert|roll)\b(?! (?:problem|worries|need|rush|questions?|idea|doubt)\b)"
)
_ACTS_ON = re.compile(
    r"(?i)\A(?:just |ever |simply )?(?:touch|edit|chang|modif|alter|writ|creat|add|weaken|loosen|disabl|overwrit"
    r"|delet|remov|commit|put|turn|mess|patch|set|hard-?cod)\w*\b"
)
"""What one does to a file, as opposed to how its text reads."""
_MAY_UNDO = re.compile(r"\b(?:checkout|restore|reset|undo|rollback|revert)\b")
_BETTER = re.compile(r"(?i)\b(?:use|try|take|go with|switch to)\s+(?P<good>[^,.;]{2,80})")
_JOINT = re.compile(r"(?i)\A(?:and|but|so|also)\s+")
_ALSO = {
    "rm": "delete remove erase", "mv": "move rename", "cp": "copy", "crontab": "cron", "kubectl": "cluster kubernetes",
    "psql": "database", "mysql": "database", "sed": "replace", "chmod": "permission", "curl": "request", "tee": "write",
}  # fmt: skip
"""What people call what a program does or works on."""


class Settled(NamedTuple):
    """The calls of a session after everything that was taken back is gone."""

    acts: list[Act]
    """What failed is among them: it was never more than an attempt."""
    objections: tuple[tuple[Act, str], ...]
    """Calls that the user objected to, with what was said."""
    dropped: frozenset[int]
    """Numbers of all calls that are gone."""


def settled(events: Sequence[Event], first: int, request: str, done: Sequence[Act]) -> Settled:
    """The calls that stay. `first` is the number of the request; everything the user said after it may object."""
    objections = dict(_objections(events, first, done))
    changed = {act.at: act for act in done}
    gone = set(objections) | {repair for _, repair in objections.values()}
    if not _UNDO.search(request):
        for at, undone, left in _taken_back(done):
            gone |= undone
            changed[at] = without_parts(changed[at], left)
            gone |= set() if left else {at}
    gone |= _undone_edits(done)
    acts = [changed[act.at] for act in done if act.failed or act.at not in gone]
    said = tuple((act, objections[act.at][0]) for act in done if act.at in objections)
    return Settled(acts, said, frozenset(gone))


def _objections(events: Sequence[Event], first: int, done: Sequence[Act]) -> Iterator[tuple[int, tuple[str, int]]]:
    """The calls that were objected to, each with what was said and the call that repaired it, or -1."""
    users = [at for at, event in enumerate(events) if event.kind == "user" and at > first]
    doing = [act for act in done if _does(act)] if users else []
    places = [act.at for act in doing]
    turns = [first, *users, len(events)]
    for at, until in pairwise(turns[1:]):
        upto = bisect(places, at)
        if not upto:
            continue
        spoken = bisect(turns, places[upto - 1])
        since = turns[spoken - 1] if spoken else -1
        answer = doing[upto : bisect(places, until)]
        meant, said = _meant(events[at].text, doing[bisect(places, since) : upto], answer)
        for act in meant:
            if not _goes_on(act, done):
                repair = _repair(events[at].text, act, answer)
                yield act.at, (shorten(capital(_JOINT.sub("", said).rstrip(" .!")), _SAID), repair)


def _does(act: Act) -> bool:
    """Did a call change something? Tests and builds only look."""
    if act.tool != "Bash":
        return act.tool not in _QUIET
    command = act.text("command")
    checks = TESTING.search(command) or BUILDING.search(command)
    return not only_looks(command) and not (checks and len(shape(command)) == 1)


def _meant(message: str, before: Sequence[Act], answer: Sequence[Act]) -> tuple[list[Act], str]:
    """The calls that a message objects to, and the sentence that does; `answer` is what was done then."""
    said = sentences_of(message)
    opens = bool(said) and bool(_OPENS.match(said[0]) or _HARMS.match(stripped(said[0])))
    for sentence in said:
        text = stripped(sentence)
        clause, acts_on = _clause(text)
        if not clause:
            continue
        named = _named(clause, before)
        if not named and opens and (_HARMS.match(text) or _UNDO.search(message) or _followed(message, before, answer)):
            named = [before[-1]]
        named = [act for act in named if acts_on or act.tool not in FILES]
        if named:
            return named, text
    if said and _UNDO_THAT.match(said[0]):
        return _named(said[0], before) or [before[-1]], said[0]
    last = before[-1]
    for better in (_BETTER.search(sentence) for sentence in said if opens and last.tool not in FILES):
        wanted = key_terms(better["good"]) - key_terms(_head(last)) if better else frozenset()
        if better and any(wanted & key_terms(_head(act)) for act in answer):
            return [last], stripped(better.string)
    return [], ""


def _followed(message: str, before: Sequence[Act], answer: Sequence[Act]) -> bool:
    """Does a message say what to do instead of the last call, and was something done that it names?"""
    wanted = key_terms(message) - key_terms(_head(before[-1]))
    return _OTHERWISE.search(message) is not None and any(wanted & key_terms(_head(act)) for act in answer)


def _clause(text: str) -> tuple[str, bool]:
    """What a sentence forbids, and whether that is something done to a file; empty when it forbids nothing."""
    if text.endswith("?"):
        return "", False
    harm = _HARMS.match(text)
    if harm:
        return harm["harm"], True
    if (found := _FORBIDS.search(text)) and not _ON_TERMS.search(text[found.start() :]):
        what = _GOES_ON.sub("", (found["what"] or found["unasked"] or "").strip()) or text
        return what, bool(_ACTS_ON.match(what)) or found["unasked"] is not None
    found = _NOT_THAT.search(text)
    return (found["bad"] or found["hand"], True) if found else ("", False)


def _named(clause: str, before: Sequence[Act]) -> list[Act]:
    """The calls that a clause names: by program, option or file all of them, by other words the last one."""
    wanted = key_terms(clause)
    heads = [len(wanted & key_terms(_head(act))) for act in before]
    most = max(heads, default=0)
    if most:
        return [act for act, common in zip(before, heads, strict=True) if common == most]
    held = [act for act in before if wanted & key_terms(act.words[:_WORDS])]
    return held[-1:]


def _head(act: Act) -> str:
    """What a call is known by: its command, or the file it changes."""
    command = act.text("command")
    if not command:
        return f"{act.tool} {act.text('path')}"
    first = command.partition("\n")[0][:400]
    names = {word.partition(" ")[0] for word in shape(command)}
    return " ".join((first, *(_ALSO[name] for name in sorted(names) if name in _ALSO)))


def _goes_on(act: Act, done: Sequence[Act]) -> bool:
    """Was the file that a call wrote worked on or used afterwards? Then it was put right and not given up."""
    later = (one for one in done if one.at > act.at)
    name = act.text("path").replace("\\", "/").rpartition("/")[2]
    if act.tool not in FILES or not name:
        return False
    if act.tool == "Write":
        return any(name in one.words and not one.failed for one in later)
    return any(
        one.text("path") == act.text("path") and one.text("old") and one.text("old") in act.text("new")
        and one.text("new").strip() != act.text("old").strip()
        for one in later
    )  # fmt: skip


def _repair(message: str, act: Act, answer: Sequence[Act]) -> int:
    """The call that put things back as they were, when the user asked for that: the first one with the same thing."""
    if not answer or not _UNDO.search(message) or answer[0].tool != act.tool:
        return -1
    first = answer[0]
    same = first.text("path") == act.text("path") if act.tool in FILES else (
        bool(main := _program(act)) and main == _program(first)
    )  # fmt: skip
    return first.at if same else -1


def _program(act: Act) -> str:
    return main_program(act.text("command")).partition(" ")[0]


def _taken_back(done: Sequence[Act]) -> Iterator[tuple[int, set[int], list[str]]]:
    """Each command that takes earlier calls back, with these and what else it does."""
    earlier: list[Act] = []
    for act in done:
        if act.tool == "Bash" and not act.failed and _MAY_UNDO.search(act.text("command")):
            undone: set[int] = set()
            left = []
            for part in parts(act.text("command")):
                found = reversed_by(part, earlier)
                undone |= found
                left += [] if found else [part]
            if undone:
                yield act.at, undone, left
                earlier = [one for one in earlier if one.at not in undone]
                continue
        if _does(act) and not act.failed:
            earlier.append(act)


def _undone_edits(done: Sequence[Act]) -> set[int]:
    """Edits that a later one turned round, both of them."""
    gone: set[int] = set()
    left: dict[tuple[str, str, str], list[int]] = {}
    for act in done:
        path, old, new = act.text("path"), act.text("old").strip(), act.text("new").strip()
        if act.tool != "Edit" or act.failed or not old or not new:
            continue
        if turned := left.get((path, new, old)):
            gone |= {turned.pop(), act.at}
        else:
            left.setdefault((path, old, new), []).append(act.at)
    return gone
