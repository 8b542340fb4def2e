"""The rules of the format, as every change of a skill has to pass them.

A rule that a skill broke before does not stop a change that leaves it no worse, so that a skill can get better step by
step. What the change itself would break is refused, with what to do about it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from whet.authoring.drafts_main import Main, said
from whet.errors import InvalidError, UsageError
from whet.skill import names
from whet.skill.frontmatter import find_fences, read_document
from whet.skill.validate import ValidationInput, validate
from whet.skill.validate.spec import MAX_DESCRIPTION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whet.notes import Note
    from whet.skill.frontmatter import Document
    from whet.skill.tree import Item


_REMARKS = 8
"""Remarks on a change that are passed on."""
_READABLE = ("strict", "repaired")
_REPORTED = frozenset(("unknown-key",))
"""Errors of the specification that other clients read past, Whet among them: said, not refused."""
_ORDINARY = frozenset(("metadata-not-text",))
"""Warnings that are not worth a word: clients keep mappings of their own below metadata."""
_FILE_CODES = frozenset(
    ("invalid-utf8", "no-frontmatter", "unclosed-frontmatter", "frontmatter-too-large", "yaml-rescued")
)
"""Errors that keep the others from being found."""
_REMEDIES = {
    "no-frontmatter": "Begin the text with a line ---, then `name:` and `description:`, then a line ---.",
    "unclosed-frontmatter": "Add a line --- below the last key of the frontmatter.",
    "frontmatter-too-large": "Move long text from the frontmatter into the body.",
    "yaml-repaired": "Put the value on that line in double quotes.",
    "yaml-rescued": "Write every line between the two --- as `key: value`, the value in double quotes.",
    "duplicate-key": "Leave out one of the two lines with that key.",
    "comment-as-value": "Put the value on that line in double quotes.",
    "name-missing": "Keep the line with the name as it was.",
    "description-missing": "Keep a line `description:` that says what the skill does and when to use it.",
    "description-too-long": f"Shorten the description to {MAX_DESCRIPTION:,} characters.",
    "compatibility-too-long": "Shorten the compatibility field to 500 characters.",
}


def check_readable(text: str) -> None:
    """Refuse a whole new document whose frontmatter cannot be told from its body, or not be read."""
    errors = [finding for finding in validate(ValidationInput("", text)) if finding.code in _FILE_CODES]
    if errors:
        raise would_break(errors[0].message, _remedy(errors[0]), findings=errors)


def check_format(before: Mapping[str, Item], after: Mapping[str, Item], old: Main | None, new: Main) -> tuple[str, ...]:
    """Refuse errors that the skill did not have before; what else the change brings, a sentence each."""
    had = _findings(before, old) if old else ()
    fresh = _fresh(had, _findings(after, new))
    step = read_document(before[old.path].data).step if old else "strict"
    errors = [finding for finding in fresh if finding.severity == "error" and not _known(finding.code, step)]
    if errors:
        raise would_break(errors[0].message, _remedy(errors[0]), findings=errors)
    if not new.document.body.strip() and not (old and not old.document.body.strip()):
        hint = "Give the instructions that the skill consists of. To remove a skill, use delete."
        raise InvalidError("empty-body", "The skill would have no instructions.", hint=hint)
    remarks = [finding.message for finding in fresh if finding.severity != "info" and finding.code not in _ORDINARY]
    if len(remarks) > _REMARKS:
        remarks[_REMARKS:] = [f"There are {len(remarks) - _REMARKS} more remarks; validate the skill to see them."]
    return tuple(remarks)


def _findings(tree: Mapping[str, Item], main: Main) -> tuple[Note, ...]:
    return validate(ValidationInput("", tree[main.path].data, files=tuple(tree)), "quality")


def _fresh(old: Sequence[Note], new: Sequence[Note]) -> list[Note]:
    """The findings that are new in kind, or in number; one that only says another number is not."""
    more = Counter(finding.code for finding in new)
    more.subtract(Counter(finding.code for finding in old))
    known = Counter((finding.code, finding.message) for finding in old)
    fresh: list[Note] = []
    for finding in new:
        known[finding.code, finding.message] -= 1
        if more[finding.code] > 0 and known[finding.code, finding.message] < 0:
            fresh.append(finding)
    return fresh


def _known(code: str, step: str) -> bool:
    """Whether an error is no news: only said, or hidden before because the frontmatter could not be read."""
    if step == "none" and code in ("name-missing", "description-missing"):
        return True
    return code in _REPORTED or (step == "rescued" and code not in _FILE_CODES)


def would_break(what: str, hint: str, *, findings: Sequence[Note] = (), keys: Sequence[str] = ()) -> InvalidError:
    """What to raise about a change after which the skill would not be one."""
    return InvalidError(
        "would-break",
        f"This change would break the skill: {what}",
        hint=f"Nothing was changed. {hint}",
        findings=[finding.to_finding() for finding in findings],
        keys=list(keys),
    )


def _remedy(finding: Note) -> str:
    where = f"See line {finding.line} of the result. " if finding.line else ""
    default = (
        "Write the field as one line of text." if finding.code.endswith("-refused") else "Leave that line as it was."
    )
    return where + _REMEDIES.get(finding.code, default)


def check_patched(old: Main, text: str, new: Document) -> None:
    """Refuse a patch by which lines that it did not replace change sides: between body and frontmatter, key and value.

    A patch knows nothing of frontmatter: it may put a `---` where none belongs, take one away, or open a quotation mark
    that the next key closes.
    """
    before, after = find_fences(old.text), find_fences(text)
    readable = old.document.step in _READABLE and new.step in _READABLE
    if not (readable and before.closed and after.closed):
        return  # there was nothing to lose, or the format refuses it
    rows, others = old.text.split("\n"), text.split("\n")
    head = _alike(rows, others)
    tail = _alike(rows[head:][::-1], others[head:][::-1])
    starts = min(sum(len(row) + 1 for row in rows[:head]), before.end)
    ends = min(len("\n".join(rows[len(rows) - tail :])), len(old.text) - before.body)
    if after.end < starts or after.body > len(text) - ends:
        hint = "Leave the lines --- at both ends of the frontmatter alone."
        raise would_break("The frontmatter would begin or end elsewhere.", hint)
    left = Counter(others)
    left.subtract(Counter(rows))
    lost = [key for key, line in old.document.lines.items() if key not in new.lines and left[rows[line - 1]] >= 0]
    if lost:
        hint = "Check the quotation marks and the --- lines of `replace`."
        raise would_break(f"{', '.join(lost)} would no longer be read.", hint, keys=lost)


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many rows are the same from the start."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def check_same_name(old: Document, new: Document) -> None:
    """Refuse another name: it is the skill's identity, and its directory has to follow."""
    was, now = (said(document, "name") for document in (old, new))
    if was and now and was != now:
        message = f"The text changes the name from {was[: names.MAX_LENGTH]!r} to {now[: names.MAX_LENGTH]!r}."
        raise UsageError("rename-by-patch", message, hint="Use rename for that, and leave the name alone here.")
