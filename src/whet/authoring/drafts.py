"""Turning one skill into another: the effect of each operation on a skill's files.

Values in, values out: a tree (`whet.skill.tree`) and an operation go in, a `Draft` comes out, and the disk is not
touched. For all operations: nothing else changes, byte for byte; the version goes up once; limits and rules of the
format are checked on the result. A draft that changes nothing has the original tree.

Input is never trimmed or cut to fit: input that breaks a rule is refused. A limit or rule that a skill already broke
does not stop a change that makes it no worse, so that a skill can improve step by step. A change that would break
something new is refused, with a hint.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

from whet.authoring import patching
from whet.authoring.main_file import (
    ASKED,
    Main,
    as_document,
    bump_version,
    filled,
    like,
    main_of,
    not_text,
    quoted,
    said,
    version_of,
    with_body,
    with_ends,
    with_text,
)
from whet.errors import ConflictError, InvalidError, NotFoundError, UsageError
from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.skill import names, paths
from whet.skill.coerce import one_line
from whet.skill.dialects import read_skill
from whet.skill.edit import line_end, set_value
from whet.skill.finder import MAIN_FILE, SKIPPED, is_main_file
from whet.skill.frontmatter import BOM, find_fences, read_changed, read_document
from whet.skill.model import FIRST_VERSION, MAX_DESCRIPTION
from whet.skill.template import OUTLINE
from whet.skill.tree import Item, ignored
from whet.skill.validate import ValidationInput, validate
from whet.skill.yaml_edit import quote
from whet.store.atomic import is_leftover

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from whet.notes import Note
    from whet.skill.frontmatter import Document
    from whet.skill.tree import Tree

_QUOTED = "Frontmatter values were quoted to make them valid YAML."
_TEXT_CONTROL = compile_late("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_NOT_IN_TEXT = compile_late("[\x00\ud800-\udfff]")
_LISTED = 100
"""Number of files that an error lists."""
_REMARKS = 8
"""Number of remarks on a change that are passed on."""
_READABLE = ("strict", "repaired")
_REPORTED = frozenset(("unknown-key",))
"""Errors of the specification that clients ignore: reported, not refused."""
_ORDINARY = frozenset(("metadata-not-text",))
"""Warnings that are not worth reporting: clients keep their own mappings below metadata."""
_FILE_CODES = frozenset(
    ("invalid-utf8", "no-frontmatter", "unclosed-frontmatter", "frontmatter-too-large", "yaml-rescued")
)
"""Errors that hide the others."""
_REMEDIES = {
    "no-frontmatter": "Start the text with a --- line, then `name:` and `description:`, then a --- line.",
    "unclosed-frontmatter": "Add a --- line after the last frontmatter key.",
    "frontmatter-too-large": "Move long text from the frontmatter into the body.",
    "yaml-repaired": "Put the value on that line in double quotes.",
    "yaml-rescued": "Write each line between the --- lines as `key: value`, with the value in double quotes.",
    "duplicate-key": "Remove one of the two lines with that key.",
    "comment-as-value": "Put the value on that line in double quotes.",
    "name-missing": "Leave the `name:` line unchanged.",
    "description-missing": "Keep a `description:` line that says what the skill does and when to use it.",
    "description-too-long": f"Shorten the description to {MAX_DESCRIPTION:,} characters.",
    "compatibility-too-long": "Shorten the compatibility field to 500 characters.",
}


class Limits(NamedTuple):
    """Size limits of written skills."""

    body: int = 100_000
    """Characters of the main file's body."""
    file: int = 1 << 20
    """Bytes of one file."""
    files: int = 64
    total: int = 8 << 20


LIMITS = Limits()


class Draft(NamedTuple):
    """A skill after a change."""

    tree: Tree
    version: str
    replacements: int = 0
    warnings: tuple[str, ...] = ()
    """Warnings for the caller, as sentences."""


# --- the main file --------------------------------------------------------------------------------------------------


