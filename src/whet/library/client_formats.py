"""How each client reads a SKILL.md: five readers, each as lenient as its client.

They follow the observed behaviour of the clients; `tests/real_clients` compares them with the real programs. The
parsers tolerate different mistakes: one quotes a value with a colon and reads again, one falls back to two regular
expressions, one drops the skill. `standard` is the plain Agent Skills standard, for clients that were not measured.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Loaded(NamedTuple):
    """A skill as the client shows it to its model."""

    name: str
    description: str
    hidden: str = ""
    """The reason why the client does not list it although it has read it."""
    cut: bool = False
    """Whether the client cut the description."""


class Dropped(NamedTuple):
    """A skill that the client does not load."""

    reason: str
    """A few words, such as `name missing`."""


Reading = Loaded | Dropped

NO_FRONTMATTER = Dropped("no frontmatter")
BAD_YAML = Dropped("invalid YAML")
NO_NAME = Dropped("name missing")
NO_DESCRIPTION = Dropped("description missing")
LONG_NAME = Dropped("name over 64 characters")
BAD_NAME = Dropped("name not allowed")
LONG_DESCRIPTION = Dropped("description over 1,024 characters")
USERS_ONLY = "only for users"
SOME_FILES = "only for some files"


class _Invalid(Exception):  # noqa: N818  never leaves this module
    """The block is not YAML for the client."""


class _Loader(yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader):  # type: ignore[misc]  # either
    """Nodes without types: the meaning of a plain scalar depends on the client."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  PyYAML's own way


Fields = dict[str, yaml.Node]


def _fields(text: str, *, twice: Iterable[str] | None = None, own_tags: bool = True) -> Fields:
    """Return the top-level keys of a block. `twice`: keys that must not be repeated; None: no key at any depth."""
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise _Invalid from error
    if not isinstance(node, yaml.MappingNode):
        if node is None or (isinstance(node, yaml.ScalarNode) and not node.value):
            return {}
        raise _Invalid
    if twice is None:
        _check_keys(node)
    fields: Fields = {}
    for key, value in node.value:
        name = str(key.value) if isinstance(key, yaml.ScalarNode) else ""
        if name in fields and twice is not None and name in twice:
            raise _Invalid
        if not own_tags and _has_own_tag(value):
            raise _Invalid
        fields[name] = value
    return fields


def _check_keys(node: yaml.Node) -> None:
    """Raise if a key is repeated, at any depth."""
    if isinstance(node, yaml.MappingNode):
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if len(set(keys)) < len(keys):
            raise _Invalid
    for item in _children(node):
        _check_keys(item)


def _has_own_tag(node: yaml.Node) -> bool:
    """Return whether there is a tag that is not one of YAML's own."""
    return (node.tag.startswith("!") and node.tag != "!") or any(map(_has_own_tag, _children(node)))


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [value for _, value in node.value]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


_NULL = ("", "~", "null", "Null", "NULL")
_BOOL = ("true", "True", "TRUE", "false", "False", "FALSE")
_NUMBER = re.compile(r"[-+]?(0x[0-9a-fA-F]+|0o[0-7]+|(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|\.(inf|Inf|INF))")
_DATE = re.compile(r"\d{4}-(0\d|1[0-2])-([0-2]\d|3[01])(?:[Tt ].*)?")


def _text(node: yaml.Node, *, dates: bool = True) -> str | None:
    """Return the text of a scalar that YAML reads as text; None for anything else."""
    if not isinstance(node, yaml.ScalarNode):
        return None
    value = str(node.value)
    if node.style is not None and node.style != "":
        return value
    typed = value in _NULL or value in _BOOL or _NUMBER.fullmatch(value) or (not dates and _DATE.fullmatch(value))
    return None if typed else value


def _scalar(node: yaml.Node | None) -> str | None:
    """Return the text of any scalar; None if there is no value. Raises for a list or a mapping."""
    if node is None or (isinstance(node, yaml.ScalarNode) and not node.style and node.value in _NULL):
        return None
    if not isinstance(node, yaml.ScalarNode):
        raise _Invalid
    return str(node.value)


def _is_true(node: yaml.Node | None) -> bool:
    """Return whether the value is a true boolean, or the word `true` in quotes."""
    return isinstance(node, yaml.ScalarNode) and (node.value == "true" or (not node.style and node.value in _BOOL[:3]))


