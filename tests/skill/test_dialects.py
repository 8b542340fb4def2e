"""Every dialect is read into the one model, and every remark about it has its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.notes import Note
from whet.skill.block import read_block
from whet.skill.dialects import PLAIN_KEYS, Sidecars, read_heading, read_skill
from whet.skill.frontmatter import Document, read_document
from whet.skill.gates import EnvVar, Gates, Install, Setting, Tool
from whet.skill.model import Execution, Interface, Skill
from whet.skill.validate import ValidationInput
from whet.skill.validate.fixes import fix

FIXTURES = Path(__file__).parent / "fixtures"
VAULT = "https://vault.invalid/mcp"
CTL = ("gardenctl",)


def load(name: str) -> Skill:
    """A fixture, read as the library reads a directory."""
    directory = FIXTURES / name
    skill_json, openai_yaml = directory / "skill.json", directory / "agents" / "openai.yaml"
    sidecars = Sidecars(
        json.loads(skill_json.read_text(encoding="utf-8")) if skill_json.exists() else None,
        read_block(openai_yaml.read_text(encoding="utf-8")).values if openai_yaml.exists() else None,
    )
    return read_skill(
        read_document((directory / "SKILL.md").read_bytes()), fallback_name=name, sidecars=sidecars, category="shelf"
    )


def told(skill: Skill) -> dict[str, Any]:
    """The fields that say something, without the body and the raw frontmatter."""
    plain = Skill("", "", "")
    return {
        field: value
        for field, value in skill._asdict().items()
        if field not in ("body", "frontmatter") and value != getattr(plain, field)
    }


def read(frontmatter: str, body: str = "Prose.\n", **sidecars: Any) -> Skill:
    document = read_document(f"---\n{frontmatter}\n---\n{body}")
    return read_skill(document, fallback_name="here", sidecars=Sidecars(**sidecars))


def notes(frontmatter: str, body: str = "Prose.\n", **sidecars: Any) -> list[tuple[str, int | None]]:
    """Code and line of what is noted about an otherwise sound skill."""
    skill = read(f"name: here\ndescription: d\n{frontmatter}", body, **sidecars)
    return [(note.code, note.line) for note in skill.diagnostics]


# --- one fixture for each dialect -------------------------------------------------------------------------------------


def test_agentskills() -> None:
    assert told(load("agentskills")) == {
        "name": "agentskills",
        "description": "Count the words of a manuscript by chapter. Use when an author asks how long a draft is.",
        "version": "1.10",
        "license": "Apache-2.0",
        "author": "Harbour Press",
        "compatibility": "Needs a POSIX shell and wc",
        "category": "shelf",
        "allowed_tools": ("Bash(wc:*)", "Read"),
    }


def test_claude_code() -> None:
    skill = load("claude-code")
    assert told(skill) == {
        "name": "claude-code",
        "description": "Draft release notes from merged changes.",
        "category": "shelf",
        "when_to_use": "Before a version is tagged, or when somebody asks what changed.",
        "gates": Gates(model_invocable=False, paths=("CHANGELOG.md", "src/{core,cli}/**/*.py")),
        "allowed_tools": ("Bash(git log:*)", "Bash(git tag, --list)", "Read"),
        "disallowed_tools": ("Write", "WebFetch"),
        "execution": Execution(
            context="fork",
            agent="general-purpose",
            model="inherit",
            effort="high",
            background=False,
            shell="bash",
            hooks={"Stop": [{"command": "./scripts/check.sh", "once": True}]},
        ),
        "arguments": ("version", "since"),
        "argument_hint": "[version] [since]",
        "step": "repaired",
        "diagnostics": skill.diagnostics,
    }
    assert [(note.code, note.line) for note in skill.diagnostics] == [("yaml-repaired", 5)]


def test_codex() -> None:
    assert told(load("codex")) == {
        "name": "codex",
        "description": "Rotate the keys of a staging service: create, switch, revoke.",
        "category": "shelf",
        "when_to_use": "A key is older than ninety days.",
        "when_not_to_use": "For production keys.",
        "gates": Gates(
            env=(EnvVar("VAULT_TOKEN", "Enter a value for VAULT_TOKEN", "A token that may rotate keys"),),
            commands=("vaultctl",),
            installs=(Install("", bins=("vaultctl",), label="Comes with the vault's client package."),),
            tools=(
                Tool("vault", "mcp", "Reads and writes secrets", "streamable_http", "vault-mcp", VAULT),
                Tool("pager", "mcp"),
            ),
            model_invocable=False,
            products=("CODEX", "CHATGPT"),
        ),
        "interface": Interface(
            display_name="Key Rotation",
            short_description="Key rotation",
            icon_small="assets/small.png",
            icon_large="assets/large.png",
            brand_color="#1F6FEB",
            default_prompt="Rotate the staging keys.",
        ),
    }


def test_hermes() -> None:
    skill = load("hermes")
    assert told(skill) == {
        "name": "hermes",
        "description": "Book a table at a restaurant by telephone.",
        "version": "0.20",
        "license": "MIT",
        "author": "Night Shift",
        "tags": ("telephone", "3.10"),
        "category": "shelf",
        "related": ("contacts", "calendar"),
        "gates": Gates(
            platforms=("macos", "linux"),
            env=(
                EnvVar("PHONE_TOKEN", "Token of the telephone service", "https://phone.invalid/tokens", "calls"),
                EnvVar("PHONE_REGION", "Enter a value for PHONE_REGION", "Open an account first."),
                EnvVar("PHONE_PIN", "The PIN", "https://phone.invalid/pin", optional=True),
                EnvVar("PHONE_NUMBER", "Enter a value for PHONE_NUMBER", "Open an account first."),
            ),
            commands=("curl", "jq"),
            tools=(Tool("browser"), Tool("call"), Tool("voice", "toolset")),
            optional_tools=(Tool("maps"),),
            fallback_for=(Tool("book"), Tool("booking", "toolset")),
            settings=(Setting("party_size", "How many people", 2, "For how many?"), Setting("quiet_hours")),
        ),
        "setup_help": "Open an account first.",
        "runtime": (("hermes_version", "0.30"),),
    }


def test_openclaw() -> None:
    assert told(load("openclaw")) == {
        "name": "openclaw",
        "description": "Water the plants through the garden controller.",
        "homepage": "https://garden.invalid",
        "category": "shelf",
        "gates": Gates(
            platforms=("macos", "linux", "windows"),
            env=(
                EnvVar("GARDEN_HOST", "Enter a value for GARDEN_HOST", "Address of the controller", optional=True),
                EnvVar("GARDEN_KEY", "Enter a value for GARDEN_KEY"),
            ),
            commands=("gardenctl",),
            any_commands=("curl", "wget"),
            settings=(Setting("channels.garden", "A setting of OpenClaw that the skill asks for."),),
            user_invocable=False,
            installs=(
                Install("brew", "garden/tap/gardenctl", CTL, "Homebrew", ("darwin", "linux")),
                Install("node", "@garden/ctl", CTL),
                Install("go", "garden.invalid/ctl@v1.2.0", CTL),
                Install("uv", "gardenctl", CTL),
                Install("download", "", CTL, url="https://garden.invalid/ctl.tar.gz", sha256="0123456789abcdef" * 4),
            ),
        ),
        "interface": Interface(emoji="🌱"),
    }


def test_openclaw_always_and_recipes_that_cannot_be_followed() -> None:
    block = "metadata:\n  openclaw:\n    always: true\n    requires: {bins: [a]}\n    install:\n"
    bad = (
        "{kind: brew, formula: --cask}",
        "{kind: brew, formula: ../x}",
        "{kind: node, package: 'a; b'}",
        "{kind: go, module: x}",
        "{kind: uv, package: '-e .'}",
        "{kind: apt, package: a}",
        "{kind: download, url: 'http://a.invalid/x'}",
        "{kind: download, url: 'https://a.invalid/x', sha256: abc}",
        "{}",
    )
    frontmatter = block + "".join(f"      - {entry}\n" for entry in bad)
    assert [code for code, _ in notes(frontmatter.rstrip())] == ["install-refused"] * len(bad)
    gates = read(f"name: here\ndescription: d\n{frontmatter.rstrip()}").gates
    assert gates == Gates(commands=("a",), always=True)


def test_how_codex_shows_a_skill_is_dropped_field_by_field() -> None:
    look = {
        "display_name": "n" * 65,
        "brand_color": "blue",
        "icon_small": "/etc/icon.png",
        "icon_large": "assets/../../icon.png",
        "default_prompt": "Try it.",
    }
    skill = read("name: here\ndescription: d", openai_yaml={"interface": look})
    assert skill.interface == Interface(default_prompt="Try it.")
    assert [note.code for note in skill.diagnostics] == ["interface-refused"] * 4


def test_openclaw_with_metadata_in_a_json_string() -> None:
    skill = load("openclaw-json")
    assert told(skill) == {
        "name": "openclaw-json",
        "description": "Read the meter in the cellar.",
        "version": "2.0",
        "homepage": "https://meter.invalid",
        "category": "shelf",
        "gates": Gates(platforms=("linux",), commands=("meter",)),
        "interface": Interface(emoji="🔌"),
    }
    assert isinstance(skill.frontmatter["metadata"], str)


def test_whet() -> None:
    assert told(load("whet")) == {
        "name": "whet",
        "description": "Sharpen kitchen knives on a stone.",
        "version": "3",
        "language": "en",
        "created": "2026-01-05",
        "updated": "2026-02-10",
        "id": "7f3a",
        "tags": ("kitchen", "hand tools"),
        "category": "shelf",
        "when_to_use": "The blade slides off a tomato.",
        "when_not_to_use": "The blade is serrated.",
        "triggers": ("my knife is dull", "sharpen the knife"),
    }


def test_skill_json() -> None:
    assert told(load("skill-json")) == {
        "name": "skill-json",
        "description": "Tune a piano by ear.",
        "version": "1.4.0",
        "license": "MIT",
        "author": "Felt & Hammer",
        "homepage": "https://piano.invalid",
        "language": "en",
        "id": "p-17",
        "tags": ("music", "piano"),
        "category": "shelf",
        "diagnostics": (
            Note(
                "skill-json-disagrees",
                "warning",
                "skill.json has a different description; the frontmatter wins.",
                line=2,
            ),
        ),
    }


PACKAGE: dict[str, Any] = {
    "name": "package",
    "description": "Translate sheet music into another key. Use when a singer asks for a lower or higher version.",
    "version": "2.1.0",
    "license": "MIT",
    "author": "Felt & Hammer",
    "homepage": "https://transpose.invalid",
    "id": "felt-hammer/transpose",
    "entry_point": "SKILL.md",
    "tags": ("music", "notation"),
    "category": "shelf",
    "gates": Gates(
        tools=(Tool("score_reader"), Tool("web_search")),
        optional_tools=(Tool("midi_player"),),
    ),
    "runtime": (("hermes_version", ">=0.5.0,<2"), ("whet_version", ">=0.1")),
}


def test_a_package_with_skill_json_in_full() -> None:
    assert told(load("package")) == PACKAGE


def test_the_same_with_everything_moved_below_metadata() -> None:
    directory = FIXTURES / "package"
    text, fixed = fix(ValidationInput("package", (directory / "SKILL.md").read_bytes()))
    keys = ["version", "author", "homepage", "tags", "tools_required", "tools_optional", "hermes_version"]
    assert [note.fix for note in fixed] == [f"Moves the key to metadata.{key}." for key in keys]
    sidecars = Sidecars(json.loads((directory / "skill.json").read_text(encoding="utf-8")))
    document = read_document(text)
    assert set(document.values) == {"name", "description", "license", "metadata"}
    moved = read_skill(document, fallback_name="package", sidecars=sidecars, category="shelf")
    assert told(moved) == PACKAGE
    assert read_heading(document, fallback_name="package", sidecars=sidecars).gates == PACKAGE["gates"]


def test_legacy_spellings() -> None:
    skill = load("legacy-spellings")
    assert told(skill) == {
        "name": "Legacy Spellings",
        "description": "Sort the post",
        "compatibility": "Linux, macOS",
        "created": "2025-12-24",
        "updated": "2025-12-25",
        "category": "shelf",
        "when_to_use": "Letters have arrived.\nA parcel waits.",
        "when_not_to_use": "On Sundays.",
        "gates": Gates(
            platforms=("macos",),
            commands=("lp", "sort"),
            model_invocable=False,
            user_invocable=False,
            paths=("*.eml",),
        ),
        "allowed_tools": ("Read", "Write"),
        "disallowed_tools": ("Bash",),
        "argument_hint": "[pile]",
        "interface": Interface(emoji="📮"),
        "diagnostics": skill.diagnostics,
    }
    assert [(note.code, note.line) for note in skill.diagnostics] == [
        ("name-directory-mismatch", 2),
        ("description-not-text", 3),
    ]


@pytest.mark.parametrize("name", sorted(path.name for path in FIXTURES.iterdir()))
def test_the_heading_says_what_the_whole_skill_says(name: str) -> None:
    document = read_document((FIXTURES / name / "SKILL.md").read_bytes())
    heading, skill = read_heading(document, fallback_name=name), read_skill(document, fallback_name=name)
    assert heading[:4] == (skill.name, skill.description, skill.category, skill.gates)
    bodiless = read_skill(document._replace(body=""), fallback_name=name)
    assert (heading.when, heading.hint) == (" ".join(bodiless.when_to_use.split()), skill.argument_hint)
    assert set(heading.notes) <= set(skill.diagnostics)
    assert skill.frontmatter == document.values
    assert skill.body == document.body


# --- names and descriptions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "name", "codes"),
    [
        ("here", "here", []),
        ("'  he\n  re '", "he re", ["name-directory-mismatch"]),
        ("'here\n\n'", "here", []),
        ("Ｈere", "Ｈere", ["name-directory-mismatch"]),
        ("ｈere", "ｈere", []),
        ("", "here", ["name-missing"]),
        ("null", "here", ["name-missing"]),
        ("''", "here", ["name-missing"]),
        ("1.10", "1.10", ["name-not-text", "name-directory-mismatch"]),
        ("007", "007", ["name-not-text", "name-directory-mismatch"]),
        ("true", "true", ["name-not-text", "name-directory-mismatch"]),
        ("yes", "yes", ["name-directory-mismatch"]),
        ("2026-01-01", "2026-01-01", ["name-directory-mismatch"]),
        ("[a, b]", "a b", ["name-not-text", "name-directory-mismatch"]),
        ("[a, 1]", "here", ["name-refused", "name-missing"]),
        ("[]", "here", ["name-refused", "name-missing"]),
        ("{a: b}", "here", ["name-refused", "name-missing"]),
        ("!!python/name:os.system", "here", ["name-missing"]),
    ],
)
def test_names_of_any_kind(written: str, name: str, codes: list[str]) -> None:
    skill = read(f"name: {written}\ndescription: d")
    assert skill.name == name
    assert [(note.code, note.line) for note in skill.diagnostics] == [(code, 2) for code in codes]


@pytest.mark.parametrize(
    ("written", "description", "codes"),
    [
        ("|\n  Two\n  lines.", "Two lines.", []),
        ("no", "no", []),
        ("", "Prose.", ["description-from-body"]),
        ("null", "Prose.", ["description-from-body"]),
        ("42", "42", ["description-not-text"]),
        ("false", "false", ["description-not-text"]),
        ("2026-01-01", "2026-01-01", []),
        ("[a, b]", "a b", ["description-not-text"]),
        ("[[a]]", "Prose.", ["description-refused", "description-from-body"]),
        ("{a: b}", "Prose.", ["description-refused", "description-from-body"]),
    ],
)
def test_descriptions_of_any_kind(written: str, description: str, codes: list[str]) -> None:
    skill = read(f"name: here\ndescription: {written}")
    assert skill.description == description
    assert [(note.code, note.line) for note in skill.diagnostics] == [(code, 3) for code in codes]


def test_a_missing_name_and_description_have_no_line() -> None:
    skill = read("version: 1", body="")
    assert (skill.name, skill.description) == ("here", "")
    assert [(note.code, note.line) for note in skill.diagnostics] == [
        ("name-missing", None),
        ("description-missing", None),
    ]


def test_a_flat_file_without_frontmatter_has_defaults() -> None:
    document = read_document("# Tidy\n\nSort the desk first,\nwith care. Then wipe it.\n")
    skill = read_skill(document, fallback_name="tidy", flat=True)
    assert (skill.name, skill.description, skill.version) == ("tidy", "Sort the desk first, with care.", "1")
    assert read_heading(document, fallback_name="tidy", flat=True)[:2] == (skill.name, skill.description)
    skill = read_skill(document, fallback_name="tidy")
    assert (skill.name, skill.description, skill.version) == ("tidy", "Sort the desk first,", "")
    skill = read_skill(read_document(f"{'word ' * 300}\n"), flat=True)
    assert skill.description == ("word " * 300)[:1024].rstrip()
    skill = read_skill(read_document("---\nname: tidy\n---\nOne. Two.\n"), flat=True)
    assert (skill.description, skill.version) == ("One. Two.", "")


def test_a_long_first_line_is_cut_at_eighty_characters() -> None:
    skill = read("name: here", body=f"{'word ' * 30}\n")
    assert skill.description == f"{'word ' * 15}word…"
    assert len(skill.description) == 80


# --- every other diagnostic, with its line ----------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["text", "'{\"a\": '", "[a]", "42", "true"])
def test_metadata_that_is_no_mapping_is_noted(value: str) -> None:
    assert notes(f"metadata: {value}") == [("not-a-mapping", 4)]


def test_blocks_below_metadata_that_are_no_mappings_are_noted() -> None:
    assert notes("metadata:\n  hermes: x\n  whet: [y]\n  openclaw: z") == [
        ("not-a-mapping", 5),
        ("not-a-mapping", 6),
        ("not-a-mapping", 7),
    ]
    assert notes("prerequisites: node\nsetup: run it\nmetadata:\n  openclaw:\n    requires: [x]\n    emoji: e") == [
        ("not-a-mapping", 4),
        ("not-a-mapping", 7),
        ("not-a-mapping", 5),
    ]


def test_fields_that_are_not_text_are_noted() -> None:
    assert notes("version: [1, 2]\nlicense: {a: b}\nmetadata:\n  homepage: [x]") == [
        ("not-text", 4),
        ("not-text", 5),
        ("not-text", 7),
    ]


def test_a_skill_json_that_disagrees_is_noted() -> None:
    other = {"name": "there", "description": "e", "version": "2", "license": "MIT"}
    assert notes("version: 1\nlicense: MIT", skill_json=other) == [
        ("skill-json-disagrees", 2),
        ("skill-json-disagrees", 3),
        ("skill-json-disagrees", 4),
    ]


def test_switches_that_are_neither_true_nor_false_are_noted() -> None:
    assert notes("user-invocable: perhaps\ndisable_model_invocation: []\nbackground: 2") == [
        ("not-a-boolean", 5),
        ("not-a-boolean", 4),
        ("not-a-boolean", 6),
    ]
    policy = {"policy": {"allow_implicit_invocation": "perhaps"}}
    assert notes("version: 1", openai_yaml=policy) == [("not-a-boolean", None)]


def test_unknown_platforms_are_noted_and_match_nothing() -> None:
    assert notes("platforms: [linux, beos]") == [("platform-unknown", 4)]
    assert notes("metadata:\n  openclaw:\n    os: [amiga]") == [("platform-unknown", 5)]
    assert read("platforms: [Linux, BeOS]").gates.platforms == ("linux", "beos")
    assert read("platforms: [linux, all]").gates.platforms == ()


def test_names_no_environment_variable_can_have_are_noted() -> None:
    assert notes("prerequisites:\n  env_vars: [GOOD, 'B AD', '']") == [("env-name-refused", 5), ("env-name-refused", 5)]
    assert notes('required_environment_variables: ["TRAILING\\n", {prompt: p}, "9X"]') == [
        ("env-name-refused", 4),
        ("env-name-refused", 4),
    ]
    assert [env.name for env in read('required_environment_variables: "A, B"').gates.env] == ["A", "B"]


def test_tools_without_a_name_are_noted() -> None:
    assert notes("tools_required: [{type: mcp}, a]") == [("tool-refused", None)]


def test_settings_without_a_key_are_noted() -> None:
    assert notes("metadata:\n  hermes:\n    config: [{default: 1}, {key: k}, {key: k, default: 2}]") == [
        ("setting-refused", 5)
    ]


def test_an_unknown_context_is_noted() -> None:
    assert notes("context: elsewhere") == [("context-unknown", 4)]
    assert read("context: FORK").execution.context == "fork"


# --- what is easily lost ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frontmatter", "version"),
    [
        ("version: 1.10", "1.10"),
        ("version: 1_0", "1_0"),
        ("version: null\nmetadata: {version: 2.0}", "2.0"),
        ("version: ~", ""),
        ("metadata:\n  version: 0.10", "0.10"),
        ("v: &v 1.10\nversion: *v", "1.10"),
        ("version: 1.10\nversion: '2'", "2"),
        ("version: 1.10\nx: a: b", "1.10"),
        ("version: 2026-01-01", "2026-01-01"),
    ],
)
def test_a_version_is_what_its_author_wrote(frontmatter: str, version: str) -> None:
    assert read(frontmatter).version == version


def test_an_argument_hint_in_brackets_stays_in_brackets() -> None:
    assert read("argument-hint: [file]").argument_hint == "[file]"
    assert read("argument-hint: [from, to]").argument_hint == "[from, to]"
    assert read("argument-hint: <file>").argument_hint == "<file>"


def test_a_heading_says_when_to_use_it_only_where_the_frontmatter_does() -> None:
    for row, when in (("", ""), ("when_to_use: |\n  Now\n\n  or later.\n", "Now or later.")):
        document = read_document(f"---\nname: x\ndescription: d\n{row}---\n# When to use\n\nIn the body.\n")
        assert read_heading(document, fallback_name="x").when == when


def test_an_author_may_be_a_mapping_with_a_name() -> None:
    assert read("author: {name: Someone, url: x}").author == "Someone"
    assert read("metadata: {author: {name: Someone}}").author == "Someone"


def test_the_block_of_openclaw_may_stand_at_the_top() -> None:
    skill = read("openclaw: {emoji: 🦞, requires: {bins: [x]}}")
    assert (skill.interface.emoji, skill.gates.commands) == ("🦞", ("x",))


def test_unknown_keys_are_kept() -> None:
    assert read("x-custom: {a: [1]}").frontmatter == {"x-custom": {"a": [1]}}


# --- properties -------------------------------------------------------------------------------------------------------

KEYS = [
    *sorted(PLAIN_KEYS),
    *("metadata", "hermes", "whet", "openclaw", "prerequisites", "setup", "required_environment_variables"),
    *("platforms", "platform", "paths", "globs", "tools_required", "tools_optional", "disable-model-invocation"),
    *("user-invocable", "background", "hooks", "shell", "required_commands", "disallowed-tools", "allowed_tools"),
    *("when-to-use", "when_not_to_use", "x_version", "interface", "dependencies", "policy", "requires", "env"),
    *("envVars", "os", "bins", "config", "collect_secrets", "env_vars", "commands", "requires_tools", "tools"),
    *("products", "key", "value", "prompt", "argument_hint"),
]
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
values = st.recursive(
    scalars | st.sampled_from(['{"a": 1}', "[a]"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)
mappings = st.dictionaries(st.sampled_from(KEYS), values, max_size=6)


@given(mappings, st.none() | mappings, st.none() | mappings, st.text(max_size=20))
@settings(max_examples=200, deadline=None)
def test_any_values_make_a_skill(
    frontmatter: dict[str, Any], skill_json: dict[str, Any] | None, openai_yaml: dict[str, Any] | None, body: str
) -> None:
    document = Document(frontmatter, body, "strict", {}, {}, (), 1)
    sidecars = Sidecars(skill_json, openai_yaml)
    skill = read_skill(document, fallback_name="here", sidecars=sidecars)
    heading = read_heading(document, fallback_name="here", sidecars=sidecars)
    assert heading[:4] == (skill.name, skill.description, skill.category, skill.gates)
    bodiless = read_skill(document._replace(body=""), fallback_name="here", sidecars=sidecars)
    assert (heading.when, heading.hint) == (" ".join(bodiless.when_to_use.split()), skill.argument_hint)
    assert skill.name == " ".join(skill.name.split()) != ""
    assert bool(skill.description) != ("description-missing" in [note.code for note in skill.diagnostics])
