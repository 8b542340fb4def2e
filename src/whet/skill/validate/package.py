"""The profile `package`: a skill with metadata in `skill.json`, with prompts, tools and requirements.

In addition to the specification it requires an id, a semantic version and an author; valid ranges of hosts that match
known hosts; required tools that the package has or the host provides; and that every file that `skill.json` names
exists.
"""

from __future__ import annotations

import json
import posixpath
import re
from typing import TYPE_CHECKING, Any

from whet.notes import Note
from whet.skill.coerce import listing, mapping, text, words
from whet.skill.dialects import Sidecars, read_skill
from whet.skill.versions import is_semver, read_version, satisfies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.skill.block import Values
    from whet.skill.frontmatter import Document
    from whet.skill.validate.input import ValidationInput

MANIFEST = "skill.json"
EXAMPLES = "prompts/examples/"
TOOLS = "tools/"
MAX_ID = 214
_ID = re.compile(r"(?:@?[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*")
_REQUIRED = ("id", "version", "author", "description")
_NAMED_FILES = frozenset(
    (
        "entry_point",
        "entrypoint",
        "entry",
        "main",
        "system",
        "system_prompt",
        "examples",
        "requirements",
        "icon",
        "readme",
    )
)
"""Keys of skill.json that name files, at any depth."""
_FILE = re.compile(r"(?:\./)?[\w.-]+(?:/[\w.*-]+)*/?")


def wanted(path: str) -> bool:
    """Return whether the profile reads the content of this file."""
    return path == MANIFEST or (path.startswith(EXAMPLES) and path.endswith(".json"))


def check(package: ValidationInput, document: Document) -> Iterator[Note]:
    """Yield every finding about the package."""
    data = package.beside.get(MANIFEST)
    if data is None:
        yield Note("package-json-missing", "error", f"There is no {MANIFEST}.")
        return
    manifest = read_manifest(data)
    if manifest is None:
        yield Note("package-json-invalid", "error", f"{MANIFEST} is not a JSON object.")
        return
    skill = read_skill(document, fallback_name=package.directory, sidecars=Sidecars(manifest))
    yield from (note._replace(hint="", path="") for note in skill.diagnostics if note.code == "skill-json-disagrees")
    for key in _REQUIRED:
        if not getattr(skill, key):
            yield Note("package-field-missing", "error", f"{MANIFEST} has no {key}.")
    if skill.id and (len(skill.id) > MAX_ID or not _ID.fullmatch(skill.id)):
        message = f"The id {skill.id[:MAX_ID]!r} is not a lowercase name such as owner/skill-name."
        yield Note("package-id-invalid", "error", message)
    if skill.version and not is_semver(skill.version):
        message = f"The version {skill.version!r} is not a semantic version such as 1.4.0."
        yield Note("package-version-invalid", "error", message)
    yield from _ranges(package, dict(skill.runtime))
    yield from _tools(package, [tool.name for tool in skill.gates.tools if tool.kind == "tool"])
    yield from _files(package, manifest)
    yield from _examples(package)


def _ranges(package: ValidationInput, runtime: dict[str, str]) -> Iterator[Note]:
    for key, range_ in runtime.items():
        host = key.removesuffix("_version")
        version = read_version(package.hosts.get(host, "")) or (0, 0, 0)
        met = satisfies(version, range_)
        if met is None:
            message = f"{key} is {range_!r}, which is not a range of versions such as >=1.2,<2."
            yield Note("package-range-invalid", "error", message)
        elif not met and host in package.hosts:
            message = f"The package needs {host} {range_}; this is {host} {package.hosts[host]}."
            yield Note("package-range-unmet", "error", message)


def _tools(package: ValidationInput, required: list[str]) -> Iterator[Note]:
    brought = {posixpath.basename(file).partition(".")[0] for file in package.files if file.startswith(TOOLS)}
    for name in required:
        if name in brought:
            continue
        if package.tools is None:
            message = f"The required tool {name} is not in {TOOLS}; name the host's tools to check it."
            yield Note("package-tool-unchecked", "info", message)
        elif name not in package.tools:
            message = f"The required tool {name} is neither in {TOOLS} nor a tool of the host."
            yield Note("package-tool-missing", "error", message)


def _files(package: ValidationInput, manifest: Values) -> Iterator[Note]:
    known = {posixpath.normpath(file) for file in package.files}
    known |= {posixpath.dirname(file) for file in known if "/" in file}
    for key, path in _named_files(manifest):
        plain = posixpath.normpath(path.partition("*")[0] or ".")
        if plain.startswith("..") or plain not in known:
            yield Note("package-file-missing", "error", f"{MANIFEST} names {path} as {key}; it is not in the package.")


def _named_files(value: Values, depth: int = 0) -> Iterator[tuple[str, str]]:
    for key, held in value.items():
        plain = str(key).replace("-", "_").lower()
        if isinstance(held, dict) and depth < 4:
            yield from _named_files(held, depth + 1)
        elif plain in _NAMED_FILES:
            for path in words(held, separators=","):
                if _FILE.fullmatch(path) and ("/" in path or "." in path):
                    yield str(key), path
        elif plain in ("tools", "prompts"):
            for entry in listing(held):
                for name in ("path", "file"):
                    if path := text(mapping(entry).get(name)):
                        yield f"{key}.{name}", path


def _examples(package: ValidationInput) -> Iterator[Note]:
    for path, data in sorted(package.beside.items()):
        if path.startswith(EXAMPLES) and not isinstance(_parse(data), dict | list):
            yield Note("package-example-invalid", "error", f"{path} is not JSON with a prompt in it.")


def read_manifest(data: bytes) -> Values | None:
    """Read a skill.json; return None if it is not a JSON object."""
    value = _parse(data)
    return value if isinstance(value, dict) else None


def _parse(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