_CLAUDE_BLOCK = re.compile(r"---\s*\n(.*?)---\s*\n?", re.DOTALL)
_CLAUDE_LINE = re.compile(r"([a-zA-Z_-]+):\s+(.+)")
_CLAUDE_SPECIAL = re.compile(r"[{}\[\]*&#!|>%@`]|: ")
_TITLE = re.compile(r"#+\s+(.+)")
_TABS = re.compile(r"^\t+", re.MULTILINE)
CLAUDE_MOST = 1536


def claude_code(data: bytes, folder: str) -> Reading:
    """Read a skill like Claude Code 2.1, which drops none: the directory is the name, the first line a fallback."""
    text = data.decode("utf-8", "replace")
    found = _CLAUDE_BLOCK.match(text)
    fields: Fields = {}
    if found:
        block, text = found[1], text[found.end() :]
        try:
            fields = _fields(block, twice=())
        except _Invalid:
            try:
                quoted = "\n".join(map(_quote_for_claude, block.split("\n")))
                fields = _fields(_TABS.sub(lambda tabs: "  " * len(tabs[0]), quoted), twice=())
            except _Invalid:
                fields = {}
    description = _describe_for_claude(fields.get("description")) or _first_line(text)
    when = fields.get("when_to_use")
    if isinstance(when, yaml.ScalarNode) and when.value not in _NULL:
        description = f"{description} - {when.value}"
    hidden = USERS_ONLY if _is_true(fields.get("disable-model-invocation")) else ""
    if not hidden and _has_paths(fields.get("paths")):
        hidden = SOME_FILES
    cut = len(description) > CLAUDE_MOST
    return Loaded(folder, description[: CLAUDE_MOST - 1] + "…" if cut else description, hidden, cut)


def claude_plugin(data: bytes, folder: str) -> Reading:
    """Read a plugin's skill like Claude Code 2.1: it needs a description, and its name has plain letters."""
    found = _CLAUDE_BLOCK.match(data.decode("utf-8", "replace"))
    read = claude_code((found[0] if found else "").encode() + b"\0", folder)  # the text of the skill does not count
    if isinstance(read, Loaded) and read.description != "\0":
        return read._replace(name=re.sub(r"[^a-zA-Z0-9_:-]", "-", folder))
    return NO_DESCRIPTION


def _quote_for_claude(line: str) -> str:
    found = _CLAUDE_LINE.fullmatch(line)
    if not found:
        return line
    value = found[2]
    if (value[0] == value[-1] and value[0] in "\"'") or not _CLAUDE_SPECIAL.search(value):
        return line
    if value.startswith("[") and value.endswith("]") and _is_alone(value, yaml.SequenceNode):
        return line
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'{found[1]}: "{escaped}"'


def _is_alone(text: str, kind: type[yaml.Node]) -> bool:
    """Return whether the text alone is YAML of this kind."""
    try:
        return isinstance(yaml.compose(text, Loader=_Loader), kind)
    except yaml.YAMLError:
        return False


def _describe_for_claude(node: yaml.Node | None) -> str:
    if not isinstance(node, yaml.ScalarNode) or (not node.style and node.value in _NULL):
        return ""
    value = str(node.value)
    if not node.style and _NUMBER.fullmatch(value):
        number = float(int(value, 0)) if value.lower().lstrip("+-").startswith(("0x", "0o")) else float(value)
        value = str(int(number)) if number.is_integer() else str(number)
    return value.strip()


def _has_paths(node: yaml.Node | None) -> bool:
    words: list[str] = []
    if isinstance(node, yaml.SequenceNode):
        words = [str(item.value) for item in node.value]
    elif isinstance(node, yaml.ScalarNode) and node.value not in _NULL:
        words = str(node.value).split(",")
    paths = [word.strip().removesuffix("/**") for word in words if word.strip()]
    return bool(paths) and any(path != "**" for path in paths)


def _first_line(text: str) -> str:
    for line in text.split("\n"):
        if stripped := line.strip().strip("\ufeff"):
            found = _TITLE.fullmatch(stripped)
            shown = found[1] if found else stripped
            return f"{shown[:97]}..." if len(shown) > 100 else shown
    return "Skill"