def create(name: str, *, description: str, body: str) -> Draft:
    """Create a new skill. `body` is the instructions, or a whole document whose own frontmatter is kept.

    The skill's name is the slug of `name`. A given description wins over that of the document.
    """
    slug = check_name(name)
    check_text("body", body)
    if description:
        check_description(description)
    warnings = _called(name, slug)
    if text := as_document(body):
        text, notes = _adopted(text, slug)
        warnings += notes
    else:
        text = _framed(body, slug)
    own = said(read_document(text), "description")
    if not own.strip() or (description and description != own):
        text = set_value(text, "description", check_description(description))
        if own.strip():
            warnings.append("The description you passed replaces the one in the document.")
    if not version_of(read_document(text)):
        text = set_value(text, "metadata.version", FIRST_VERSION)
    tree = {MAIN_FILE: Item(text.encode())}
    new = main_of(tree)
    check_limits({}, tree, "", new.document.body)
    remarks = check_format({}, tree, None, new)
    return Draft(tree, version_of(new.document), 0, (*warnings, *remarks))


def with_triggers(tree: Tree) -> Tree:
    """Return a new skill's files with generated trigger evals."""
    from whet.routing.evals.generated import FILE, generate

    return {**tree, FILE: Item(generate(read_skill(main_of(tree).document)).text().encode())}


def _called(name: str, slug: str) -> list[str]:
    return [f"The skill is named {slug}, because {name!r} is not a valid skill name."] if name != slug else []


def _framed(body: str, slug: str) -> str:
    """Add frontmatter to a bare body."""
    body = body.removeprefix(BOM).lstrip("\r\n")
    version = quote(FIRST_VERSION)
    text = "\n".join(("---", f"name: {quote(slug)}", "metadata:", f"  version: {version}", "---", "", body))
    return with_ends(text if text.endswith("\n") else f"{text}\n", line_end(body))


def frame(tree: Tree, name: str) -> Tree:
    """Add the frontmatter that a bare body is read with; return any other skill unchanged."""
    main = main_of(tree)
    if main.document.step != "none" or not main.document.body.strip():
        return tree
    description = read_skill(main.document, flat=True).description or one_line(main.document.body)[:MAX_DESCRIPTION]
    text = set_value(_framed(main.text, names.slug(name)), "description", description)
    return with_text(tree, main.path, text)


def _adopted(text: str, slug: str) -> tuple[str, list[str]]:
    """Return a whole document under its new name."""
    text, warnings = _healed(text)
    check_readable(text)
    own = said(read_document(text), "name")
    if own != slug:
        text = set_value(text, "name", slug)
        if own and names.slug(own) != slug:
            warnings.append(f"The document has the name {own[: names.MAX_LENGTH]!r}; the skill is named {slug}.")
    return text if text.endswith("\n") else text + line_end(text), warnings


def _healed(text: str) -> tuple[str, list[str]]:
    """Quote values to make the frontmatter valid YAML, if possible; also return warnings."""
    new = quoted(text)
    return new, [_QUOTED] if new != text else []


def improve(tree: Tree, *, description: str = "", body: str = "", version: str = "") -> Draft:
    """Return an existing skill with another body, another description, or both; everything else stays.

    From a whole document given as body, the instructions are used, and the description if no other is given.
    """
    if not body and not description:
        hint = "Pass a new body, a new description, or both."
        raise UsageError("nothing-given", "No body and no description were given.", hint=hint)
    old = main_of(tree)
    check_text("body", body)
    warnings: list[str] = []
    if document := as_document(body):
        document = quoted(document)
        check_readable(document)
        given = read_document(document)
        body, description = given.body, description or said(given, "description")
        warnings = _unused(given, old.document)
    text = with_body(old, body) if body else old.text
    if description and description != said(old.document, "description"):
        text = set_value(text, "description", check_description(description))
    return _finish(tree, with_text(tree, old.path, text), version, warnings)


def _unused(given: Document, old: Document) -> list[str]:
    """Return a warning about frontmatter that came with a body and differs from the skill's."""
    keys = [key for key, value in given.values.items() if key != "description" and value != old.values.get(key)]
    return [f"Ignored frontmatter keys: {', '.join(keys)}. Use edit to replace the frontmatter."] if keys else []


