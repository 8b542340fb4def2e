"""`find`, `detect`, `feedback`, `duplicates`: which skill a message is for, and which skills are similar."""

from __future__ import annotations

import os

from whet.errors import FailedError
from whet.interfaces.cli.arguments import message_argument, misuse, read_message
from whet.interfaces.cli.context import Answer, Command
from whet.interfaces.cli.parser import amount
from whet.interfaces.cli.rendering import format_time, percent, render_notes
from whet.interfaces.cli.terminal import progress
from whet.interfaces.cli.text import clean, pad, plural, width
from whet.notes import Note
from whet.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen, Style
    from whet.interfaces.cli.parser import Namespace, Parser
    from whet.library.visibility import Caller
    from whet.prompt.matcher import Assessment, Detection, Match, Matches
    from whet.routing.duplicates import Duplicates
    from whet.routing.feedback import Forgotten, Noted, Remarks
    from whet.sources.search import SearchResult
    from whet.values import Json


_DECISION = "DECISION  "
_DECISION_STYLES: dict[str, Style] = {"must": "green", "may": "yellow", "none": "dim"}
_FAINT = 0.05
"""Matches with a lower fit are not shown to a person."""


def configure_find(parser: Parser) -> None:
    parser.example('whet find "why does this test fail"', "the best five of your skills")
    parser.example('whet find "fill in a form" --everywhere', "also skills that you can install")
    parser.example('whet find --decide "commit this"', "should a skill trigger?")
    parser.details = (
        "Whet compares the message with names, triggers, descriptions and instructions. FIT is the probability, from "
        "0 to 100 %, that the skill is the right one; WHY gives the evidence. Skills that the message names (/name, "
        "$name) come first. Skills with a fit below 5 % are not shown.\n\n"
        "--decide turns FIT into a decision. must (75 % or more): load the skill. may (28 % or more): offer it to the "
        "model, which decides. none: do nothing. It also judges whether the message asks for a skill at all, so FIT "
        "is lower for `ok, ship it` than without --decide. Skills that only a person may invoke trigger only if the "
        "message names them; otherwise --decide leaves them out, and the next best skill can have a higher FIT.\n\n"
        "Report right and wrong answers with `whet learn feedback`. `whet learn eval triggers` measures many messages "
        "at once.\n\n"
        "In a pipe, each line has name, fit from 0 to 1 and evidence, separated by tabs. With --decide, the first "
        "line starts with the decision; the following lines are other skills that may fit, and a line that starts "
        "with `about` is the skill from --skill. --json lists every skill with any evidence."
    )
    message_argument(parser)
    parser.option("-k", metavar="N", read=amount, text="Show at most N (default 5).")
    parser.option(
        "--everywhere", text="Also search the named sources (`whet sources list`) for skills you do not have."
    )
    parser.option("--decide", text="Decide whether a skill should trigger for the message.")
    text = "With --decide: explain why this skill does or does not trigger."
    parser.option("--skill", metavar="NAME", text=text)
    text = "A file being worked on; with --decide, skills for other files are left out. Can be repeated."
    parser.option("--file", metavar="PATH", many=True, default=[], text=text)
    text = "An earlier message of the conversation; can be repeated, the latest last."
    parser.option("--after", metavar="MESSAGE", many=True, default=[], text=text)
    text = "A skill that is already loaded, so Whet does not suggest it again. Can be repeated."
    parser.option("--loaded", metavar="NAME", many=True, default=[], text=text)
    parser.exclude(("--everywhere", "--decide"))


def run_find(context: Context, options: Namespace) -> Answer:
    if options.skill and not options.decide:
        raise misuse("find", "--skill needs `--decide`.")
    if options.decide and options.k:
        raise misuse("find", "`-k` does not work with `--decide`.")
    from whet.prompt.matcher import MessageContext

    message = read_message(options.message)
    beside = MessageContext(tuple(options.after), tuple(options.file), tuple(options.loaded))
    with progress(context, options) as library:
        if options.everywhere:
            from whet.sources.search import SearchResult

            most = options.k or 5
            here = library.find(message, most, caller=context.caller, context=beside)
            try:
                there = library.sources.search(message, most)
            except FailedError as error:  # the local results are an answer too
                there = SearchResult(message, (), (Note.from_error(error, "warning"),), 0)
            return Answer(Everywhere(here, there), render_everywhere)
        if not options.decide:
            found = library.find(message, options.k or 5, caller=context.caller, context=beside)
            answer = Answer(found, render_find)
            return answer if options.json else _hint_gallery(answer, message, context)
        caller = _caller_with_files(context, options.file)
        return Answer(library.detect(message, caller=caller, skill=options.skill, context=beside), render_detect)


