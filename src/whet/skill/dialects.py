"""The dialects of frontmatter, mapped to one `Skill`.

Skills express the same thing differently, depending on the agent they were written for. `_Reader` collects each meaning
from all its spellings; the first spelling with a value wins, and lists are joined without duplicates. An unusable value
(a description that is a list, an unknown platform) becomes a diagnostic, never an exception.
"""

from __future__ import annotations

import re
import unicodedata

from whet.notes import Note
from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.skill.body import WHEN, WHEN_NOT, first_prose, first_sentence, section
from whet.skill.coerce import listing, mapping, one_line, split_globs, split_tools, text, truth, unique, words
from whet.skill.gates import OPEN, EnvVar, Gates, Install, Setting, SkillNeed, Tool
from whet.skill.model import FIRST_VERSION, MAX_DESCRIPTION, Execution, Interface, Skill
from whet.skill.recipes import KINDS, is_sound, read_kind
from whet.skill.versions import satisfies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from whet.skill.block import Values
    from whet.skill.frontmatter import Document

DESCRIPTION_FALLBACK = 80
"""Characters taken from the first prose line of the body if there is no description."""

PLAIN_KEYS = frozenset(
    (
        *("name", "description", "license", "version", "author", "compatibility", "homepage", "tags"),
        *("category", "language", "id", "created", "updated", "created_at", "updated_at", "date_added"),
        *("slug", "summary", "title", "source", "origin", "risk", "domain", "subdomain", "triggers"),
        *("keywords", "when_to_use", "related_skills", "allowed-tools", "argument-hint", "arguments"),
        *("model", "effort", "agent", "context", "repository", "examples", "source_url", "display_name"),
        *("hermes_version", "metadata"),
    )
)
"""Keys without gates; frontmatter with only these needs no further reading when a library is listed."""
VENDORS = frozenset(
    ("hermes", "whet", "openclaw", "clawdbot", "clawdis", "moltbot", "tools_required", "tools_optional", "requires")
)
"""Keys of `metadata` below which an agent may state requirements."""
_HERMES_ASKS = frozenset(
    ("requires_tools", "requires_toolsets", "fallback_for_tools", "fallback_for_toolsets", "config")
)
"""Keys of the Hermes block that `gates` reads."""
_COMMANDS = frozenset(("bins", "anyBins"))
_OPENCLAW_PLAIN = frozenset(("requires", "emoji", "homepage", "skillKey"))
"""Keys of OpenClaw's block that require only commands, or nothing."""
_SAID: dict[str, tuple[str, ...]] = {
    "license": ("license",),
    "author": ("author.name", "author", "metadata.author.name", "metadata.author"),
    "homepage": ("homepage", "*.homepage", "metadata.homepage"),
    "language": ("language", "metadata.language"),
    "created": ("created", "created_at", "metadata.created", "date_added"),
    "updated": ("updated", "updated_at", "metadata.updated"),
    "id": ("id", "metadata.id"),
    "entry_point": ("entry_point", "entrypoint", "entry", "metadata.entry_point"),
}
"""One-line fields of a skill and their places: in the frontmatter, or at the same path of skill.json; the star stands
for OpenClaw's block.
"""
_GUIDING_KEYS = frozenset(("when_to_use", "when-to-use", "argument-hint", "argument_hint"))


class Sidecars(NamedTuple):
    """Parsed metadata files beside SKILL.md; None if missing."""

    skill_json: Values | None = None
    openai_yaml: Values | None = None


NO_SIDECARS = Sidecars()


def read_skill(
    document: Document,
    *,
    fallback_name: str = "",
    sidecars: Sidecars = NO_SIDECARS,
    category: str = "",
    flat: bool = False,
) -> Skill:
    """Read the skill of a document. `fallback_name` is the directory's name (or the flat file's stem).

    A flat file without frontmatter is read as its first change will write it: version 1, described by its first
    sentence.
    """
    return _Reader(document, sidecars, flat=flat).skill(fallback_name, category)