_CODEX_LINE = re.compile(r"(\s*(?:- )?[^\s:#'\"][^:]*):[ \t]+(.*)")
CODEX_MOST = 1024


def codex(data: bytes, folder: str) -> Reading:
    """Read a skill like Codex 0.166: it needs a description; a broken block is read again with quoted values."""
    try:
        lines = data.decode("utf-8").splitlines()
    except UnicodeDecodeError:
        return Dropped("not UTF-8")
    end = next((at for at, line in enumerate(lines[1:], 1) if line.strip() == "---"), 0)
    if not lines or lines[0].strip() != "---" or end < 2:
        return NO_FRONTMATTER
    block = "\n".join(lines[1:end])
    try:
        name, description = _codex_fields(block)
    except _Invalid:
        try:
            name, description = _codex_fields("\n".join(map(_quote_for_codex, lines[1:end])))
        except _Invalid:
            return BAD_YAML
    name, description = name or folder, " ".join(description.split())
    if len(name) > 64:
        return LONG_NAME
    if not description:
        return NO_DESCRIPTION
    cut = len(description) > CODEX_MOST
    return Loaded(name, description[: CODEX_MOST - 3] + "..." if cut else description, cut=cut)


def _codex_fields(block: str) -> tuple[str, str]:
    fields = _fields(block, twice=("name", "description", "metadata"))
    metadata = fields.get("metadata")
    if isinstance(metadata, yaml.MappingNode):
        for key, value in metadata.value:
            if key.value == "short-description":
                _scalar(value)
    elif _scalar(metadata) is not None:
        raise _Invalid
    return " ".join((_scalar(fields.get("name")) or "").split()), _scalar(fields.get("description")) or ""


def _quote_for_codex(line: str) -> str:
    found = _CODEX_LINE.fullmatch(line)
    if not found or found[2].startswith(('"', "'", "|", ">")):
        return line
    value = re.split(r"\s#", found[2], maxsplit=1)[0].strip()
    odd = re.search(r":\s", value) or value.startswith(("@", "`"))
    if not odd and value.startswith(("[", "{")):
        odd = not _is_alone(value, yaml.CollectionNode)
    return f"{found[1]}: '{value.replace(chr(39), chr(39) * 2)}'" if odd else line


_GEMINI_BLOCK = re.compile(r"---\r?\n(.*?)\r?\n---", re.DOTALL)
_GEMINI_FIELD = re.compile(r"\s*(name|description):\s*(.*)")


def gemini(data: bytes, _folder: str) -> Reading:
    """Read a skill like Gemini CLI 0.61: both fields, by YAML or by regular expressions; nothing is cut or hidden."""
    found = _GEMINI_BLOCK.match(data.decode("utf-8", "replace"))
    if not found:
        return NO_FRONTMATTER
    try:
        fields = _fields(found[1] + "\n", own_tags=False)
        name, description = (_text(fields[key]) if key in fields else None for key in ("name", "description"))
    except _Invalid:
        name = description = None
    if name is None or description is None:
        name, description = _search_for_gemini(re.split(r"\r?\n", found[1]))
    if name is None:
        return NO_NAME
    if description is None:
        return NO_DESCRIPTION
    return Loaded(re.sub(r'[:\\/<>*?"|]', "-", name), description)


def _search_for_gemini(lines: list[str]) -> tuple[str | None, str | None]:
    name = description = None
    at = 0
    while at < len(lines):
        found = _GEMINI_FIELD.fullmatch(lines[at])
        at += 1
        if found and found[1] == "name":
            name = found[2].strip()
        elif found:
            parts = [found[2].strip()]
            while at < len(lines) and re.match(r"[ \t]+\S", lines[at]):
                parts.append(lines[at].strip())
                at += 1
            description = " ".join(filter(None, parts))
    return name, description


_OPENCODE_LINE = re.compile(r"([a-zA-Z_][a-zA-Z0-9_]*)\s*:\s*(.*)")


