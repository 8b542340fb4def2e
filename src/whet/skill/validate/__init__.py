"""Validate a package under one of four profiles.

`spec` checks agentskills.io and gives the verdict of the reference validator; `upload` adds what strict hosts refuse;
`quality` is a linter for skills that are chosen when they should be and work when they are; `package` is for skills
with a `skill.json`. The document is read once, every rule uses the same values, and every problem is reported, not only
the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.errors import UsageError
from whet.skill.finder import MAIN_FILES
from whet.skill.frontmatter import read_document
from whet.skill.paths import SUPPORT_DIRECTORIES
from whet.skill.template import may_be_draft
from whet.skill.validate import spec
from whet.skill.validate.input import PROFILES, Profile, ValidationInput

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whet.notes import Note
    from whet.skill.frontmatter import Document

__all__ = ["PROFILES", "Profile", "ValidationInput", "valid", "validate"]


def validate(package: ValidationInput, profile: Profile = "spec") -> tuple[Note, ...]:
    """Return every finding about the package under a profile, those of the specification first."""
    if profile not in PROFILES:
        hint = f"Use {', '.join(PROFILES[:-1])} or {PROFILES[-1]} as the profile."
        raise UsageError("unknown-profile", f"There is no profile {profile!r}.", hint=hint)
    if package.text is None or package.main not in MAIN_FILES:
        return (spec.missing(package),)
    document = package.document or read_document(package.text)
    findings = spec.check(package, document)
    if profile == "upload":
        from whet.skill.validate import upload

        findings = upload.check(document, findings)
    elif profile == "quality":
        from whet.skill.validate import quality

        findings.extend(quality.check(package, document))
    elif profile == "package":
        from whet.skill.validate import package as manifest

        findings.extend(manifest.check(package, document))
    if profile != "quality" and has_leftovers(document):
        from whet.skill.validate.quality import check_leftovers

        findings.extend(check_leftovers(document))
    if profile == "spec" and package.files and names_files(document.body):
        from whet.skill.validate.quality import check_named_files

        findings.extend(check_named_files(document.body, document.body_line, package.files))
    return tuple(findings)


def names_files(body: str) -> bool:
    """Return whether instructions may name a file of the skill."""
    return any(f"{directory}/" in body for directory in SUPPORT_DIRECTORIES)


def has_leftovers(document: Document) -> bool:
    """Return whether parts of a draft may be left. Every profile reports them: a template is valid but not finished."""
    return may_be_draft(f"{document.values.get('description')}\n{document.body}")


def valid(findings: Iterable[Note]) -> bool:
    """Return whether a package with these findings is valid; warnings do not count."""
    return all(finding.severity != "error" for finding in findings)