class Words(NamedTuple):
    """The text by which a skill is found: the fields of a `Skill` that say what it is for and how it works."""

    name: str
    description: str
    body: str
    tags: tuple[str, ...]
    when_to_use: str
    when_not_to_use: str
    triggers: tuple[str, ...]


def read_words(
    document: Document, *, fallback_name: str, sidecars: Sidecars = NO_SIDECARS, flat: bool = False
) -> Words:
    """Read only the words of a skill, at half the cost of `read_skill`."""
    return _Reader(document, sidecars, flat=flat).texts(fallback_name)


class Heading(NamedTuple):
    """The fields of a skill that a list shows, and those that decide whether it does."""

    name: str
    description: str
    category: str
    gates: Gates
    notes: tuple[Note, ...]
    when: str = ""
    """When to use it, in one line, from the frontmatter or skill.json; the instructions are not read."""
    hint: str = ""


def read_heading(
    document: Document, *, fallback_name: str, sidecars: Sidecars = NO_SIDECARS, flat: bool = False
) -> Heading:
    """Read only the heading of a skill, at a fraction of the cost of `read_skill`."""
    reader, values = _Reader(document, sidecars, flat=flat), document.values
    name, description = reader.name(fallback_name), reader.description()
    gates, category, when, hint = OPEN, "", "", ""
    if sidecars is not NO_SIDECARS or not PLAIN_KEYS.issuperset(values) or reader.may_ask():
        gates = (reader.commands() if sidecars is NO_SIDECARS else None) or reader.gates()
    if reader.json:  # rare: note its differences from the frontmatter
        reader.lines()
    if reader.json or reader.hermes or "category" in values:
        category = reader.category()
    if reader.json or not _GUIDING_KEYS.isdisjoint(values):
        when, hint = one_line(reader.when_to_use()), reader.argument_hint()
    return Heading(name, description, category, gates, tuple(reader.notes), when, hint)


def read_version(document: Document, *, flat: bool = False) -> str:
    """Read only the version that a skill declares; "" if it declares none."""
    return _Reader(document, NO_SIDECARS, flat=flat).version()


def _asks_nothing(values: Values) -> bool:
    """Return whether `metadata` is missing, or a mapping without the keys of any vendor."""
    metadata = values.get("metadata")
    return metadata is None or (isinstance(metadata, dict) and VENDORS.isdisjoint(metadata))


_OPENCLAW = (
    *(f"metadata.{vendor}" for vendor in ("openclaw", "clawdbot", "clawdis", "moltbot")),
    "openclaw",
)
"""Places of OpenClaw's block, under all names of the project."""
_ENV_NAME = compile_late(r"[A-Za-z_][A-Za-z0-9_]*")
_PLATFORMS = {
    **dict.fromkeys(("macos", "darwin", "mac", "osx", "mac os"), "macos"),
    **dict.fromkeys(("linux", "gnu/linux", "wsl"), "linux"),
    **dict.fromkeys(("windows", "win32", "win"), "windows"),
}
_LOOKS = {
    "display_name": re.compile(r".{1,64}"),
    "short_description": re.compile(r".{1,1024}", re.DOTALL),
    "default_prompt": re.compile(r".{1,1024}", re.DOTALL),
    "brand_color": re.compile(r"#[0-9A-Fa-f]{6}"),
    "icon_small": re.compile(r"(?:\./)?[^/\\:][^\\:]*"),
    "icon_large": re.compile(r"(?:\./)?[^/\\:][^\\:]*"),
}
"""Formats that Codex accepts for the appearance of a skill; it ignores other values field by field."""
_LOOKS_HINT = "Use #RRGGBB for a colour, a path inside the skill for an icon, and short texts."
_NEED = compile_late(r"([^\s<>=!~^@]+)\s*@?\s*(.*)")
"""Name of a skill and its version range."""
_MAX_NEED = 500
_ANY_PLATFORM = frozenset(("all", "any", "*"))