def opencode(data: bytes, _folder: str) -> Reading:
    """Read a skill like OpenCode 1.18: YAML, if necessary again with colons in block scalars; both fields are text."""
    text = data.decode("utf-8-sig", "replace")
    if not text.startswith("---") or text.startswith("----"):
        return NO_FRONTMATTER
    block = re.sub(r".*", "", text[3:], count=1)
    block = block.split("\n---", 1)[0]
    try:
        fields = _opencode_fields(block)
    except _Invalid:
        found = re.match(r"---\r?\n(.*?)\r?\n---", text, re.DOTALL)
        if not found:
            return BAD_YAML
        try:
            fields = _opencode_fields("\n".join(map(_block_for_opencode, re.split(r"\r?\n", found[1]))))
        except _Invalid:
            return BAD_YAML
    if "name" not in fields or (name := _text(fields["name"], dates=False)) is None:
        return NO_NAME
    if "description" not in fields or (description := _text(fields["description"], dates=False)) is None:
        return NO_DESCRIPTION
    return Loaded(name, description)


def _opencode_fields(block: str) -> Fields:
    """Parse a block without tabs as indentation; a merge key must merge a mapping."""
    fields = _fields(_TABS.sub("", block) + "\n", own_tags=False)
    if isinstance(fields.get("<<"), yaml.ScalarNode):
        raise _Invalid
    return fields


def _block_for_opencode(line: str) -> str:
    found = _OPENCODE_LINE.fullmatch(line)
    value = found[2].strip() if found else ""
    if not found or value in ("", ">", "|") or value.startswith(('"', "'")) or ":" not in value:
        return line
    return f"{found[1]}: |-\n  {value}"


_COPILOT_BLOCK = re.compile(r"---[ \t]*\r?\n(.*?)^---[ \t]*\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_COPILOT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*")
COPILOT_MOST = 1024


def copilot(data: bytes, folder: str) -> Reading:
    """Read a skill like Copilot CLI 1.0: strict YAML; a wrong field drops the skill, a missing one does not."""
    text = data.decode("utf-8-sig", "replace")
    found = _COPILOT_BLOCK.match(text)
    if not found:
        return NO_FRONTMATTER
    fields: Fields = {}
    try:
        fields = _fields(found[1])
    except _Invalid:
        if not _is_alone(found[1], yaml.ScalarNode) and not _is_alone(found[1], yaml.SequenceNode):
            return BAD_YAML
    name = _text(fields["name"]) if "name" in fields else folder
    if name is None:
        return NO_NAME
    name = re.sub(r" +", "-", name.strip(" "))
    if len(name) > 64:
        return LONG_NAME
    if not _COPILOT_NAME.fullmatch(name):
        return BAD_NAME
    description = _text(fields["description"]) if "description" in fields else _first_paragraph(text[found.end() :])
    if description is None:
        return NO_DESCRIPTION
    if len(description) > COPILOT_MOST:
        return LONG_DESCRIPTION
    if wrong := _wrong_for_copilot(fields):
        return Dropped(f"{wrong} has the wrong type")
    hidden = USERS_ONLY if _is_true(fields.get("disable-model-invocation")) else ""
    return Loaded(name, description.rstrip("\n"), hidden)


def _wrong_for_copilot(fields: Fields) -> str:
    """Return the field that has the wrong type; "" if there is none."""
    for name in ("disable-model-invocation", "user-invocable"):
        node = fields.get(name)
        if node is not None and not (isinstance(node, yaml.ScalarNode) and not node.style and node.value in _BOOL):
            return name
    if "argument-hint" in fields and _text(fields["argument-hint"]) is None:
        return "argument-hint"
    tools = fields.get("allowed-tools")
    words = tools.value if isinstance(tools, yaml.SequenceNode) else [tools] if tools else []
    return "allowed-tools" if any(_text(word) is None for word in words) else ""


def _first_paragraph(text: str) -> str:
    for part in re.split(r"\n\s*\n", text.strip()):
        if words := " ".join(line.strip() for line in part.split("\n") if not line.lstrip().startswith("#")):
            return words
    return ""


def standard(data: bytes, folder: str) -> Reading:
    """Read a skill by the Agent Skills standard, leniently: name or directory, and a description that is text."""
    read = copilot(data, folder)
    if isinstance(read, Dropped):
        return read
    return NO_DESCRIPTION if not read.description else read._replace(hidden="")


READERS: dict[str, Callable[[bytes, str], Reading]] = {
    "claude-code": claude_code,
    "claude-plugin": claude_plugin,
    "codex": codex,
    "gemini": gemini,
    "opencode": opencode,
    "copilot": copilot,
    "standard": standard,
}