def edit(tree: Tree, text: str, *, version: str = "") -> Draft:
    """Return an existing skill with a new document, or with a new body if the text has no frontmatter.

    A missing name, description or version is taken from the old document.
    """
    old = main_of(tree)
    check_text("text", text)
    document = as_document(text)
    if not document:
        return _finish(tree, with_text(tree, old.path, with_body(old, text)), version)
    new, warnings = _healed(like(old.text, document))
    check_readable(new)
    new, kept = filled(new, old.document)
    read = read_document(new)
    check_same_name(old.document, read)
    warnings += [f"The new document has no {key}; the old one is kept." for key in kept]
    warnings += _left_out(old.document, read)
    return _finish(tree, with_text(tree, old.path, new), version, warnings)


def _left_out(old: Document, new: Document) -> list[str]:
    """Return a warning about removed keys; a parent key stands for its children."""
    gone = [key for key in old.lines if key not in new.lines and key.partition(".")[0] in (key, *new.lines)]
    return [f"The frontmatter no longer has {', '.join(gone)}."] if gone else []


def rename(tree: Tree, name: str) -> Draft:
    """Return an existing skill under the slug of another name."""
    slug = check_name(name)
    old = main_of(tree)
    text = old.text if said(old.document, "name") == slug else set_value(old.text, "name", slug)
    return _finish(tree, with_text(tree, old.path, text), "", _called(name, slug))


def patch(
    tree: Tree,
    find: str,
    replace: str,
    *,
    path: str = "",
    every: bool = False,
    tolerant: bool = False,
    version: str = "",
) -> Draft:
    """Replace a piece of one of a skill's texts (see `patching`); without a path, of the main file."""
    old = main_of(tree)
    path = old.path if path in ("", old.path, MAIN_FILE) else existing(tree, writable(path))
    text = text_at(tree, path)
    check_text("text to find", find)
    check_text("replacement", replace)
    if every and (size := len(text) + text.count(find or text) * (len(replace) - len(find))) > LIMITS.file:
        raise too_large(path, size, "characters")
    done = patching.patch(text, find, replace, every=every, tolerant=tolerant)
    new, warnings, main = done.text, list[str](), None
    if path == old.path:
        read = read_changed(new, old.text, old.document)
        if old.document.step != "repaired" and (healed := quoted(new, read)) != new:
            new, read, warnings = healed, read_document(healed), [_QUOTED]
        check_same_name(old.document, read)
        check_patched(old, new, read)
        warnings += _left_out(old.document, read)
        main = Main(path, new, read)
    if done.tolerant:
        warnings.append(f"The text to find matched only when ignoring {patching.TOLERANCES[done.tolerant]}.")
    draft = _finish(tree, with_text(tree, path, new), version, warnings, old, main)
    return draft._replace(replacements=done.replacements)


# --- the other files ------------------------------------------------------------------------------------------------


def write_file(tree: Tree, path: str, data: bytes, *, executable: bool | None = None, version: str = "") -> Draft:
    """Add or replace a supporting file; by default, it keeps its executable bit."""
    path = writable(path)
    path = spelled(tree, path) or path
    check_free(tree, path)
    if executable is None:
        executable = path in tree and tree[path].executable
    return _finish(tree, {**tree, path: Item(data, executable)}, version)


def remove_file(tree: Tree, path: str, *, version: str = "") -> Draft:
    """Remove a supporting file."""
    gone = existing(tree, writable(path))
    return _finish(tree, {name: item for name, item in tree.items() if name != gone}, version)


# --- the end of every change ----------------------------------------------------------------------------------------


def remarks(before: Tree | None, after: Tree, known: Collection[str]) -> tuple[str, ...]:
    """Return the remarks on a final result, of those `known` from each change."""
    told = check_format(before or {}, after, main_of(before) if before else None, main_of(after))
    return tuple(text for text in told if text in known)


def without_remarks(draft: Draft, before: Tree | None, *, numbered: bool) -> Draft:
    """Return a draft without remarks that later changes may resolve.

    If the version was already `numbered`, the note that it stays is left out.
    """
    passing = remarks(before, draft.tree, draft.warnings)
    asked = f": {ASKED}." if numbered else "\0"
    told = (text for text in draft.warnings if text not in passing and not text.endswith(asked))
    return draft._replace(warnings=tuple(told))