def _read_need(entry: Any) -> SkillNeed:
    """Read an entry: `name RANGE`, `SOURCE RANGE`, `SOURCE:name RANGE`, or a mapping; the name is "" if invalid."""
    if isinstance(entry, dict):
        said = [text(entry.get(key)) for key in ("source", "name", "version", "range")]
        need = _read_need(f"{said[0] or said[1]} {said[2] or said[3]}")
        return need._replace(name=said[1] or need.name)
    written = text(entry).strip()
    if len(written) > _MAX_NEED:
        return SkillNeed("")
    what, _, wanted = written.partition(" ")
    if "/" not in what and ":" not in what:
        found = _NEED.fullmatch(written)
        return SkillNeed(found[1], found[2].strip()) if found else SkillNeed("")
    place, colon, name = what.rpartition(":")
    if colon and "/" in place and "/" not in name and name[:1].isalpha():
        return SkillNeed(name, wanted.strip(), place)
    return SkillNeed(re.split(r"[/:#=]", what.rstrip("/"))[-1].partition("@")[0], wanted.strip(), what)


class _Reader:
    def __init__(self, document: Document, sidecars: Sidecars, *, flat: bool) -> None:
        self.document = document
        self.bare = flat and document.step == "none"
        self.values = document.values
        self.notes: list[Note] = list(document.diagnostics)
        self.hermes: Values = {}
        self.openclaw: Values = {}
        self.vendor = _OPENCLAW[0]
        if "openclaw" in self.values or not _asks_nothing(self.values):
            self._read_blocks()
        self.json = sidecars.skill_json or {}
        self.codex = sidecars.openai_yaml or {}

    def _read_blocks(self) -> None:
        if isinstance(self.values.get("metadata"), str):
            self.values = {**self.values, "metadata": self.block("metadata")}
        if self.block("metadata"):
            self.hermes = self.block("metadata.hermes")
            self.block("metadata.whet")
        for path in _OPENCLAW:
            if found := self.block(path):
                self.vendor, self.openclaw = path, found
                break

    def may_ask(self) -> bool:
        """Return whether `metadata` may state requirements. The Hermes block usually has only tags."""
        metadata = self.values.get("metadata")
        if not isinstance(metadata, dict):
            return metadata is not None
        return not _HERMES_ASKS.isdisjoint(self.hermes) or not VENDORS.isdisjoint(metadata.keys() - {"hermes"})

    def commands(self) -> Gates | None:
        """Return the gates of a skill that requires only commands, as nearly all with OpenClaw's block do.

        None for any other; this takes a tenth of the time of `gates`.
        """
        needs = self.openclaw.get("requires")
        if not isinstance(needs, dict) or self.hermes or not PLAIN_KEYS.issuperset(self.values):
            return None
        if not _COMMANDS.issuperset(needs) or not _OPENCLAW_PLAIN.issuperset(self.openclaw):
            return None
        if len(VENDORS.intersection(mapping(self.values.get("metadata")))) != 1:
            return None
        return OPEN._replace(commands=words(needs.get("bins")), any_commands=words(needs.get("anyBins")))

    def note(self, code: str, severity: Any, message: str, key: str = "", hint: str = "") -> None:
        """Record a diagnostic at the line of the key, or of its nearest parent that has one."""
        lines = self.document.lines
        while key not in lines and "." in key:
            key = key.rpartition(".")[0]
        self.notes.append(Note(code, severity, message, hint, line=lines.get(key)))

    def at(self, path: str) -> Any:
        """Return the value at a dotted path of the frontmatter."""
        key, _, below = path.partition(".")
        value = self.values.get(key)
        return value if value is None or not below else _dig(value, below)

    def block(self, path: str) -> Values:
        """Return the mapping at a dotted path; anything else there is reported."""
        value = self.at(path)
        found = mapping(value)
        if not found and value not in (None, "", {}, []):
            message = f"{path} is {_kind(value)}, not a mapping; it is ignored."
            self.note("not-a-mapping", "warning", message, path, "Write it as indented `key: value` lines.")
        return found

    def said(self, *paths: str) -> str:
        """Return the first scalar at these dotted paths of the frontmatter, or else of skill.json."""
        other = next((found for path in paths if (found := text(_dig(self.json, path)))), "") if self.json else ""
        refused = ""
        for path in paths:
            value = self.at(path)
            spelled = "" if value is None or isinstance(value, str) else self.document.texts.get(path, "")
            if found := spelled or text(value):
                if other and one_line(other) != one_line(found):
                    message = f"skill.json has a different {paths[0]}; the frontmatter wins."
                    self.note("skill-json-disagrees", "warning", message, path)
                return found
            if value and isinstance(value, dict | list):
                refused = path
        if refused:
            self.note(
                "not-text", "warning", f"{refused} is {_kind(self.at(refused))}, not text; it is ignored.", refused
            )
        return other

    def lines(self) -> dict[str, str]:
        """Return the one-line fields of the skill."""
        version = self.version()
        said = {key: self.said(*(path.replace("*", self.vendor) for path in paths)) for key, paths in _SAID.items()}
        return {"version": version, **said}

    def version(self) -> str:
        return FIRST_VERSION if self.bare else self.said("version", "metadata.version")

    def joined(self, *paths: str, glue: str = "\n") -> str:
        """Like `said`, but a list is joined with `glue`."""
        listed = next((path for path in paths if isinstance(self.at(path), list)), "")
        return glue.join(self.words(listed)) if listed else self.said(*paths)

    def words(self, *paths: str, separators: str = r"[,\s]") -> tuple[str, ...]:
        """Return the words at all these paths; a number in a list keeps its spelling."""
        found: list[str] = []
        for path in paths:
            value, texts = self.at(path), self.document.texts
            if isinstance(value, list):
                value = [item if item is None else texts.get(f"{path}.{n}", item) for n, item in enumerate(value)]
            elif isinstance(value, int | float):
                value = texts.get(path, value)
            found.extend(words(value, separators=separators))
        return unique(found)

    # name and description

    def scalar(self, key: str) -> str:
        value = self.values.get(key)
        if value is None or isinstance(value, str):
            return one_line(value) if value else ""
        written = self.document.texts.get(key, "")
        if isinstance(value, list) and (strings := [item for item in value if isinstance(item, str)]) == value:
            written = " ".join(strings)
        if written:
            self.note(f"{key}-not-text", "warning", f"The {key} is not text; read as {written!r}.", key, "Quote it.")
            return one_line(written)
        self.note(f"{key}-refused", "error", f"The {key} is {_kind(value)}, not text; it is ignored.", key)
        return ""

    def name(self, fallback: str) -> str:
        own = self.scalar("name")
        other = one_line(text(self.json.get("name")))
        if own and other and own != other:
            self.note(
                "skill-json-disagrees", "warning", f"skill.json has the name {other!r}; the frontmatter wins.", "name"
            )
        name = own or other
        if not name:
            message = f"There is no name; {fallback!r} is used."
            self.note("name-missing", "warning", message, "name", f"Add `name: {fallback}`.")
            return fallback
        if fallback and name != fallback and _nfkc(name) != _nfkc(fallback):
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
                "skill.json has a different description; the frontmatter wins.",
                "description",
            )
        if own or other:
            return own or other
        body, used = self.document.body, "sentence" if self.bare else "line"
        prose = first_sentence(body)[:MAX_DESCRIPTION].rstrip() if self.bare else one_line(first_prose(body))
        if prose:
            if not self.bare and len(prose) > DESCRIPTION_FALLBACK:
                prose = prose[: DESCRIPTION_FALLBACK - 1].rstrip() + "…"
            self.note(
                "description-from-body",
                "warning",
                f"There is no description; the first {used} of the body is used instead.",
                "description",
                "Add a description that says what the skill does and when to use it.",
            )
            return prose
        self.note(
            "description-missing",
            "error",
            "The skill has no description and no text, so it is not offered to the model.",
            "description",
            "Add a description.",
        )
        return ""

    def category(self) -> str:
        return self.said("metadata.hermes.category", "category")

    # gates

    def gates(self) -> Gates:
        values, hermes = self.values, self.hermes
        prerequisites = self.block("prerequisites")
        needs = self.block(f"{self.vendor}.requires")
        policy = mapping(self.codex.get("policy"))
        return Gates(
            platforms=self.platforms(),
            env=tuple(self.env()),
            commands=unique(
                (
                    *words(prerequisites.get("commands")),
                    *words(needs.get("bins")),
                    *words(values.get("required_commands")),
                    *(text(entry.get("value")) for entry in self.dependencies("command", "cli", "bin")),
                )
            ),
            any_commands=words(needs.get("anyBins")),
            tools=self.tools(
                ("tool", values.get("tools_required")),
                ("tool", self.at("metadata.tools_required")),
                ("tool", self.json.get("tools_required")),
                ("tool", hermes.get("requires_tools")),
                ("toolset", hermes.get("requires_toolsets")),
                ("tool", self.dependencies()),
            ),
            optional_tools=self.tools(
                ("tool", values.get("tools_optional")),
                ("tool", self.at("metadata.tools_optional")),
                ("tool", self.json.get("tools_optional")),
            ),
            fallback_for=self.tools(
                ("tool", hermes.get("fallback_for_tools")), ("toolset", hermes.get("fallback_for_toolsets"))
            ),
            settings=tuple(self.settings()),
            model_invocable=self.flag("disable-model-invocation") is not True
            and self.checked("policy.allow_implicit_invocation", policy.get("allow_implicit_invocation")) is not False,
            user_invocable=self.flag("user-invocable", "user-invokable") is not False,
            products=words(policy.get("products")),
            paths=split_globs(values.get("paths")) or split_globs(values.get("globs")),
            installs=tuple(self.installs()),
            always=self.checked(f"{self.vendor}.always", self.openclaw.get("always")) is True,
            skills=self.skills(),
        )

    def skills(self) -> tuple[SkillNeed, ...]:
        """Return the skills that this one needs: a list of texts or mappings, or a mapping of names to ranges."""
        found: list[SkillNeed] = []
        for path in ("metadata.requires.skills", "requires.skills", f"{self.vendor}.requires.skills"):
            value, texts = self.at(path), self.document.texts
            if value is None:
                continue
            if isinstance(value, dict):
                value = [f"{name} {texts.get(f'{path}.{name}', text(wanted))}" for name, wanted in value.items()]
            for entry in value.splitlines() if isinstance(value, str) else listing(value):
                need = _read_need(entry)
                if not need.name:
                    message = f"{text(entry) or _kind(entry)} does not name a skill; it is ignored."
                    self.note("dependency-refused", "warning", message, path, "Write `name >=1.2,<2`.")
                    continue
                if need.range and satisfies((0, 0, 0), need.range) is None:
                    message = f"{need.range!r} is not a range of versions, so no version of {need.name} fits."
                    self.note("dependency-refused", "warning", message, path, "Write it like `>=1.2,<2` or `^1.2`.")
                found.append(need)
        return tuple(dict.fromkeys(found))

    def dependencies(self, *kinds: str) -> list[Values]:
        """Return the dependencies of these kinds in Codex's metadata; without kinds, those that are tools."""
        if not self.codex:
            return []
        tools = [mapping(entry) for entry in listing(mapping(self.codex.get("dependencies")).get("tools"))]
        return [entry for entry in tools if (_dependency(entry) in kinds if kinds else not _dependency(entry))]

    def installs(self) -> Iterator[Install]:
        """Yield OpenClaw's recipes, and the commands of Codex's metadata."""
        path = f"{self.vendor}.install"
        for entry in map(mapping, listing(self.openclaw.get("install"))):
            package = text(entry.get("formula") or entry.get("package") or entry.get("module"))
            recipe = Install(
                read_kind(text(entry.get("kind"))),
                package,
                words(entry.get("bins")),
                *(text(entry.get("label")), words(entry.get("os"))),
                *(text(entry.get("url")), text(entry.get("sha256"))),
            )
            if is_sound(recipe):
                yield recipe
            else:
                what = package or recipe.url or text(entry.get("id")) or "without a package"
                message = f"The recipe {what!r} of kind {text(entry.get('kind'))!r} cannot be followed; it is ignored."
                hint = f"Use one of {', '.join(KINDS)}, with a plain name."
                self.note("install-refused", "warning", message, path, hint)
        for entry in self.dependencies("command", "cli", "bin"):
            if about := text(entry.get("description")):
                yield Install("", bins=(text(entry.get("value")),), label=about)

    def flag(self, *keys: str) -> bool | None:
        """Return the first boolean among these keys; hyphens may be underscores."""
        for key in keys:
            spelling = key if key in self.values else key.replace("-", "_")
            answer = self.checked(spelling, self.values.get(spelling))
            if answer is not None:
                return answer
        return None

    def checked(self, key: str, value: Any) -> bool | None:
        if value is None:
            return None
        answer = truth(value)
        if answer is None:
            message = f"{key} is {text(value) or _kind(value)}; expected true or false."
            self.note("not-a-boolean", "warning", message, key, "Write true or false.")
        return answer

    def platforms(self) -> tuple[str, ...]:
        found: list[str] = []
        for path in ("platforms", "platform", f"{self.vendor}.os"):
            for word in words(self.at(path)):
                platform = _PLATFORMS.get(word.lower())
                if word.lower() in _ANY_PLATFORM:
                    return ()
                if platform is None:
                    message = f"Unknown platform {word!r}; it matches no machine."
                    self.note("platform-unknown", "warning", message, path, "Use macos, linux or windows.")
                found.append(platform or word.lower())
        return unique(found)

    def env(self) -> Iterator[EnvVar]:
        setup = mapping(self.values.get("setup"))
        places = (
            "required_environment_variables",
            "setup.collect_secrets",
            "prerequisites.env_vars",
            f"{self.vendor}.envVars",
            f"{self.vendor}.requires.env",
            f"{self.vendor}.primaryEnv",
        )
        seen: set[str] = set()
        codex = [{**entry, "name": entry.get("value")} for entry in self.dependencies("env_var", "env")]
        for path, value in [*((path, self.at(path)) for path in places), ("agents/openai.yaml", codex)]:
            if value is None:
                continue
            for place in words(value) if isinstance(value, str) else listing(value):
                entry = place if isinstance(place, dict) else {"name": place}
                name = text(entry.get("name") or entry.get("env_var"))
                if name in seen:
                    continue
                if not _ENV_NAME.fullmatch(name):
                    message = f"{name!r} is not the name of an environment variable; it is not asked for."
                    self.note("env-name-refused", "warning", message, path, "Use letters, digits and underscores.")
                    continue
                seen.add(name)
                yield EnvVar(
                    name,
                    text(entry.get("prompt")) or f"Enter a value for {name}",
                    text(entry.get("help") or entry.get("description") or entry.get("provider_url") or entry.get("url"))
                    or text(setup.get("help")),
                    text(entry.get("required_for")),
                    truth(entry.get("optional")) is True or truth(entry.get("required")) is False,
                )

    def tools(self, *places: tuple[str, Any]) -> tuple[Tool, ...]:
        found: dict[tuple[str, str], Tool] = {}
        for kind, place in places:
            if place is None:
                continue
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
                else:
                    self.note("tool-refused", "warning", "A tool without a name is ignored.")
        return tuple(found.values())

    def settings(self) -> Iterator[Setting]:
        seen: set[str] = set()
        for key in words(mapping(self.openclaw.get("requires")).get("config")):
            seen.add(key)
            yield Setting(key, "A setting of OpenClaw that the skill asks for.")
        for entry in listing(self.hermes.get("config")):
            item = entry if isinstance(entry, dict) else {"key": entry}
            key = text(item.get("key"))
            if not key:
                self.note("setting-refused", "warning", "A setting without a key is ignored.", "metadata.hermes.config")
            elif key not in seen:
                seen.add(key)
                yield Setting(key, text(item.get("description")), item.get("default"), text(item.get("prompt")))

    # the whole skill

    def skill(self, fallback_name: str, category: str) -> Skill:
        values = self.values
        fields: dict[str, Any] = {**self.texts(fallback_name)._asdict(), **self.lines()}
        return Skill(
            **fields,
            compatibility=self.joined("compatibility", glue=", "),
            category=category or self.category(),
            related=self.words("metadata.hermes.related_skills", "related_skills"),
            gates=self.gates(),
            setup_help=text(self.block("setup").get("help")),
            allowed_tools=split_tools(values.get("allowed-tools", values.get("allowed_tools"))),
            disallowed_tools=split_tools(values.get("disallowed-tools", values.get("disallowed_tools"))),
            execution=self.execution(),
            arguments=self.words("arguments"),
            argument_hint=self.argument_hint(),
            interface=self.interface(),
            runtime=self.runtime(),
            step=self.document.step,
            frontmatter=self.document.values,
            diagnostics=tuple(self.notes),
        )

    def texts(self, fallback_name: str) -> Words:
        """Return the texts of the skill."""
        body = self.document.body
        return Words(
            name=self.name(fallback_name),
            description=self.description(),
            body=body,
            tags=unique(
                (
                    *self.words("tags", "metadata.hermes.tags", "metadata.tags", separators=","),
                    *words(self.json.get("tags"), separators=","),
                )
            ),
            when_to_use=self.when_to_use() or section(body, WHEN),
            when_not_to_use=self.joined("when_not_to_use", "when-not-to-use") or section(body, WHEN_NOT),
            triggers=self.words("metadata.whet.triggers", "triggers", separators=r"[,\n]"),
        )

    def when_to_use(self) -> str:
        return self.joined("when_to_use", "when-to-use")

    def argument_hint(self) -> str:
        """Return the hint; one such as `[file]`, which YAML reads as a list, as its author wrote it."""
        listed = isinstance(self.values.get("argument-hint"), list)
        return f"[{', '.join(self.words('argument-hint'))}]" if listed else self.said("argument-hint", "argument_hint")

    def execution(self) -> Execution:
        context = self.said("context", "metadata.context").lower()
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
            self.flag("background"),
            self.said("shell"),
            self.values.get("hooks"),
        )

    def runtime(self) -> tuple[tuple[str, str], ...]:
        """Return the agent versions it requires, from all places."""
        places = (self.values, mapping(self.at("metadata")), self.json)
        keys = unique(key for place in places for key in place if key.endswith("_version"))
        return tuple((key, said) for key in keys if (said := self.said(key, f"metadata.{key}")))

    def interface(self) -> Interface:
        look = mapping(self.codex.get("interface"))
        fields = {key: text(look.get(key)) for key in Interface._fields}
        for key, form in _LOOKS.items():
            if fields[key] and (not form.fullmatch(fields[key]) or "/../" in f"/{fields[key]}"):
                message = f"{key} in agents/openai.yaml is {fields[key][:80]!r}; it is ignored."
                self.note("interface-refused", "warning", message, "", _LOOKS_HINT)
                fields[key] = ""
        fields["short_description"] = fields["short_description"] or self.said("metadata.short-description")
        fields["emoji"] = text(self.openclaw.get("emoji")) or self.said("metadata.emoji", "emoji")
        return Interface(**fields)


def _dependency(entry: Values) -> str:
    """Return the kind of a dependency that is not a tool of the agent; "" for a tool."""
    kind = text(entry.get("type")).lower()
    return kind if kind in ("env_var", "env", "command", "cli", "bin") else ""


def _dig(value: Any, path: str) -> Any:
    for part in path.split("."):
        value = (value if value.__class__ is dict else mapping(value)).get(part)
        if value is None:
            break
    return value


def _kind(value: Any) -> str:
    return {dict: "a mapping", list: "a list", str: "text", bool: "a boolean"}.get(type(value), "a number")


def _nfkc(name: str) -> str:
    return unicodedata.normalize("NFKC", name)
