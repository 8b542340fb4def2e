"""One skill turned into another: what each way of writing makes of a skill's files.

Values in, values out: a tree (`trees.Tree`) and what to do go in, a `Draft` comes out, and no disk is touched. Whatever
the operation, the same holds: only what it is about changes, byte for byte; the version goes up once; limits and rules
of the format are checked on the result (`drafts_limits`, `drafts_checks`). A draft that changes nothing has the tree it
began with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whet.authoring import patching
from whet.authoring.drafts_checks import check_format, check_patched, check_readable, check_same_name
from whet.authoring.drafts_files import check_free, existing, spelled, text_at, writable
from whet.authoring.drafts_limits import (
    LIMITS,
    Limits,
    check_category,
    check_description,
    check_limits,
    check_name,
    check_tags,
    check_text,
    too_large,
)
from whet.authoring.drafts_main import (
    ASKED,
    as_document,
    filled,
    like,
    main_of,
    numbered,
    quoted,
    said,
    version_of,
    with_body,
    with_ends,
    with_text,
)
from whet.errors import UsageError
from whet.skill import names
from whet.skill.dialects import read_skill
from whet.skill.edit import line_end, set_value
from whet.skill.finder import MAIN_FILE
from whet.skill.frontmatter import BOM, read_document
from whet.skill.tree import Item
from whet.skill.yaml_edit import quote

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from whet.skill.frontmatter import Document
    from whet.skill.tree import Tree

__all__ = [
    "LIMITS",
    "Draft",
    "Limits",
    "create",
    "edit",
    "improve",
    "patch",
    "remove_file",
    "rename",
    "write_file",
]

FIRST = "1"
"""The version of a new skill that does not say its own."""


class Draft(NamedTuple):
    """A skill as it would be."""

    tree: Tree
    version: str
    replacements: int = 0
    warnings: tuple[str, ...] = ()
    """What the caller should know, a sentence each."""


# --- the main file --------------------------------------------------------------------------------------------------


def create(name: str, *, description: str, body: str, category: str = "", tags: Sequence[str] = ()) -> Draft:
    """A new skill. `body` is the instructions, or a whole document whose own frontmatter is kept.

    The skill is called by the slug of `name`. A description that is given wins over that of the document; category and
    tags only say what a document does not say itself.
    """
    slug = check_name(name)
    check_text("body", body)
    if description:
        check_description(description)
    if category:
        check_category(category)
    listed = check_tags(tags)
    warnings = _called(name, slug)
    if text := as_document(body):
        text, notes = _adopted(text, slug, category)
        warnings += notes
    else:
        text = _framed(body, slug, category)
    own = said(read_document(text), "description")
    if not own.strip() or (description and description != own):
        text = set_value(text, "description", check_description(description))
        if own.strip():
            warnings.append("The description that was given replaces the one of the document.")
    if not version_of(read_document(text)):
        text = set_value(text, "metadata.version", FIRST)
    if listed and not read_skill(read_document(text)).tags:
        text = set_value(text, "metadata.tags", listed)
    tree = {MAIN_FILE: Item(text.encode())}
    new = main_of(tree)
    check_limits({}, tree, "", new.document.body)
    remarks = check_format({}, tree, None, new)
    return Draft(tree, version_of(new.document), 0, (*warnings, *remarks))


def _called(name: str, slug: str) -> list[str]:
    return [f"The skill is called {slug}, because {name!r} cannot be the name of a skill."] if name != slug else []


def _framed(body: str, slug: str, category: str) -> str:
    """A bare body below frontmatter of its own."""
    body = body.removeprefix(BOM).lstrip("\r\n")
    rows = ["---", f"name: {quote(slug)}", "metadata:", f"  version: {quote(FIRST)}"]
    if category:
        rows += ["  hermes:", f"    category: {quote(category)}"]
    text = "\n".join((*rows, "---", "", body))
    return with_ends(text if text.endswith("\n") else f"{text}\n", line_end(body))


def _adopted(text: str, slug: str, category: str) -> tuple[str, list[str]]:
    """A whole document under the name it is to have."""
    text, warnings = _healed(text)
    check_readable(text)
    own = said(read_document(text), "name")
    if own != slug:
        text = set_value(text, "name", slug)
        if own and names.slug(own) != slug:
            warnings.append(f"The document says {own[: names.MAX_LENGTH]!r}; the skill is called {slug}.")
    if category and read_skill(read_document(text)).category != category:
        warnings.append(f"The category {category!r} was not written: a document says its own, in metadata.hermes.")
    return text if text.endswith("\n") else text + line_end(text), warnings


def _healed(text: str) -> tuple[str, list[str]]:
    """A text whose frontmatter is YAML, if quotes can make it so, and what to say about it."""
    new = quoted(text)
    return new, ["Values of the frontmatter were put in quotes; without them it is not YAML."] if new != text else []


def improve(tree: Tree, *, description: str = "", body: str = "", version: str = "") -> Draft:
    """An existing skill with another body, another description, or both; everything else stays.

    Of a whole document given as body, the instructions are taken, and the description if no other is given.
    """
    if not body and not description:
        hint = "Give the new body, the new description, or both."
        raise UsageError("nothing-given", "There is neither a body nor a description.", hint=hint)
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
    return _finished(tree, with_text(tree, old.path, text), version, warnings)


def _unused(given: Document, old: Document) -> list[str]:
    """What to say about frontmatter that came with a body and is not what the skill has."""
    keys = [key for key, value in given.values.items() if key != "description" and value != old.values.get(key)]
    return [f"Not used: {', '.join(keys)} of the given frontmatter. Use edit to replace it."] if keys else []


def edit(tree: Tree, text: str, *, version: str = "") -> Draft:
    """An existing skill with a whole new document, or with a whole new body when the text has no frontmatter.

    A document that leaves out the name, the description or the version has those of the old one.
    """
    old = main_of(tree)
    check_text("text", text)
    document = as_document(text)
    if not document:
        return _finished(tree, with_text(tree, old.path, with_body(old, text)), version)
    new, warnings = _healed(like(old.text, document))
    check_readable(new)
    new, kept = filled(new, old.document)
    read = read_document(new)
    check_same_name(old.document, read)
    warnings += [f"The new document has no {key}; the old one stays." for key in kept]
    warnings += _left_out(old.document, read)
    return _finished(tree, with_text(tree, old.path, new), version, warnings)


def _left_out(old: Document, new: Document) -> list[str]:
    """What to say about keys that are gone; a key that took others with it stands for them."""
    gone = [key for key in old.lines if key not in new.lines and key.partition(".")[0] in (key, *new.lines)]
    return [f"The frontmatter no longer has {', '.join(gone)}."] if gone else []


def rename(tree: Tree, name: str) -> Draft:
    """An existing skill under the slug of another name."""
    slug = check_name(name)
    old = main_of(tree)
    text = old.text if said(old.document, "name") == slug else set_value(old.text, "name", slug)
    return _finished(tree, with_text(tree, old.path, text), "", _called(name, slug))


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
    """An existing skill with a piece of one of its texts replaced (see `patching`); no path is the main file."""
    old = main_of(tree)
    path = old.path if path in ("", old.path, MAIN_FILE) else existing(tree, writable(path))
    text = text_at(tree, path)
    check_text("text to find", find)
    check_text("replacement", replace)
    if every and (size := len(text) + text.count(find or text) * (len(replace) - len(find))) > LIMITS.file:
        raise too_large(path, size, "characters")
    done = patching.patch(text, find, replace, every=every, tolerant=tolerant)
    new, warnings = done.text, list[str]()
    if path == old.path:
        if old.document.step != "repaired":
            new, warnings = _healed(new)
        read = read_document(new)
        check_same_name(old.document, read)
        check_patched(old, new, read)
        warnings += _left_out(old.document, read)
    if done.tolerant:
        warnings.append(f"The text to find was there only with other {patching.TOLERANCES[done.tolerant]}.")
    return _finished(tree, with_text(tree, path, new), version, warnings)._replace(replacements=done.replacements)


# --- the other files ------------------------------------------------------------------------------------------------


def write_file(tree: Tree, path: str, data: bytes, *, executable: bool | None = None, version: str = "") -> Draft:
    """An existing skill with a supporting file added or replaced; unless told, a file stays as executable as it was."""
    path = writable(path)
    path = spelled(tree, path) or path
    check_free(tree, path)
    if executable is None:
        executable = path in tree and tree[path].executable
    return _finished(tree, {**tree, path: Item(data, executable)}, version)


def remove_file(tree: Tree, path: str, *, version: str = "") -> Draft:
    """An existing skill without one of its supporting files."""
    gone = existing(tree, writable(path))
    return _finished(tree, {name: item for name, item in tree.items() if name != gone}, version)


# --- the end of every change ----------------------------------------------------------------------------------------


def remarks(before: Tree | None, after: Tree, known: Collection[str]) -> tuple[str, ...]:
    """What is worth knowing about a result, however many changes it took, of what is `known` from each of them."""
    told = check_format(before or {}, after, main_of(before) if before else None, main_of(after))
    return tuple(text for text in told if text in known)


def without_remarks(draft: Draft, before: Tree | None, *, numbered: bool) -> Draft:
    """A draft that others follow, so that what its result lacks may come yet.

    Where the version was `numbered` before, it is no news that it stays.
    """
    passing = remarks(before, draft.tree, draft.warnings)
    asked = f": {ASKED}." if numbered else "\0"
    told = (text for text in draft.warnings if text not in passing and not text.endswith(asked))
    return draft._replace(warnings=tuple(told))


def _finished(before: Tree, after: Tree, told: str = "", warnings: Sequence[str] = ()) -> Draft:
    """The draft of a change, numbered and checked."""
    old = main_of(before)
    version, notes = version_of(old.document), tuple[str, ...]()
    if after != before:
        text, version, notes = numbered(main_of(after).text, old.document, told)
        after = with_text(after, old.path, text)
    if after == before:
        return Draft(before, version, 0, (*warnings, "Nothing changes: the skill is so already."))
    new = main_of(after)
    check_limits(before, after, old.document.body, new.document.body)
    remarks = check_format(before, after, old, new)
    return Draft(after, version, 0, (*warnings, *notes, *remarks))