def _hint_gallery(answer: Answer, message: str, context: Context) -> Answer:
    """Return the answer; if none of your skills fits well, with a hint about a fitting skill of the gallery."""
    from whet.library.roots import gallery_directory
    from whet.routing.scoring import MAY, MUST

    if any(match.fit >= MAY for match in answer.value) or context.library.workspace.explicit is not None:
        return answer
    from whet.api import Library

    with Library.open([gallery_directory()], env=context.env) as gallery:
        fitting = [match.name for match in gallery.find(message, 1) if match.fit >= MUST]
    if not fitting or any(card.name == fitting[0] for card in context.library.catalogue.cards):
        return answer
    return answer.hint(f"{fitting[0]} fits, and ships with Whet: `whet gallery add {fitting[0]}`.")


class Everywhere(NamedTuple):
    """The skills that fit a message in the library, and at the named sources."""

    here: Matches
    there: SearchResult

    def to_json(self) -> Json:
        """Return the answer of `find`, with that of `sources search` under `sources`."""
        sources = self.there.to_json()
        sources.pop("success", None)
        return {**self.here.to_json(), "sources": sources}


def render_everywhere(found: Everywhere, screen: Screen, options: Namespace) -> None:
    """Print the skills in the library, then those that can be installed."""
    from whet.interfaces.cli.commands.sources import render_search

    render_find(found.here, screen, options)
    if found.there.skills:
        screen.line()
    render_search(found.there, screen, options)


def render_find(matches: Matches, screen: Screen, options: Namespace) -> None:
    """Print the matches with reasons; a person does not see those that hardly fit."""
    from whet.routing.scoring import MAY

    shown = [match for match in matches if match.fit >= _FAINT]
    rows = [
        (
            match.name,
            percent(match.fit) if screen.tty else f"{match.fit:.4f}",
            "; ".join((*_tell_limits(match), *match.why, *_tell_also(match))),
        )
        for match in (shown if screen.tty or shown else matches)
    ]
    poor = not shown or shown[0].fit < MAY
    if screen.tty and rows:
        if poor:
            screen.paragraph("No skill fits well. These come closest:")
        _render_matches(rows, screen)
    else:
        screen.grid((), rows)
    if not shown:
        screen.say("No skill fits.")
    if poor:
        more = "" if getattr(options, "everywhere", False) else "; `whet find --everywhere` also searches your sources"
        learn = "; `whet learn feedback --help` shows how to improve matching" if matches else ""
        screen.hint(f"`whet list` shows every skill{more}{learn}.")
    render_notes(matches.notes, screen)


def _tell_limits(match: Match) -> Iterator[str]:
    """Yield the reasons why no model is offered a skill that fits."""
    if match.card.draft:
        yield "draft"
    if match.explicit:
        yield "only on request"


def _tell_also(match: Match) -> tuple[str, ...]:
    """Return a note on the skills that are nearly the same as a match."""
    return (f"also: {', '.join(card.full_name for card in match.also)}",) if match.also else ()


def _render_matches(rows: Sequence[tuple[str, str, str]], screen: Screen, decisions: Sequence[str] = ()) -> None:
    """Print the rows under their headings, each after its decision if there is one; reasons are wrapped."""
    names = [clean(name) for name, *_ in rows]
    column = max(map(width, ("SKILL", *names)))
    indent = column + 7
    if indent > screen.columns // 2:
        column, indent = 0, 6
    if decisions:
        indent += len(_DECISION)
    decision = _DECISION if decisions else ""
    screen.line(screen.paint(f"{decision}{pad('SKILL', column)}  FIT  {'WHY' if column else ''}".rstrip(), "bold"))
    for at, (name, (_, fit, why)) in enumerate(zip(names, rows, strict=True)):
        word = decisions[at] if decisions else ""
        decided = screen.paint(pad(word, len(decision)), _DECISION_STYLES[word]) if word else ""
        lead = f"{decided}{pad(name, column)}  {fit:<4} "
        if column and why:
            screen.paragraph(why, indent, lead)
        else:
            screen.line(lead.rstrip())
            screen.paragraph(why, indent)


_FAINTEST = 0.01
"""Matches with a lower score are not mentioned."""


def _caller_with_files(context: Context, paths: Sequence[str]) -> Caller:
    """Return the caller with the files in play, relative to the project."""
    if not paths:
        return context.caller
    workspace = context.library.workspace
    repository = workspace.config().repository
    base = repository.root if repository else workspace.place.directory
    files = (os.path.relpath(os.path.abspath(path), base).replace(os.sep, "/") for path in paths)
    return context.caller._replace(files=tuple(files))


