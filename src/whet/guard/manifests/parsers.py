"""Reading configuration without trusting it: bounded parsers, a bounded walk, and notes of the findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.guard.expression import expression
from whet.guard.finding import Fact, Hit, Seen
from whet.guard.patterns import line_of, shorten
from whet.guard.rules import severity_of
from whet.guard.tables import shape, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whet.guard.finding import Severity
    from whet.guard.taint.network import Judgement

_LARGEST = {"json": 2_000_000, "yaml": 300_000, "toml": 500_000}
_DEEP = expression(r"(?:[\[{]\s{0,4}){60}")
_COMMENT = expression(r"(\"(?:[^\"\\\n]|\\.){0,5000}\")|//[^\n]{0,2000}|/\*(?:[^*]|\*(?!/)){0,5000}\*/")
_TRAILING = expression(r",(\s{0,200}[}\]])")
_MOST_NODES = 5000
_DEEPEST = 30


def parse(text: str, kind: str) -> Any:
    """Return the value of a JSON (comments allowed), YAML or TOML text; `None` if it is invalid or made to be a burden."""
    if len(text) > _LARGEST[kind] or _DEEP.search(text):
        return None
    try:
        match kind:
            case "json":
                return _json(text)
            case "toml":
                import tomllib

                return tomllib.loads(text)
            case _:
                return read_yaml(text)
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError, ArithmeticError):
        return None


def _json(text: str) -> Any:
    import json

    try:
        return json.loads(text.lstrip("\ufeff"))
    except ValueError:
        return json.loads(plain_json(text))


def plain_json(text: str) -> str:
    """Return JSON without comments and trailing commas, with everything on its original line."""
    return _TRAILING.sub(r"\1", _COMMENT.sub(lambda found: found[1] or "\n" * found[0].count("\n"), text))


def read_yaml(text: str) -> Any:
    """Load YAML after a check of its events: the loader recurses in C, where too much depth ends the process."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    depth = aliases = 0
    try:
        for event in yaml.parse(text, Loader=loader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            aliases += isinstance(event, yaml.AliasEvent)
            if depth > _DEEPEST or aliases > (4 if "<<" in text else 40):
                return None
        return yaml.load(text, Loader=loader)  # noqa: S506  a safe loader, in C if available
    except yaml.YAMLError:
        return None


def walk(value: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield every (key, value, owner) below a value, outermost first, up to a limit."""
    rows: list[tuple[Any, int]] = [(value, 0)]
    count = 0
    while rows:
        owner, depth = rows.pop(0) if len(rows) < 200 else rows.pop()
        inner: list[tuple[Any, Any]] = []
        if isinstance(owner, dict):
            inner = list(owner.items())
        elif isinstance(owner, list):
            inner = [("", item) for item in owner]
        for key, item in inner:
            count += 1
            if count > _MOST_NODES:
                return
            yield str(key), item, owner
            if depth < _DEEPEST and isinstance(item, dict | list):
                rows.append((item, depth + 1))


_PIPED = shape("manifests", "piped")


def runs_fetched(command: str) -> bool:
    """Return whether a command runs what it has just fetched or decoded, which is bad wherever nobody watches."""
    return _PIPED.search(command) is not None


def table(value: Any) -> dict[str, Any]:
    """Return a mapping with text keys; empty for any other value."""
    return {str(key): item for key, item in value.items()} if isinstance(value, dict) else {}


def texts(value: Any) -> list[str]:
    """Return a text or a list of texts as a list."""
    if isinstance(value, str):
        return [value]
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


class Notes:
    """The hits and facts of one document, with their lines."""

    def __init__(self, text: str, kind: str) -> None:
        self.text = text
        self.kind = kind
        self.hits: list[Hit] = []
        self.facts: list[Fact] = []

    def line(self, needle: str) -> int:
        """Return the line that contains `needle`, or 1 if it cannot be found."""
        for way in (needle, _escaped(needle), needle.split("\n", maxsplit=1)[0], needle[:40]):
            if way and (at := self.text.find(way)) >= 0:
                return line_of(self.text, at)
        return 1

    def hit(
        self, rule: str, needle: str, severity: Severity | None = None, subject: str = "", message: str = ""
    ) -> None:
        """Add a hit of a rule at the line of `needle`."""
        self.hits.append(Hit(rule, self.line(needle), shorten(needle), severity, subject, message))

    def report(self, found: Iterable[Judgement], needle: str) -> None:
        """Add the judgements at the line of `needle`."""
        for one in found:
            self.hit(one.rule, needle, one.severity, one.subject, one.message)

    def command(self, command: str, read: str = "") -> bool:
        """Judge a command that a shell will run, and return whether it is dangerous."""
        from whet.guard.shell import checker as shell

        if not command.strip():
            return False
        seen = shell.check((read or command)[:20_000])
        line = self.line(command)
        self.hits += [hit._replace(line=line + hit.line - 1 if "\n" in command else line) for hit in seen.hits]
        self.facts += [fact._replace(line=line) for fact in seen.facts]
        return any(severity_of(hit) != "info" for hit in seen.hits)

    def commands(self, rows: list[str]) -> None:
        """Judge commands at their lines of the document; all other rows are blank."""
        from whet.guard.shell import checker as shell

        if any(rows):
            seen = shell.check("\n".join(rows))
            self.hits += seen.hits
            self.facts += seen.facts

    def seen(self) -> Seen:
        """Return all hits and facts, each once."""
        return Seen(tuple(dict.fromkeys(self.hits)), tuple(dict.fromkeys(self.facts)))


def _escaped(text: str) -> str:
    import json

    return json.dumps(text, ensure_ascii=False)[1:-1]


_COMMAND_KEYS = words("manifests", "command_keys")
_HOOK = expression(r"^(?:pre|post|on)[-_A-Za-z]{3,40}(?:[cC]ommand|[cC]md|script)?s?$")
_BUSY = shape("manifests", "busy", 0)


def commands(notes: Notes, data: Any) -> None:
    """Check the commands of a workflow, task or pipeline, whatever it is called."""
    for command in _commands(data):
        notes.command(command)


def _commands(data: Any) -> Iterator[str]:
    count = 0
    for key, value, _ in walk(data):
        if isinstance(value, list) and "|" in value:  # the words of a pipeline, which some program joins
            yield " ".join(texts(value))
            continue
        if key.lower() not in _COMMAND_KEYS and not _HOOK.match(key):
            continue
        found = texts(value) if not isinstance(value, dict) else [one for one in value.values() if isinstance(one, str)]
        for command in found:
            if len(command) > 6 and _BUSY.search(command) and count < 60:
                count += 1
                yield command