def _finish(
    before: Tree,
    after: Tree,
    told: str = "",
    warnings: Sequence[str] = (),
    old: Main | None = None,
    new: Main | None = None,
) -> Draft:
    """Finish a change: raise the version and check the result; `old` and `new` are the main files, if already read."""
    old = old or main_of(before)
    version, notes = version_of(old.document), tuple[str, ...]()
    if after != before:
        new, version, notes = bump_version(new or main_of(after, old), old.document, told)
        after = with_text(after, old.path, new.text)
    if new is None or after == before:
        return Draft(before, version, 0, (*warnings, "No change: the skill already says this."))
    check_limits(before, after, old.document.body, new.document.body)
    remarks = check_format(before, after, old, new)
    return Draft(after, version, 0, (*warnings, *notes, *remarks))


# --- supporting files ------------------------------------------------------------------------------------------------


def writable(path: str) -> str:
    """Return a path that a supporting file may have; it must not be a main file."""
    if len(path) <= paths.MAX_PATH_BYTES and any(map(_is_main, path.replace("\\", "/").split("/"))):
        message = f"The path {paths.shown(path)} names a main file, which file operations cannot change."
        raise UsageError("main-file", message, hint=f"Change {MAIN_FILE} with edit or patch.")
    path = paths.check(path, writing=True)
    if ignored(path) or any(map(is_leftover, path.split("/"))):
        message = f"The path {paths.shown(path)} is never part of a skill."
        raise UsageError("path-ignored", message, hint="Choose another name.")
    return path


def _is_main(segment: str) -> bool:
    return is_main_file(names.key(segment).rstrip(". "))


def spelled(tree: Mapping[str, Item], path: str) -> str | None:
    """Return the path in the tree's spelling, composed or not; None if it does not exist."""
    if path in tree:
        return path
    return next((name for name in tree if unicodedata.normalize("NFC", name) == path), None)


def existing(tree: Mapping[str, Item], path: str) -> str:
    """Return the path of an existing file in the tree's spelling. Raises NotFoundError."""
    if (known := spelled(tree, path)) is not None:
        return known
    files = sorted(tree)
    suggestions = list(names.closest(path, files))
    hint = f"Did you mean {', '.join(suggestions)}?" if suggestions else f"Files: {', '.join(files[:20])}."
    message = f"The skill has no file {paths.shown(path)}."
    raise NotFoundError("file-not-found", message, hint=hint, suggestions=suggestions, files=files[:_LISTED])


def check_free(tree: Mapping[str, Item], path: str) -> None:
    """Raise ConflictError if another file, or a link, is in the way on some system."""
    if path in tree:
        if tree[path].link:
            message = f"{paths.shown(path)} is a link; Whet does not write through links."
            raise ConflictError("path-is-link", message, hint="Remove the link with remove_file first.", path=path)
        return
    for pair in paths.collides((*tree, path)):
        if path in pair:
            other = pair[0] if pair[1] == path else pair[1]
            message = f"The path {paths.shown(path)} and {paths.shown(other)} cannot both exist on every system."
            raise ConflictError("path-collision", message, hint="Choose another path.", path=other)


def text_at(tree: Mapping[str, Item], path: str) -> str:
    """Return the text of a text file."""
    item = tree[path]
    if item.link:
        raise not_text(path, "is a link")
    if b"\0" in item.data:
        raise not_text(path, "is a binary file")
    try:
        return item.data.decode()
    except UnicodeDecodeError as error:
        raise not_text(path, f"is not UTF-8 at byte {error.start}") from error


# --- input of callers ------------------------------------------------------------------------------------------------


def check_name(name: str) -> str:
    """Return the slug of a valid name."""
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
        return "has line breaks or invisible characters"
    if name != name.strip():
        return "starts or ends with whitespace"
    length = max(len(name), len(names.key(name)))
    if length > names.MAX_LENGTH:
        return f"has {length} characters; the limit is {names.MAX_LENGTH}"
    return _slug_problem(slug)


def _slug_problem(slug: str) -> str:
    if slug in SKIPPED:
        return "is a directory that Whet never searches"
    try:
        paths.check(slug)
    except UsageError:
        return "is a device name on Windows"
    return ""


