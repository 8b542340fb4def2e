"""Every spelling skills are written in, mapped to the one `Skill`.

A skill says the same thing in different words depending on the agent it was written for. Each `_reader` below gathers
one meaning from all its spellings; the first spelling that says something wins, lists are joined without doubles. What
cannot be used (a description that is a list, a platform nobody knows) becomes a diagnostic, never an exception.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.skill.body import WHEN, WHEN_NOT, first_prose, section
from whet.skill.coerce import listing, mapping, one_line, split_tools, text, truth, unique, words
from whet.skill.diagnostics import Diagnostic
from whet.skill.model import OPEN, EnvVar, Execution, Gates, Interface, Setting, Skill, Tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.skill.frontmatter import Document

DESCRIPTION_FALLBACK = 80
"""Characters taken from the first prose line of the body when there is no description."""

_PLAIN_KEYS = frozenset(
    (
        "name",
        "description",
        "license",
        "version",
        "author",
        "compatibility",
        "homepage",
        "tags",
        "category",
        "language",
        "id",
        "created",
        "updated",
        "created_at",
        "updated_at",
        "date_added",
        "slug",
        "summary",
        "title",
        "source",
        "origin",
        "risk",
        "domain",
        "subdomain",
        "triggers",
        "keywords",
        "when_to_use",
        "related_skills",
        "allowed-tools",
        "argument-hint",
        "arguments",
        "model",
        "effort",
        "agent",
        "context",
        "repository",
        "examples",
        "source_url",
        "display_name",
        "hermes_version",
    )
)
"""Keys that say nothing about gates; frontmatter with only these needs no closer look when a library is listed."""


class Sidecars(NamedTuple):
    """Metadata files beside SKILL.md, already parsed; None when absent."""

    skill_json: dict[str, Any] | None = None
    openai_yaml: dict[str, Any] | None = None


NO_SIDECARS = Sidecars()


def read_skill(
    document: Document, *, fallback_name: str = "", sidecars: Sidecars = NO_SIDECARS, category: str = ""
) -> Skill:
    """The skill a document describes. `fallback_name` is the directory's name (or the flat file's stem)."""
    return _Reader(document, sidecars).skill(fallback_name, category)


def read_heading(
    document: Document, *, fallback_name: str, sidecars: Sidecars = NO_SIDECARS
) -> tuple[str, str, Gates | None, str, tuple[Diagnostic, ...]]:
    """Only what a list shows: name, description, gates (None when open), declared category, diagnostics."""
    reader = _Reader(document, sidecars)
    name, description = reader.name(fallback_name), reader.description()
    values = document.values
    gates: Gates | None = None
    category = ""
    if sidecars is not NO_SIDECARS or not _PLAIN_KEYS.issuperset(values):
        found = reader.gates()
        gates = None if found == OPEN else found
        category = reader.category()
    return name, description, gates, category, tuple(reader.notes)


_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLATFORMS = {
    **dict.fromkeys(("macos", "darwin", "mac", "osx", "mac os"), "macos"),
    **dict.fromkeys(("linux", "gnu/linux", "wsl"), "linux"),
    **dict.fromkeys(("windows", "win32", "win"), "windows"),
}
_ANY_PLATFORM = frozenset(("all", "any", "*"))


class _Reader:
    def __init__(self, document: Document, sidecars: Sidecars) -> None:
        self.document = document
        self.values = document.values
        self.metadata = mapping(self.values.get("metadata"))
        self.hermes = mapping(self.metadata.get("hermes"))
        self.whet = mapping(self.metadata.get("whet"))
        self.openclaw: dict[str, Any] = {}
        for vendor in ("openclaw", "clawdbot", "clawdis", "moltbot"):
            self.openclaw = self.openclaw or mapping(self.metadata.get(vendor))
        self.json = sidecars.skill_json or {}
        self.codex = sidecars.openai_yaml or {}
        self.notes: list[Diagnostic] = list(document.diagnostics)

    def note(self, code: str, severity: Any, message: str, key: str = "", hint: str = "") -> None:
        self.notes.append(Diagnostic(code, severity, message, self.document.lines.get(key), hint))

    def said(self, *paths: str) -> str:
        """The first of the named places (dotted paths of the frontmatter, then skill.json) that holds a scalar."""
        for path in paths:
            if path in self.document.texts:
                if written := self.document.texts[path]:
                    return written
                continue
            value: Any = self.values
            for part in path.split("."):
                value = mapping(value).get(part)
            if found := text(value):
                return found
        return next((found for path in paths if (found := text(self.json.get(path)))), "")

    # name and description

    def scalar(self, key: str) -> str:
        value = self.values.get(key)
        if value is None or isinstance(value, str):
            return one_line(value) if value else ""
        written = self.document.texts.get(key, "")
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            written = " ".join(value)
        if written:
            self.note(f"{key}-not-text", "warning", f"The {key} is not text; read as {written!r}.", key, "Quote it.")
            return one_line(written)
        self.note(f"{key}-refused", "error", f"The {key} is a {_kind(value)}, not text; it was ignored.", key)
        return ""

    def name(self, fallback: str) -> str:
        name = self.scalar("name")
        other = text(self.json.get("name"))
        if name and other and name != other:
            self.note(
                "skill-json-disagrees", "warning", f"skill.json says name {other!r}; the frontmatter wins.", "name"
            )
        if not name and other:
            return one_line(other)
        if not name:
            self.note(
                "name-missing", "warning", f"There is no name; {fallback!r} is used.", hint=f"Add `name: {fallback}`."
            )
            return fallback
        if (
            fallback
            and name != fallback
            and unicodedata.normalize("NFKC", name) != unicodedata.normalize("NFKC", fallback)
        ):
            self.note(
                "name-directory-mismatch",
                "info",
                f"The name {name!r} differs from the directory {fallback!r}.",
                "name",
                "Give both the same name.",
            )
        return name

    def description(self) -> str:
        own = self.scalar("description")
        other = one_line(text(self.json.get("description")))
        if own and other and own != other:
            self.note(
                "skill-json-disagrees",
                "warning",
                "skill.json has another description; the frontmatter wins.",
                "description",
            )
        if own or other:
            return own or other
        prose = one_line(first_prose(self.document.body))
        if prose:
            if len(prose) > DESCRIPTION_FALLBACK:
                prose = prose[: DESCRIPTION_FALLBACK - 1].rstrip() + "…"
            self.note(
                "description-from-body",
                "warning",
                "There is no description; the first line of the body stands in for it.",
                "description",
                "Add a description that says what the skill does and when to use it.",
            )
            return prose
        self.note(
            "description-missing",
            "error",
            "There is no description and no text to take one from; the skill is not offered to the model.",
            "description",
            "Add a description.",
        )
        return ""

    def category(self) -> str:
        return self.said("metadata.hermes.category", "category")

    # gates

    def gates(self) -> Gates:
        values, hermes, openclaw = self.values, self.hermes, self.openclaw
        needs = mapping(openclaw.get("requires"))
        prerequisites = mapping(values.get("prerequisites"))
        policy = mapping(self.codex.get("policy"))
        return Gates(
            platforms=self.platforms(),
            env=tuple(self.env()),
            commands=unique(
                (
                    *words(prerequisites.get("commands")),
                    *words(needs.get("bins")),
                    *words(values.get("required_commands")),
                )
            ),
            any_commands=words(needs.get("anyBins")),
            tools=_tools(
                ("tool", values.get("tools_required")),
                ("tool", hermes.get("requires_tools")),
                ("toolset", hermes.get("requires_toolsets")),
                ("tool", mapping(self.codex.get("dependencies")).get("tools")),
            ),
            optional_tools=_tools(("tool", values.get("tools_optional"))),
            fallback_for=_tools(
                ("tool", hermes.get("fallback_for_tools")), ("toolset", hermes.get("fallback_for_toolsets"))
            ),
            settings=tuple(self.settings()),
            model_invocable=not self.flag("disable-model-invocation", default=False)
            and truth(policy.get("allow_implicit_invocation")) is not False,
            user_invocable=self.flag("user-invocable", "user-invokable", default=True),
            products=words(policy.get("products")),
            paths=words(values.get("paths"), separators=r"\s*,\s*")
            or words(values.get("globs"), separators=r"\s*,\s*"),
        )

    def flag(self, *keys: str, default: bool) -> bool:
        for key in keys:
            value = self.values.get(key, self.values.get(key.replace("-", "_")))
            if value is None:
                continue
            answer = truth(value)
            if answer is not None:
                return answer
            self.note("not-a-boolean", "warning", f"{key} is {value!r}; true or false was expected.", key)
        return default

    def platforms(self) -> tuple[str, ...]:
        found: list[str] = []
        for place in (self.values.get("platforms"), self.values.get("platform"), self.openclaw.get("os")):
            for word in words(place):
                platform = _PLATFORMS.get(word.lower())
                if word.lower() in _ANY_PLATFORM:
                    return ()
                if platform is None:
                    self.note(
                        "platform-unknown",
                        "warning",
                        f"Unknown platform {word!r}.",
                        "platforms",
                        "Use macos, linux or windows.",
                    )
                found.append(platform or word.lower())
        return unique(found)

    def env(self) -> Iterator[EnvVar]:
        values, openclaw = self.values, self.openclaw
        setup = mapping(values.get("setup"))
        seen: set[str] = set()
        places = (
            *listing(values.get("required_environment_variables")),
            *listing(setup.get("collect_secrets")),
            *words(mapping(values.get("prerequisites")).get("env_vars")),
            *listing(openclaw.get("envVars")),
            *words(mapping(openclaw.get("requires")).get("env")),
            *words(openclaw.get("primaryEnv")),
        )
        for place in places:
            entry = place if isinstance(place, dict) else {"name": place}
            name = text(entry.get("name") or entry.get("env_var"))
            if name in seen:
                continue
            if not _ENV_NAME.fullmatch(name):
                self.note("env-name-refused", "warning", f"{name!r} is not the name of an environment variable.")
                continue
            seen.add(name)
            optional = truth(entry.get("optional")) is True or truth(entry.get("required")) is False
            yield EnvVar(
                name,
                text(entry.get("prompt")) or f"Enter a value for {name}",
                text(entry.get("help") or entry.get("description") or entry.get("provider_url") or entry.get("url"))
                or text(setup.get("help")),
                text(entry.get("required_for")),
                optional,
            )

    def settings(self) -> Iterator[Setting]:
        seen: set[str] = set()
        for entry in listing(self.hermes.get("config")):
            item = mapping(entry)
            key = text(item.get("key"))
            if key and key not in seen:
                seen.add(key)
                yield Setting(key, text(item.get("description")), item.get("default"), text(item.get("prompt")))

    # the whole skill

    def skill(self, fallback_name: str, category: str) -> Skill:
        values, body = self.values, self.document.body
        name, description = self.name(fallback_name), self.description()
        return Skill(
            name=name,
            description=description,
            body=body,
            version=self.said("version", "metadata.version"),
            license=self.said("license"),
            author=self.said("author", "metadata.author"),
            compatibility=self.said("compatibility") or ", ".join(words(values.get("compatibility"), separators=r"\n")),
            homepage=self.said("homepage", "metadata.openclaw.homepage", "metadata.homepage"),
            language=self.said("language", "metadata.language"),
            created=self.said("created", "created_at", "metadata.created", "date_added"),
            updated=self.said("updated", "updated_at", "metadata.updated"),
            id=self.said("id", "metadata.id"),
            tags=unique(
                (
                    *words(values.get("tags"), separators=r"\s*,\s*"),
                    *words(self.hermes.get("tags"), separators=r"\s*,\s*"),
                    *words(self.metadata.get("tags"), separators=r"\s*,\s*"),
                    *words(self.json.get("tags"), separators=r"\s*,\s*"),
                )
            ),
            category=self.category() or category,
            related=unique((*words(self.hermes.get("related_skills")), *words(values.get("related_skills")))),
            when_to_use=self.said("when_to_use", "when-to-use") or section(body, WHEN),
            when_not_to_use=self.said("when_not_to_use", "when-not-to-use") or section(body, WHEN_NOT),
            triggers=unique(
                (
                    *words(self.whet.get("triggers"), separators=r"\s*[,\n]\s*"),
                    *words(values.get("triggers"), separators=r"\s*[,\n]\s*"),
                )
            ),
            gates=self.gates(),
            setup_help=text(mapping(values.get("setup")).get("help")),
            allowed_tools=split_tools(values.get("allowed-tools", values.get("allowed_tools"))),
            disallowed_tools=split_tools(values.get("disallowed-tools", values.get("disallowed_tools"))),
            execution=self.execution(),
            arguments=words(values.get("arguments")),
            argument_hint=self.said("argument-hint") or " ".join(words(values.get("argument-hint"))),
            interface=self.interface(),
            runtime=tuple(
                (key, text(value)) for key, value in values.items() if key.endswith("_version") and text(value)
            ),
            step=self.document.step,
            frontmatter=values,
            diagnostics=tuple(self.notes),
        )

    def execution(self) -> Execution:
        context = self.said("context").lower()
        if context not in ("", "inline", "fork"):
            self.note(
                "context-unknown",
                "warning",
                f"context is {context!r}; inline is used.",
                "context",
                "Use inline or fork.",
            )
        return Execution(
            "fork" if context == "fork" else "inline",
            self.said("agent"),
            self.said("model"),
            self.said("effort"),
            truth(self.values["background"]) if "background" in self.values else None,
            self.said("shell"),
            self.values.get("hooks"),
        )

    def interface(self) -> Interface:
        look = mapping(self.codex.get("interface"))
        fields = {key: text(look.get(key)) for key in Interface._fields}
        fields["emoji"] = text(self.openclaw.get("emoji")) or self.said("metadata.emoji", "emoji")
        return Interface(**fields)


def _tools(*places: tuple[str, Any]) -> tuple[Tool, ...]:
    found: dict[tuple[str, str], Tool] = {}
    for kind, place in places:
        for entry in words(place) if isinstance(place, str) else listing(place):
            if isinstance(entry, dict):
                tool = Tool(
                    text(entry.get("value") or entry.get("name")),
                    text(entry.get("type")) or kind,
                    *(text(entry.get(key)) for key in ("description", "transport", "command", "url")),
                )
            else:
                tool = Tool(text(entry), kind)
            if tool.name:
                found.setdefault((tool.kind, tool.name), tool)
    return tuple(found.values())


def _kind(value: Any) -> str:
    return "mapping" if isinstance(value, dict) else type(value).__name__


def _nfkc(name: str) -> str:
    return unicodedata.normalize("NFKC", name)
