"""Permissions of paths for file tools, judged by the text alone, so that nothing has to exist.

Rules are globs: `*` stays within a name, `**` goes deeper. `src/**`, `./src/**` and `/src/**` begin at the working
directory, `//etc/hosts` at the root, `~/notes/**` at the home, `${CLAUDE_SKILL_DIR}/x` at the skill. Links cannot be
seen here: the tool that opens the file must resolve them first and ask again with the result.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.expression import expression
from whet.guard.permissions.globs import row_matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whet.guard.permissions.grants import Grant

_SKILL_DIR = expression(r"^\$?\{?(?:CLAUDE|WHET)_SKILL_DIR\}?")
_DRIVE = expression(r"[A-Za-z]:")
_LONGEST = 4096
_KEYS = ("file_path", "path", "notebook_path", "filename", "file", "paths")
_SEARCHES = frozenset(("Glob", "Grep", "LS"))
_WRITES = frozenset(("Write", "Edit", "NotebookEdit"))


class Where(NamedTuple):
    """The directories that paths are resolved against, all absolute."""

    cwd: str
    skill_dir: str = ""
    home: str = ""
    at: str = ""
    """The directory of a command after `cd`; rules are not affected by it."""


class BadPathError(Exception):
    """A text is not a path that can be judged; the message says why."""


def paths_of(tool: str, given: Mapping[str, object], where: Where) -> list[str]:
    """Return the normalised paths that a call of a file tool touches. Raises BadPathError."""
    named = [given[key] for key in _KEYS if key in given]
    for value in given.values():
        entries = value if isinstance(value, list) else ()
        named.extend(entry[key] for entry in entries if isinstance(entry, dict) for key in _KEYS if key in entry)
    items = [item for value in named for item in (value if isinstance(value, list) else [value])]
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) < len(items) or (named and not texts):
        raise BadPathError("the path is not text")
    if tool not in _SEARCHES:
        if not texts:
            raise BadPathError("there is no file_path")
        return [normalised(text, where) for text in texts]
    bases = [normalised(text, where) for text in texts if text] or [normalised(where.cwd, where)]
    pattern = given.get("pattern") if tool == "Glob" else ""
    if not isinstance(pattern, str):
        raise BadPathError("the pattern is not text")
    fixed = re.split(r"[*?\[{]", pattern.replace("\\", "/"))[0].rpartition("/")
    if ".." in re.split(r"[/\\]", pattern):
        raise BadPathError("the pattern leaves its directory with `..`")
    start = fixed[0] + fixed[1]
    return (
        [normalised(start if _is_absolute(start) else f"{base}/{start}", where) for base in bases] if start else bases
    )


def normalised(text: str, where: Where) -> str:
    """Return an absolute path with `/` and without `.` and `..`; it begins with `~` if the home is unknown."""
    if not text or len(text) > _LONGEST:
        raise BadPathError("the path is empty" if not text else "the path is too long")
    for letter in text:
        if letter < " " or letter == "\x7f" or unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp", "Cs"):
            raise BadPathError(f"the path contains the invisible character U+{ord(letter):04X}")
    path = text.replace("\\", "/")
    if path.startswith(("//", "file:")):
        raise BadPathError("the path is for another system")
    if re.search(r"\$\{|^\$[A-Z_]+(?:/|$)|^%\w+%", path):
        raise BadPathError("the path contains a variable")
    if path.startswith("~"):
        if path != "~" and not path.startswith("~/"):
            raise BadPathError("the home directory is unknown")
        path = where.home.replace("\\", "/") + path[1:] if where.home else path
    elif not _is_absolute(path):
        path = f"{where.at or where.cwd}/{path}".replace("\\", "/")
    if _DRIVE.match(path):
        if ":" in path[2:] or re.search(r"~\d|[. ](?:/|$)", re.sub(r"(?<=/)\.{1,2}(?=/|$)", "", path)):
            raise BadPathError("on Windows this name can mean another file")
        path = path[0].upper() + path[1:]
    return _collapsed(path)


def _is_absolute(path: str) -> bool:
    return path.startswith(("/", "~")) or _DRIVE.match(path) is not None


def _collapsed(path: str) -> str:
    root, _, rest = path.partition("/")
    names: list[str] = []
    for name in rest.split("/"):
        if name == "..":
            if not names and root:
                raise BadPathError("the path leaves its root with `..`")
            del names[-1:]
        elif name not in ("", "."):
            names.append(name)
    return f"{root}/{'/'.join(names)}".rstrip("/") or "/"


def path_rule(rule: str, where: Where) -> str:
    """Return the rule as an absolute glob; empty if it begins at an unknown directory or one with a wildcard in its name."""
    if "*" in where.cwd + where.skill_dir + where.home:
        return ""
    rule = rule.replace("\\", "/")
    rule = f"{rule}**" if rule.endswith("/") else rule
    if found := _SKILL_DIR.match(rule):
        return _collapsed(where.skill_dir.replace("\\", "/") + rule[found.end() :]) if where.skill_dir else ""
    if rule.startswith("//"):
        return _collapsed(rule[1:])
    if rule.startswith("~"):
        return _collapsed(where.home.replace("\\", "/") + rule[1:] if where.home else rule)
    if _DRIVE.match(rule):
        return _collapsed(rule[0].upper() + rule[1:])
    rule = "**" if rule == "*" else rule
    return _collapsed(f"{where.cwd}/{rule}".replace("\\", "/"))


def covers(rule: str, path: str, *, fold: bool = False) -> bool:
    """Return whether an absolute glob matches a path; `fold` ignores case and composition, for rules that forbid."""
    if fold:
        rule, path = (unicodedata.normalize("NFKC", text).casefold() for text in (rule, path))
    return row_matches(rule.split("/"), path.split("/"), "**")


def allowed_path(tool: str, path: str, grants: Iterable[Grant], where: Where) -> tuple[str, str]:
    """Return `allow`, `ask` or `deny`, and the reason, for one normalised path."""
    exact = False
    granted = ""
    for grant in grants:
        if grant.tool != tool or grant.problem:
            continue
        rule = path_rule(grant.rule, where) if grant.rule else ""
        if not grant.rule or (rule and _reaches(tool, rule, path)):
            granted = granted or grant.text
            exact = exact or ("*" not in rule and rule == path)
    if not granted:
        return "deny", f"no grant lets {tool} touch {path}"
    if exact:
        return "allow", f"{granted} names it; resolve links before opening it"
    if tool in _WRITES and (what := control_file(path) or secret_file(path)):
        return "deny", f"{path} belongs to {what}; only a grant of exactly this path would do"
    if tool not in _WRITES and (what := secret_file(path)):
        return "ask", f"{path} is where {what} are kept"
    return "allow", f"{granted} covers it; resolve links before opening it"


def _reaches(tool: str, rule: str, path: str) -> bool:
    if tool not in _SEARCHES:
        return covers(rule, path)
    return covers(rule, path) if "*" not in rule else rule.endswith("/**") and covers(rule, path)


def control_file(path: str) -> str:
    """Return what a path controls: agents, programs that start automatically, or git itself; empty for other files."""
    from whet.guard.places import places

    plain = "/".join(name.rstrip(". ") or name for name in unicodedata.normalize("NFKC", path).split("/"))
    if re.search(r"/\.git(?:/|$)", plain, re.IGNORECASE):
        return "git itself"
    return next((place.what for place in places(plain) if place.kind in ("agent", "start")), "")


def secret_file(path: str) -> str:
    """Return the kind of secrets that a path holds; empty for other files."""
    from whet.guard.places import places

    return next((place.what for place in places(path) if place.kind == "secret" and place.grave), "")