def check_description(description: str) -> str:
    """Return the description if it is valid."""
    problem = ""
    if not description.strip():
        problem = "is empty"
    elif len(description) > MAX_DESCRIPTION:
        problem = f"has {len(description):,} characters; the limit is {MAX_DESCRIPTION:,}"
    elif _TEXT_CONTROL.search(description):
        problem = "has control characters"
    if problem:
        hint = f"Say in 1 to {MAX_DESCRIPTION:,} characters what the skill does and when to use it."
        raise UsageError("bad-description", f"The description {problem}.", hint=hint)
    return check_text("description", description)


def check_text(what: str, text: str) -> str:
    """Return the text if a text file can hold it."""
    if len(text) > LIMITS.file:
        raise too_large(f"The {what}", len(text), "characters")
    if found := _NOT_IN_TEXT.search(text):
        line = text.count("\n", 0, found.start()) + 1
        message = (
            f"The {what} has the character U+{ord(found[0]):04X} on line {line}, which a text file cannot contain."
        )
        raise UsageError("bad-text", message, hint="Remove or replace the character.")
    return text


def check_category(category: str) -> None:
    """Raise UsageError for a category that cannot be a directory."""
    try:
        paths.check(category)
        usable = all(_is_word(part) and part[0] != "." for part in category.split("/"))
    except UsageError:
        usable = False
    if not usable:
        message = f"The category {category[: names.MAX_LENGTH]!r} cannot be the name of a directory."
        raise UsageError("bad-category", message, hint=f"Use a simple word, such as {names.slug(category[:256])}.")


def _is_word(word: str) -> bool:
    return bool(word) and word == word.strip() and len(word) <= names.MAX_LENGTH and not any(map(names.hidden, word))


# --- limits ---------------------------------------------------------------------------------------------------------


def check_limits(before: Mapping[str, Item], after: Mapping[str, Item], old: str, new: str) -> None:
    """Raise InvalidError if a skill becomes too large; `old` and `new` are the bodies of its main file."""
    if LIMITS.body < len(new) > len(old):
        message = f"The body would have {len(new):,} characters; the limit is {LIMITS.body:,}."
        hint = "Move details into files under references/ with write_file, and point to them."
        raise InvalidError("body-too-long", message, hint=hint, size=len(new), limit=LIMITS.body)
    for path, item in after.items():
        was = before.get(path)
        if was != item and LIMITS.file < len(item.data) > (len(was.data) if was else 0):
            raise too_large(path, len(item.data), "bytes")
    if LIMITS.files < len(after) > len(before):
        message = f"The skill would have {len(after)} files; the limit is {LIMITS.files}."
        hint = "Remove files the skill does not need, or combine several."
        raise InvalidError("too-many-files", message, hint=hint, size=len(after), limit=LIMITS.files)
    size, had = (sum(len(item.data) for item in tree.values()) for tree in (after, before))
    if LIMITS.total < size > had:
        message = f"The skill would have {size:,} bytes; the limit is {LIMITS.total:,}."
        hint = "Remove large files, or store them elsewhere and link to them."
        raise InvalidError("skill-too-large", message, hint=hint, size=size, limit=LIMITS.total)


def too_large(what: str, size: int, unit: str) -> InvalidError:
    """Return the error for a file that would be too large."""
    message = f"{what} would have {size:,} {unit}; the limit is {LIMITS.file:,}."
    hint = "Split it into several files."
    return InvalidError("file-too-large", message, hint=hint, size=size, limit=LIMITS.file)


# --- the rules of the format -----------------------------------------------------------------------------------------


def check_readable(text: str) -> None:
    """Raise InvalidError for a new document whose frontmatter is not closed or not readable."""
    errors = [finding for finding in validate(ValidationInput("", text)) if finding.code in _FILE_CODES]
    if errors:
        raise would_break(errors[0].message, _remedy(errors[0]), findings=errors)


