"""A distillation at a terminal: one screen with all answers, and a store for interrupted ones.

Every answer is kept as soon as it is given, in Whet's state directory, readable only by its owner; it is deleted when
the skill is written.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import InvalidError, NotFoundError, RefusedError, UsageError, WhetError
from whet.interfaces.cli.output import screen_for
from whet.interfaces.cli.terminal import agree, ask, leave
from whet.interfaces.cli.text import clean, clean_block, width, wrap, wrap_markdown
from whet.learning.distill.operations import session_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.parser import Namespace
    from whet.learning.distill.rounds import Distillation, Field, Kept
    from whet.learning.transcripts.events import Transcript


_WIDTH = 92
"""Columns of a line, if the terminal is wide enough."""
_LEAST = 20
_HELP = "Enter writes the skill, a number changes that answer, `s` shows the whole text, and `n` leaves."
_KEEP = "Enter keeps it; any other text replaces it; `e` opens your editor."
_LIST = "Separate list items with commas; `+WORD` adds one and `-WORD` removes one."
_LINES = "Enter keeps the lines; `-N` removes line N, `N TEXT` rewords it, `+TEXT` adds one; `e` opens your editor."
KEPT = "Your answers are kept; `whet distill --resume` continues."
_LINE_NUMBER = re.compile(r"^\d+\. +")
"""The number of a session's step at the start of a line; people see its position in the list instead."""
_YES, _NO = ("y", "yes", "ok"), ("n", "no")
"""Answers to a yes-or-no question. They accept or reject a proposal and are never taken as text."""
_SHOWN_LINES = 8
"""Number of steps on the screen; changing them shows all."""
_NARROW = 24
"""Columns that an answer needs next to its label; otherwise it goes below."""
_UNANSWERED = "Nothing was changed. Use `--yes` to skip the question."


class _Answer(NamedTuple):
    """One answer on the screen."""

    round: int
    about: str
    """Facts about its round."""
    field: Field


def forget(context: Context, distillation: Distillation) -> None:
    """Delete the kept answers, if there are any."""
    _open_kept(context).forget(_key(distillation))


def resume(context: Context, begun: Distillation | None = None) -> Distillation:
    """Return the last interrupted distillation, or that of a session. Raises NotFoundError `nothing-to-resume`."""
    kept = _open_kept(context)
    if begun is not None:
        try:
            return kept.read(_key(begun))
        except NotFoundError as error:
            message, hint = "No distillation of this session was interrupted.", "Start without `--resume`."
            raise NotFoundError("nothing-to-resume", message, hint=hint) from error
    newest = kept.newest()
    if not newest:
        hint = "Start one with `whet distill SESSION`."
        raise NotFoundError("nothing-to-resume", "No distillation was interrupted.", hint=hint)
    return kept.read(newest)


def offer_earlier(context: Context, begun: Distillation) -> Distillation:
    """Return the interrupted distillation of the same session, if there is one and the user continues it."""
    try:
        known = _open_kept(context).read(_key(begun))
    except WhetError:  # nothing to continue
        return begun
    if (known.at or known.edits) and agree("You stopped halfway through this session. Continue with your answers?"):
        return known
    return begun


def _open_kept(context: Context) -> Kept:
    return context.library.learning.distillations


