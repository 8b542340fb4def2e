"""What a caller may give, and how large a skill may become.

Nothing is trimmed or cut to fit: a name, a description or a text that breaks a rule is refused as it is. A limit that a
skill exceeded before does not stop a change that makes it no larger.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import InvalidError, UsageError
from whet.skill import names, paths
from whet.skill.finder import SKIPPED
from whet.skill.validate.spec import MAX_DESCRIPTION

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whet.skill.tree import Item

_TEXT_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_NOT_IN_TEXT = re.compile("[\x00\ud800-\udfff]")
_NOT_IN_TAGS = frozenset(",[]'\"")


class Limits(NamedTuple):
    """How large a skill may become by being written to."""

    body: int = 100_000
    """Characters of the main file's body."""
    file: int = 1 << 20
    """Bytes."""
    files: int = 64
    total: int = 8 << 20


LIMITS = Limits()


# --- what a caller gives --------------------------------------------------------------------------------------------


def check_name(name: str) -> str:
    """The slug of a name that a skill may have."""
    slug = names.slug(name[: 4 * names.MAX_LENGTH])
    if problem := _name_problem(name, slug):
        good = slug if not _slug_problem(slug) and name.strip() else "release-notes"
        hint = f"Use at most {names.MAX_LENGTH} lowercase letters, digits and hyphens, such as {good}."
        raise UsageError("bad-name", f"The name {name[: names.MAX_LENGTH]!r} {problem}.", hint=hint)
    return slug


def _name_problem(name: str, slug: str) -> str:
    if not name.strip():
        return "is empty"
    if any(map(names.hidden, name)):
        return "has line breaks or characters that cannot be seen"
    if name != name.strip():
        return "begins or ends with white space"
    length = max(len(name), len(names.key(name)))
    if length > names.MAX_LENGTH:
        return f"has {length} characters; at most {names.MAX_LENGTH} are allowed"
    return _slug_problem(slug)


def _slug_problem(slug: str) -> str:
    if slug in SKIPPED:
        return "is that of a directory in which no skills are looked for"
    try:
        paths.check(slug)
    except UsageError:
        return "is that of a device on Windows"
    return ""


def check_description(description: str) -> str:
    """The description, if a skill may have it."""
    problem = ""
    if not description.strip():
        problem = "is empty"
    elif len(description) > MAX_DESCRIPTION:
        problem = f"has {len(description):,} characters; at most {MAX_DESCRIPTION:,} are allowed"
    elif _TEXT_CONTROL.search(description):
        problem = "has control characters"
    if problem:
        hint = f"Say in 1 to {MAX_DESCRIPTION:,} characters what the skill does and when to use it."
        raise UsageError("bad-description", f"The description {problem}.", hint=hint)
    return check_text("description", description)


def check_text(what: str, text: str) -> str:
    """The text, if a text file can hold it."""
    if len(text) > LIMITS.file:
        raise too_large(f"The {what}", len(text), "characters")
    if found := _NOT_IN_TEXT.search(text):
        line = text.count("\n", 0, found.start()) + 1
        message = f"The {what} has the character U+{ord(found[0]):04X} on line {line}, which no text file can hold."
        raise UsageError("bad-text", message, hint="Leave the character out, or write the one that was meant.")
    return text


def check_tags(tags: Iterable[str]) -> str:
    """The tags as the one text that reads back as them."""
    for tag in tags:
        if not _is_word(tag) or not _NOT_IN_TAGS.isdisjoint(tag):
            shown, hint = repr(tag[: names.MAX_LENGTH]), f"Use words of at most {names.MAX_LENGTH} characters."
            raise UsageError("bad-tag", f"The tag {shown} cannot be written as one of several.", hint=hint)
    return ", ".join(dict.fromkeys(tags))


def check_category(category: str) -> None:
    """Refuse a category that no directory could have."""
    try:
        paths.check(category)
        usable = all(_is_word(part) and part[0] != "." for part in category.split("/"))
    except UsageError:
        usable = False
    if not usable:
        message = f"The category {category[: names.MAX_LENGTH]!r} cannot be the name of a directory."
        raise UsageError("bad-category", message, hint=f"Use a word, such as {names.slug(category[:256])}.")


def _is_word(word: str) -> bool:
    return bool(word) and word == word.strip() and len(word) <= names.MAX_LENGTH and not any(map(names.hidden, word))


# --- limits ---------------------------------------------------------------------------------------------------------


def check_limits(before: Mapping[str, Item], after: Mapping[str, Item], old: str, new: str) -> None:
    """Refuse what makes a skill too large; `old` and `new` are the bodies of its main file."""
    if LIMITS.body < len(new) > len(old):
        message = f"The body would have {len(new):,} characters; at most {LIMITS.body:,} are allowed."
        hint = "Move details into files under references/ with write_file, and point to them."
        raise InvalidError("body-too-long", message, hint=hint, size=len(new), limit=LIMITS.body)
    for path, item in after.items():
        was = before.get(path)
        if was != item and LIMITS.file < len(item.data) > (len(was.data) if was else 0):
            raise too_large(path, len(item.data), "bytes")
    if LIMITS.files < len(after) > len(before):
        message = f"The skill would have {len(after)} files; at most {LIMITS.files} are allowed."
        hint = "Remove files that it does not need, or put several into one."
        raise InvalidError("too-many-files", message, hint=hint, size=len(after), limit=LIMITS.files)
    size, had = (sum(len(item.data) for item in tree.values()) for tree in (after, before))
    if LIMITS.total < size > had:
        message = f"The skill would have {size:,} bytes; at most {LIMITS.total:,} are allowed."
        hint = "Remove large files, or keep them elsewhere and say where."
        raise InvalidError("skill-too-large", message, hint=hint, size=size, limit=LIMITS.total)


def too_large(what: str, size: int, unit: str) -> InvalidError:
    """What to raise about a file that would be too large."""
    message = f"{what} would have {size:,} {unit}; at most {LIMITS.file:,} are allowed."
    hint = "Split it into several files."
    return InvalidError("file-too-large", message, hint=hint, size=size, limit=LIMITS.file)