def check_format(before: Mapping[str, Item], after: Mapping[str, Item], old: Main | None, new: Main) -> tuple[str, ...]:
    """Raise InvalidError for new errors; return sentences about other new findings."""
    had = _findings(before, old) if old else ()
    fresh = _fresh(had, _findings(after, new))
    step = _stored(before, old).step if old else "strict"
    errors = [finding for finding in fresh if finding.severity == "error" and not _known(finding.code, step)]
    if errors:
        raise would_break(errors[0].message, _remedy(errors[0]), findings=errors)
    if not new.document.body.strip() and not (old and not old.document.body.strip()):
        hint = "Write the instructions. To remove a skill, use delete."
        raise InvalidError("empty-body", "The skill would have no instructions.", hint=hint)
    ordinary = {*_ORDINARY, "leftover-marker"} if OUTLINE in new.document.body else _ORDINARY  # it says so itself
    remarks = [finding.message for finding in fresh if finding.severity != "info" and finding.code not in ordinary]
    if len(remarks) > _REMARKS:
        remarks[_REMARKS:] = [f"{len(remarks) - _REMARKS} more remarks are not shown; validate the skill to see them."]
    return tuple(remarks)


def _findings(tree: Mapping[str, Item], main: Main) -> tuple[Note, ...]:
    data = tree[main.path].data
    return validate(ValidationInput("", data, files=tuple(tree), document=_stored(tree, main)), "quality")


def _stored(tree: Mapping[str, Item], main: Main) -> Document:
    """Return the main file as its bytes read; invalid UTF-8 was kept in its text as surrogates."""
    try:
        main.text.encode()
    except UnicodeEncodeError:
        return read_document(tree[main.path].data)
    return main.document


def _fresh(old: Sequence[Note], new: Sequence[Note]) -> list[Note]:
    """Return the findings that are new in kind or number; a different number in a message is not new."""
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
    """Return whether an error is not new: only reported, or hidden before by unreadable frontmatter."""
    if step == "none" and code in ("name-missing", "description-missing"):
        return True
    return code in _REPORTED or (step == "rescued" and code not in _FILE_CODES)


def would_break(what: str, hint: str, *, findings: Sequence[Note] = (), keys: Sequence[str] = ()) -> InvalidError:
    """Return the error for a change that would break the skill."""
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
        "Write the field as one line of text." if finding.code.endswith("-refused") else "Leave that line unchanged."
    )
    return where + _REMEDIES.get(finding.code, default)


def check_patched(old: Main, text: str, new: Document) -> None:
    """Raise if lines that a patch did not replace change sides: between body and frontmatter, key and value.

    A patch ignores frontmatter: it may add or remove a `---`, or open a quotation mark that the next key closes.
    """
    before, after = find_fences(old.text), find_fences(text)
    readable = old.document.step in _READABLE and new.step in _READABLE
    if not (readable and before.closed and after.closed):
        return  # there was nothing to lose, or the format check refuses it
    rows, others = old.text.split("\n"), text.split("\n")
    head = _alike(rows, others)
    tail = _alike(rows[head:][::-1], others[head:][::-1])
    starts = min(sum(len(row) + 1 for row in rows[:head]), before.end)
    ends = min(len("\n".join(rows[len(rows) - tail :])), len(old.text) - before.body)
    if after.end < starts or after.body > len(text) - ends:
        hint = "Leave the --- lines around the frontmatter unchanged."
        raise would_break("The change would move the start or end of the frontmatter.", hint)
    left = Counter(others)
    left.subtract(Counter(rows))
    lost = [key for key, line in old.document.lines.items() if key not in new.lines and left[rows[line - 1]] >= 0]
    if lost:
        hint = "Check the quotation marks and the --- lines of `replace`."
        raise would_break(f"{', '.join(lost)} would become unreadable.", hint, keys=lost)


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of equal lines at the start."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def check_same_name(old: Document, new: Document) -> None:
    """Raise UsageError for another name: it is the skill's identity, and its directory has to follow."""
    was, now = (said(document, "name") for document in (old, new))
    if was and now and was != now:
        message = f"The text changes the name from {was[: names.MAX_LENGTH]!r} to {now[: names.MAX_LENGTH]!r}."
        raise UsageError("rename-by-patch", message, hint="Use rename for that, and leave the name unchanged here.")