def _key(distillation: Distillation) -> str:
    """Return the id of a kept distillation, which is the same for the same session."""
    from hashlib import sha256

    from whet.learning.distill.operations import reason_of

    return sha256(reason_of(distillation).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def interview(context: Context, options: Namespace, distillation: Distillation) -> Distillation:
    """Show every proposed answer, change those that the user names, and ask whether to write the skill.

    Raises RefusedError `not-agreed`.
    """
    kept, key = _open_kept(context), _key(distillation)
    distillation = distillation._replace(at=0)
    _say("", *_fold(context, f"{session_label(distillation)}: {distillation.draft().goal}"))
    for line in _list_answers(distillation)[0].about.split("\n"):
        _say(*_fold(context, line))
    kept.keep(distillation, key)
    try:
        while True:
            answers = _list_answers(distillation)
            done = distillation.answer_all({})
            foreseen = context.library.learning.finish_distillation(done, dry_run=True)
            _show_answers(context, answers, foreseen.warnings)
            said = _ask_number(context, len(answers), foreseen.text)
            if not said:
                return done
            distillation = _change_answer(context, options, distillation, said - 1)
            kept.keep(distillation, key)
    except KeyboardInterrupt:
        raise leave(KEPT) from None


def _list_answers(distillation: Distillation) -> list[_Answer]:
    """Return the answers of all rounds."""
    from whet.learning.distill.rounds import ROUNDS

    questions = [distillation._replace(at=number).question() for number in range(len(ROUNDS))]
    return [_Answer(asked.round - 1, asked.text, field) for asked in questions for field in asked.fields]


def _show_answers(context: Context, answers: Sequence[_Answer], warnings: Sequence[str]) -> None:
    _say("")
    labels = [one.field.label.partition(",")[0] for one in answers]
    column = max(map(len, labels)) + 6
    beside = _limit(context) - column >= _NARROW
    for number, (label, one) in enumerate(zip(labels, answers, strict=True), 1):
        rows = [row for line in _list_lines(one.field) for row in _fold(context, line, room=column if beside else 6)]
        head = f"{number:>2}  {label}"
        if beside:
            _say(f"{head:<{column}}{rows[0]}", *(f"{' ' * column}{row}" for row in rows[1:]))
        else:
            _say(head, *(f"      {row}" for row in rows))
    _say("")
    for warning in warnings:
        _say(*_fold(context, warning))
    _say(*_fold(context, _HELP))


def _list_lines(field: Field) -> list[str]:
    """Return a value as lines of the screen."""
    if field.kind != "lines" or not isinstance(field.value, tuple):
        return [_format_value(field) or "(none)"]
    lines = [f"- {_LINE_NUMBER.sub('', line)}" for line in field.value]
    more = [f"and {len(lines) - _SHOWN_LINES} more"] if len(lines) > _SHOWN_LINES else []
    return [*lines[:_SHOWN_LINES], *more] or ["(none)"]


def _ask_number(context: Context, most: int, text: str) -> int:
    """Return the number of the answer to change; 0 to write the skill. Raises RefusedError if the user leaves."""
    while True:
        said = ask("Write it? [Y/n/s/number] ", _UNANSWERED).lower()
        if not said or said in _YES:
            return 0
        if said in _NO:
            raise RefusedError("not-agreed", "You did not confirm.", hint=KEPT)
        if said.isdecimal() and 0 < int(said[:9]) <= most:
            return int(said)
        if said == "s":
            _say("", *_wrap_document(text, screen_for(sys.stderr, context.env).columns), "")
        else:
            _say(f"Press Enter, or type n, s or a number from 1 to {most}.")


def choose_session(context: Context) -> Transcript:
    """Let the user choose a session to learn from: a waiting one, or one that a client keeps. Raises NotFoundError."""
    from whet.interfaces.cli.picker import Choice, pick_one
    from whet.learning.selection.recent import no_session
    from whet.store.clock import iso

    learning = context.library.learning
    recent = learning.recent_sessions()
    if not recent:
        raise no_session()
    times = [iso(session.time) for session in recent]
    choices = [
        Choice((f"{time[:10]} {time[11:16]}", session.client, session.about))
        for time, session in zip(times, recent, strict=True)
    ]
    chosen = recent[pick_one("Learn from which session?", choices, context.env)]
    read = learning.open_session(chosen.path)
    return read._replace(client=chosen.client, session=chosen.id or read.session)


def _change_answer(context: Context, options: Namespace, distillation: Distillation, number: int) -> Distillation:
    """Ask until the answer is valid, and propose the other answers again to match it."""
    while True:
        at, about, field = _list_answers(distillation)[number]
        _say("", f"{field.label}:", *_show_value(context, field))
        if more := [one for one in field.options if isinstance(field.value, tuple) and one not in field.value]:
            _say(*_fold(context, f"Not included, add with +: {', '.join(more)}", 4))
        for line in about.split("\n") if at else ():
            _say(*_fold(context, line, 2))
        if field.kind != "lines":  # lines have their own help
            _say(*_fold(context, f"{_KEEP} {_LIST}" if field.kind == "list" else _KEEP, 2))
        try:
            said = _read_answer(context, options, field)
            if said is None:
                return distillation
            distillation = distillation._replace(at=at).answer({field.name: said})._replace(at=0)
        except (InvalidError, UsageError) as error:
            _say(*_fold(context, f"{error.message} {error.hint}", 2))
            continue
        if field.name == "triggers" and "description" in distillation.edits:
            _say("  You wrote the description; it stays unchanged.")
        if field.kind != "lines":  # lines are shown again after a change
            return distillation


def _read_answer(context: Context, options: Namespace, field: Field) -> str | list[str] | None:
    """Return the user's answer instead of the proposal; None to keep it. Raises errors for an invalid answer."""
    said = ask("  > ", _UNANSWERED)
    if said == "e":
        return _edit_answer(context, options, field)
    if said in ("", "b") or (field.kind != "yes-no" and said.lower() in _YES):
        return None
    if field.kind != "yes-no" and said.lower() in _NO:
        hint = "Type your answer, or press Enter to keep it."
        raise UsageError("bad-answer", f"{said!r} is not an answer here.", hint=hint)
    if field.kind == "lines":
        return _change_lines(field.value if isinstance(field.value, tuple) else (), said)
    parts = [part.strip() for part in said.split(",")]
    if field.kind == "list" and all(part.startswith(("+", "-")) for part in parts) and isinstance(field.value, tuple):
        gone = {part[1:].strip() for part in parts if part.startswith("-")}
        unknown = gone - set(field.value)
        if unknown:
            raise UsageError("bad-answer", f"{min(unknown)!r} is not in the list.", hint="Spell it as shown.")
        added = [part[1:].strip() for part in parts if part.startswith("+")]
        return [*(word for word in field.value if word not in gone), *added]
    return said


def _change_lines(lines: tuple[str, ...], said: str) -> list[str]:
    """Apply a typed change to lines: `-2`, `-2, -5`, `3 another text`, `+one more`; N is the position of a line."""
    rows = {str(number): line for number, line in enumerate(lines, 1)}
    if said.startswith("+") and (new := _LINE_NUMBER.sub("", said[1:].strip())):
        return [*lines, new]
    if said.startswith("-"):
        gone = {part.strip(" -") for part in said.split(",")}
        if gone < rows.keys():
            return [line for number, line in rows.items() if number not in gone]
    reworded = re.fullmatch(r"(\d+)[.:)]? +(.+)", said)
    if reworded and reworded[1] in rows:
        own = _LINE_NUMBER.match(rows[reworded[1]])
        return [*(rows | {reworded[1]: f"{own[0] if own else ''}{reworded[2]}"}).values()]
    raise UsageError("bad-answer", f"{said!r} is not an answer here.", hint=_LINES)


def _edit_answer(context: Context, options: Namespace, field: Field) -> str | list[str]:
    from whet.interfaces.cli.editor import edit_text

    rows = field.value if isinstance(field.value, tuple) else (_format_value(field),)
    try:
        text = edit_text(context, "\n".join(rows) + "\n", json=options.json)
    except WhetError as error:
        raise UsageError("bad-answer", error.message, hint="Type the answer instead.") from error
    return text.split("\n") if isinstance(field.value, tuple) else " ".join(text.split())


def _show_value(context: Context, field: Field) -> list[str]:
    lines: tuple[str, ...] = ()
    if field.kind == "lines" and isinstance(field.value, tuple):
        shown = (_LINE_NUMBER.sub("", line) for line in field.value)
        lines = (*(f"{number}. {line}" for number, line in enumerate(shown, 1)), _LINES)
    return [row for line in lines or (_format_value(field) or "(none)",) for row in _fold(context, line, 4)]


def _format_value(field: Field) -> str:
    if isinstance(field.value, bool):
        return "yes" if field.value else "no"
    return field.value if isinstance(field.value, str) else ", ".join(field.value)


def _wrap_document(text: str, columns: int) -> list[str]:
    """Return the lines of a SKILL.md, wrapped; each line of the frontmatter is wrapped separately."""
    head, mark, body = clean_block(text).rstrip("\n").partition("\n---\n")
    rows = []
    for line in head.split("\n"):
        first, *others = [line] if width(line) <= columns else wrap(line, columns - 2)
        rows += [first, *(f"  {other}" for other in others)]
    return [*rows, *mark.strip("\n").split("\n"), *wrap_markdown(body, columns).split("\n")]


def _fold(context: Context, text: str, indent: int = 0, room: int = 0) -> list[str]:
    """Wrap a text to the width of the terminal less `room` columns; longer words continue on the next line."""
    limit = max(_LEAST, _limit(context) - room)
    lines = wrap(clean(text), limit)
    return [" " * indent + line[at : at + limit] for line in lines for at in range(0, len(line), limit)]


def _limit(context: Context) -> int:
    return max(_LEAST, min(_WIDTH, screen_for(sys.stderr, context.env).columns - 6))


def _say(*rows: str) -> None:
    for row in rows:
        sys.stderr.write(f"{clean(row)}\n")
    sys.stderr.flush()