def render_detect(found: Detection, screen: Screen, _options: Namespace) -> None:
    beside = _tell_also(found.match) if found.match else ()
    decided = (found.level, found.skill or "", found.confidence, (*found.evidence, *beside))
    others = (("may", one.name, one.fit, (*one.why, *_tell_also(one))) for one in found.others)
    rows = [(word, name, fit, "; ".join(evidence)) for word, name, fit, evidence in (decided, *others)]
    if not screen.tty:
        screen.grid((), [(word, name, f"{fit:.4f}", why) for word, name, fit, why in rows])
    elif not found.match:
        screen.line(f"{screen.paint('none', 'dim')}  no skill should trigger")
    else:
        _render_matches([(name, percent(fit), why) for _, name, fit, why in rows], screen, [row[0] for row in rows])
    if found.about:
        _render_about(found.about, screen)
    if found.nearest and found.confidence >= _FAINTEST:
        screen.hint(
            f"Nearest: {found.nearest.name} ({percent(found.confidence)}). `whet find` shows more; `whet learn "
            f"feedback --help` shows how to improve matching."
        )
    render_notes(found.notes, screen)


def _render_about(about: Assessment, screen: Screen) -> None:
    """Print why one skill comes up, or why it does not."""
    name = clean(about.card.full_name)
    sentences = [*about.reasons, *(f"against it: {sentence}" for sentence in about.against), *_explain_place(about)]
    if not screen.tty:
        screen.line("\t".join(("about", name, f"{about.confidence:.4f}", clean("; ".join(sentences)))))
        return
    screen.line()
    screen.line(screen.paint(f"{name}  {percent(about.confidence)}  {about.level}", "bold"))
    for sentence in sentences:
        screen.paragraph(sentence, 6)


def _explain_place(about: Assessment) -> Iterator[str]:
    """Yield the rank of a skill, and the reasons against it."""
    from whet.routing.scoring import MAY, MUST

    yield "nothing in the message points to it" if about.rank is None else f"rank {about.rank}"
    if about.instead:
        yield f"{about.instead} triggers instead" if about.level == "none" else f"{about.instead} ranks first"
    elif about.ahead:
        yield f"{about.ahead.name} ({percent(about.ahead.fit)}) ranks before it"
    if about.hidden:
        yield f"it is not offered: {about.hidden.message} {about.hidden.hint}"
    elif about.level != "must":
        yield f"it needs {percent(MAY)} to be offered and {percent(MUST)} to trigger automatically"


_FEEDBACK_ACTIONS = ("fits", "does_not_fit", "forget", "list")
_NO_SKILL = "(none)"
"""Stands for the name if no skill should trigger for a message."""


def configure_feedback(parser: Parser) -> None:
    parser.example('whet learn feedback pdf "fill in this form" --fits', "it is for pdf")
    parser.example('whet learn feedback pdf "print it" --does-not-fit', "it is not for pdf")
    parser.example('whet learn feedback --none "good morning"', "no skill is for it")
    parser.example("whet learn feedback pdf --list", "all feedback on pdf")
    parser.details = (
        "The latest feedback on a message counts. --forget removes the feedback on a message or, without MESSAGE, all "
        "feedback on the skill. Whet hides secrets in messages before it stores them.\n\n"
        "In a pipe, each line of --list has time, skill, fits or does not fit, origin and message, separated by tabs."
    )
    parser.positional("name", "NAME", "The skill; leave it out with --none.", optional=True)
    parser.positional(
        "message", "MESSAGE", "What the user said; - reads it from standard input.", many=True, optional=True
    )
    parser.option("--fits", text="The message is for this skill.")
    parser.option("--does-not-fit", text="The message is not for this skill.")
    parser.option("--none", text="The message is for no skill. With --forget or --list: only such feedback.")
    parser.option("--forget", text="Remove feedback.")
    parser.option("--list", text="List feedback.")


def run_feedback(context: Context, options: Namespace) -> Answer:
    name, words = options.name, options.message
    if options.none:
        words, name = [*filter(None, [name]), *words], None
    _check_feedback(options, name, words)
    learning = context.library.learning
    if options.list:
        return Answer(learning.list_feedback("" if options.none else name), render_remarks)
    message = read_message(words) if words else None
    if options.forget:
        return Answer(learning.forget_feedback(name, message), render_forgotten)
    return Answer(learning.feedback(name, message or "", fits=options.fits), render_noted)


def _check_feedback(options: Namespace, name: str | None, words: list[str]) -> None:
    """Raise UsageError if the options do not go with each other or with the arguments."""
    given = [action for action in _FEEDBACK_ACTIONS if getattr(options, action)]
    message = ""
    if len(given) > 1 or not (given or options.none):
        message = "Use one of `--fits`, `--does-not-fit`, `--none`, `--forget` and `--list`."
    elif options.none and (options.fits or options.does_not_fit):
        message = "`--none` works only with `--forget` and `--list` here."
    elif options.list and words:
        message = f"{words[0]!r} is an unexpected argument."
    elif not options.list and not options.none and name is None:
        message = "NAME is missing."
    elif not options.list and not options.forget and not words:
        message = "MESSAGE is missing."
    if message:
        raise misuse("learn feedback", message)


def render_remarks(remarks: Remarks, screen: Screen, _options: Namespace) -> None:
    rows = [
        (
            format_time(screen, remark.time),
            remark.skill or _NO_SKILL,
            "fits" if remark.fits else "does not fit",
            remark.origin,
            remark.message,
        )
        for remark in remarks.feedback
    ]
    screen.grid(("WHEN", "SKILL", "VERDICT", "WHO", "MESSAGE"), rows, "There is no feedback yet.")


def render_forgotten(forgotten: Forgotten, screen: Screen, _options: Namespace) -> None:
    screen.say(f"Removed {plural(forgotten.forgotten, 'remark')}; {_count_examples(forgotten)}.")


def render_noted(noted: Noted, screen: Screen, _options: Namespace) -> None:
    screen.say(f"{'Noted' if noted.changed else 'Already known'}; {_count_examples(noted)}.")
    render_notes(noted.notes, screen)


def _count_examples(known: Noted | Forgotten) -> str:
    """Describe the feedback on a skill, or on messages for no skill."""
    if known.name is None:
        return f"{plural(known.counterexamples, 'message')} for no skill"
    counterexamples = plural(known.counterexamples, "counterexample")
    return f"{known.name} has {plural(known.examples, 'example')}, {counterexamples}"


def configure_duplicates(parser: Parser) -> None:
    parser.details = (
        "Whet compares instructions, names and descriptions, so it finds skills for the same job even if their names "
        "differ. It changes nothing. In a pipe, each line has score, both names and the shared words, separated by "
        "tabs."
    )
    parser.positional("name", "NAME", "Only skills similar to this one.", optional=True)
    parser.option(
        "--threshold", metavar="T", read=likeness, text="The minimum similarity, above 0 and up to 1 (default: 0.5)."
    )
    parser.option("--limit", metavar="N", read=amount, default=50, text="Show at most this many pairs (default: 50).")


def likeness(text: str) -> float:
    """Parse a number above zero and up to one, as the value of an option."""
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None
    if 0 < value <= 1:
        return value
    raise ValueError(f"{text!r} is not above 0 and up to 1")


def run_duplicates(context: Context, options: Namespace) -> Answer:
    found = context.library.learning.duplicates(options.name, options.threshold, options.limit)
    return Answer(found, render_duplicates)


def render_duplicates(found: Duplicates, screen: Screen, options: Namespace) -> None:
    """Print a line for each pair, and a hint on how to merge them."""
    from whet.routing.duplicates import THRESHOLD

    rows = [(f"{pair.score:.2f}", pair.one, pair.other, ", ".join(pair.shared)) for pair in found.pairs]
    screen.grid(("SCORE", "ONE", "OTHER", "SHARED WORDS"), rows)
    for note in found.report:
        screen.say(f"{note.skill} is judged by its name and description: {note.message}")
    near = [pair for pair in found.pairs if pair.score >= THRESHOLD]
    screen.say(f"{_count_pairs(len(found.pairs), len(near), options.name)} among {plural(found.total, 'skill')}.")
    if near:
        screen.hint(
            f"`whet show {clean(near[0].other)}` shows one of them; move what is worth keeping to the better one "
            f"and run `whet remove` on the other. `whet learn curate` proposes merges of skills that agents wrote."
        )


def _count_pairs(count: int, near: int, name: str | None) -> str:
    """Describe the number of pairs; those below the usual threshold are only similar."""
    if name is not None:
        return f"{plural(count, 'skill')} like {clean(name)}"
    alike = count - near
    if not alike:
        return plural(near, "near-duplicate pair")
    also = f"{plural(near, 'near-duplicate pair')} and " if near else ""
    return f"{also}{plural(alike, 'pair')} {'that is' if alike == 1 else 'that are'} alike"


COMMANDS = {
    "find": Command(configure_find, run_find),
    "learn feedback": Command(configure_feedback, run_feedback),
    "learn duplicates": Command(configure_duplicates, run_duplicates),
}
