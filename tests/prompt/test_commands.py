"""Which skill or bundle a slash command means, who goes without one, and what a typed line asks for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.library.bundles import Bundle
from whet.library.card import Card
from whet.library.roots import Root
from whet.notes import Note
from whet.prompt.commands import (
    MAX_STACK,
    RESERVED,
    Command,
    CommandMap,
    Line,
    command_map,
    complete,
    lookup,
    parse_line,
)
from whet.skill import names


def card(name: str, *, plugin: str = "", scope: str = "user", description: str = "Does it.", hint: str = "") -> Card:
    root = Root(f"/{plugin or scope}", scope, namespace=plugin)
    directory = f"{root.path}/{name}"
    path = f"{directory}/SKILL.md"
    card = Card(path, directory, name, names.key(name), description, "", "skill", 0, 0, 0, 0, 0, "", root)
    return card._replace(hint=hint)


def bundle(name: str, *skills: str, description: str = "Together.") -> Bundle:
    return Bundle(name, names.command(name), description, skills or ("review",), "", f"/bundles/{name}.yaml")


def skill(name: str, target: str = "", menu: str | None = None) -> Command:
    menu = name.replace("-", "_").replace(":", "_") if menu is None else menu
    return Command(name, "skill", target or name, "Does it.", "", menu)


def reached(target: str) -> Command:
    """What `/skill TARGET` gives."""
    return Command("skill", "skill", target, "", "", "")


def answers(commands: CommandMap) -> dict[str, str]:
    """Every word that is answered, with what it means."""
    return {word: command.target for word, command in commands.by_name.items()}


# --- who gets which command -------------------------------------------------------------------------------------------


def test_skills_and_bundles_become_commands_sorted_by_name() -> None:
    cards = [
        card("Tax_Return", description="Fills in\n  the form.", hint="[year]"),
        card("search", plugin="slack"),
        card("ledger"),
    ]
    release = Command("release-day", "bundle", "release-day", "Together.", "", "release_day")
    tax = Command("tax-return", "skill", "Tax_Return", "Fills in the form.", "[year]", "tax_return")
    search = skill("slack:search")
    assert command_map(cards, [bundle("Release day")]) == CommandMap(
        (skill("ledger"), release, search, tax),
        {
            "release-day": release,
            "tax-return": tax,
            "slack:search": search,
            "ledger": skill("ledger"),
            "search": search,
        },
        {"ledger": skill("ledger"), "release_day": release, "slack_search": search, "tax_return": tax},
        (),
    )


def test_no_cards_make_no_commands() -> None:
    assert command_map([]) == CommandMap((), {}, {}, ())


def test_a_bundle_without_a_description_says_what_it_loads() -> None:
    commands = command_map([], [bundle("day", "review", "code  review", description="")])
    assert commands.by_name["day"].description == "Loads review, code review."


def test_the_first_of_two_names_with_one_command_wins() -> None:
    commands = command_map([card("code-review"), card("code review"), card("Code.Review")])
    assert commands.commands == (skill("code-review"),)
    assert commands.report == (
        Note(
            "command-taken",
            "warning",
            "/code-review means the skill 'code-review', not the skill 'code review'.",
            'Type /skill "code review", or rename it.',
            skill="code review",
            path="/user/code review/SKILL.md",
        ),
        Note(
            "command-taken",
            "warning",
            "/code-review means the skill 'code-review', not the skill 'Code.Review'.",
            "Type /skill Code.Review, or rename it.",
            skill="Code.Review",
            path="/user/Code.Review/SKILL.md",
        ),
    )


def test_a_loser_whose_name_reads_the_same_is_reached_by_its_qualified_name() -> None:
    commands = command_map([card("code-review", scope="project"), card("code_review")])
    assert [(entry.code, entry.hint) for entry in commands.report] == [
        ("command-taken", "Type /skill user:code_review, or rename it.")
    ]


def test_a_bundle_beats_a_skill_of_the_same_command() -> None:
    commands = command_map([card("review")], [bundle("Review")])
    assert commands.commands == (Command("review", "bundle", "review", "Together.", "", "review"),)
    assert commands.report == (
        Note(
            "command-taken",
            "warning",
            "/review means the bundle 'review', not the skill 'review'.",
            "Type /skill review, or rename it.",
            skill="review",
            path="/user/review/SKILL.md",
        ),
    )


def test_the_clients_own_words_are_protected() -> None:
    commands = command_map([card("Help"), card("reload", plugin="nginx")], [bundle("clear")])
    assert answers(commands) == {"nginx:reload": "nginx:reload"}
    assert commands.report == (
        Note(
            "command-reserved",
            "warning",
            "/clear is a command of the client, so the bundle 'clear' has no slash command.",
            "Rename the bundle.",
            path="/bundles/clear.yaml",
        ),
        Note(
            "command-reserved",
            "warning",
            "/help is a command of the client, so the skill 'Help' has no slash command.",
            "Type /skill Help, or rename it.",
            skill="Help",
            path="/user/Help/SKILL.md",
        ),
    )


def test_a_client_may_keep_other_words() -> None:
    cards = [card("help"), card("code-review")]
    assert answers(command_map(cards, reserved={"Code_Review"})) == {"help": "help"}
    assert answers(command_map(cards, reserved=())) == {"help": "help", "code-review": "code-review"}


def test_the_reserved_words_leave_what_people_call_their_skills() -> None:
    assert {word for word in RESERVED if names.command(word) != word} == set()
    assert {"help", "clear", "compact", "exit", "model", "skill", "skills", "bundles", "undo", "start"} <= RESERVED
    assert RESERVED & {"review", "deploy", "commit", "test", "plan", "doctor", "search", "release", "docs"} == set()


def test_a_name_without_letters_has_no_command() -> None:
    commands = command_map([card("!!!")])
    assert commands == CommandMap(
        (),
        {},
        {},
        (
            Note(
                "command-empty",
                "info",
                "The name '!!!' has no letter or digit, so this skill has no slash command.",
                "Type /skill !!!, or rename it.",
                skill="!!!",
                path="/user/!!!/SKILL.md",
            ),
        ),
    )


def test_a_plugins_bare_name_works_only_while_nobody_else_has_it() -> None:
    assert answers(command_map([card("search", plugin="slack")])) == {
        "slack:search": "slack:search",
        "search": "slack:search",
    }
    assert answers(command_map([card("search", plugin="slack"), card("search", plugin="wiki")])) == {
        "slack:search": "slack:search",
        "wiki:search": "wiki:search",
    }
    assert answers(command_map([card("search", plugin="slack"), card("search")])) == {
        "slack:search": "slack:search",
        "search": "search",
    }
    assert answers(command_map([card("search", plugin="slack")], [bundle("search")])) == {
        "search": "search",
        "slack:search": "slack:search",
    }


# --- menus ------------------------------------------------------------------------------------------------------------


def menus(*cards: Card, reserved: tuple[str, ...] = ()) -> dict[str, str]:
    return {command.name: command.menu for command in command_map(cards, reserved=reserved).commands}


def test_menu_names_are_short_plain_and_unique() -> None:
    long = "quarterly-revenue-reconciliation"
    assert menus(
        card("Code-Review"),
        card("café"),
        card("cafe"),
        card("日本"),
        card("日本 2"),
        card("slack-search"),
        card("search", plugin="slack"),
        card(f"{long}-a"),
        card(f"{long}-b"),
    ) == {
        "code-review": "code_review",
        "café": "cafe_2",
        "cafe": "cafe",
        "日本": "",
        "日本-2": "2",
        "slack-search": "slack_search",
        "slack:search": "slack_search_2",
        f"{long}-a": "quarterly_revenue_reconciliation",
        f"{long}-b": "quarterly_revenue_reconciliati_2",
    }


def test_a_menu_name_never_reads_as_another_command() -> None:
    assert menus(card("a日"), card("a月"), card("a"), card("a-2")) == {
        "a": "a",
        "a-2": "a_2",
        "a日": "a_3",
        "a月": "a_4",
    }
    assert menus(card("hélp"), reserved=("help",)) == {"hélp": "help_2"}
    assert menus(card("séarch"), card("search", plugin="slack")) == {
        "séarch": "search_2",
        "slack:search": "slack_search",
    }


TITLES = st.one_of(
    st.text(min_size=1, max_size=40),
    st.lists(st.sampled_from(["a", "b", "é", "日", "2", "-", "_", " ", "x" * 31]), min_size=1, max_size=4).map("".join),
)


@given(
    st.lists(st.tuples(TITLES, st.sampled_from(["", "", "plug", "Two_b"])), max_size=8), st.lists(TITLES, max_size=2)
)
@settings(max_examples=200, deadline=None)
def test_every_command_answers_to_its_name_and_its_menu(titles: list[tuple[str, str]], reserved: list[str]) -> None:
    cards = [card(name, plugin=plugin) for name, plugin in titles]
    commands = command_map(cards, reserved=reserved)
    assert len(commands.commands) + len(commands.report) == len(cards)
    assert [command.name for command in commands.commands] == sorted({command.name for command in commands.commands})
    for command in commands.commands:
        assert lookup(commands, command.name) == command
        assert lookup(commands, command.target) == command
        if command.menu:
            assert lookup(commands, command.menu) == command
            assert len(command.menu) <= 32
            assert set(command.menu) <= set("abcdefghijklmnopqrstuvwxyz0123456789_")
    assert len(commands.by_menu) == sum(command.menu != "" for command in commands.commands)


# --- looking up -------------------------------------------------------------------------------------------------------

COMMANDS = command_map(
    [card("code-review"), card("ledger"), card("search", plugin="slack"), card("größe"), card("रिपोर्ट"), card("stock")],
    [bundle("Release day")],
)


@pytest.mark.parametrize(
    ("word", "target"),
    [
        ("code-review", "code-review"),
        ("code_review", "code-review"),
        ("Code-REVIEW", "code-review"),
        ("slack:search", "slack:search"),
        ("SEARCH", "slack:search"),
        ("slack_search", "slack:search"),
        ("slack-search", "slack:search"),
        ("grosse", "größe"),
        ("release_day", "release-day"),
    ],
)
def test_hyphen_underscore_and_case_are_alike(word: str, target: str) -> None:
    found = lookup(COMMANDS, word)
    assert found is not None and found.target == target


@pytest.mark.parametrize("word", ["", "code", "code-reviews", "help", "!"])
def test_other_words_are_no_commands(word: str) -> None:
    assert lookup(COMMANDS, word) is None


# --- typed lines ------------------------------------------------------------------------------------------------------

REVIEW, LEDGER, STOCK = skill("code-review"), skill("ledger"), skill("stock")
SEARCH = skill("slack:search")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "review this",
        "/",
        "// x",
        "//ledger",
        "/usr/bin/env",
        "/a.b",
        "/ledger.",
        "/-",
        "/:",
        "a /ledger",
        "/…",
        "/@bot",
    ],
)
def test_a_line_that_does_not_begin_with_a_command_is_none(text: str) -> None:
    assert parse_line(text, COMMANDS) is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("/ledger", Line((LEDGER,), "", "")),
        ("  /Ledger \n  May \n June ", Line((LEDGER,), "May \n June ", "")),
        ("/code_review --fast", Line((REVIEW,), "--fast", "")),
        ("/slack:search x", Line((SEARCH,), "x", "")),
        ("/ledger@whet_bot May", Line((LEDGER,), "May", "")),
        ("/release-day now", Line((COMMANDS.by_name["release-day"],), "now", "")),
        ("/रिपोर्ट", Line((COMMANDS.by_name["रिपोर्ट"],), "", "")),
        (" /ledgre May", Line((), "/ledgre May", "ledgre")),
        ("/help@bot", Line((), "/help@bot", "help")),
        ("/skill", Line((), "/skill", "skill")),
    ],
)
def test_a_line_is_its_command_and_the_rest(text: str, line: Line) -> None:
    assert parse_line(text, COMMANDS) == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("/ledger /code-review\n/slack:search go on", Line((LEDGER, REVIEW, SEARCH), "go on", "")),
        ("/ledger /ledger again", Line((LEDGER,), "/ledger again", "")),
        ("/slack:search /search again", Line((SEARCH,), "/search again", "")),
        ("/ledger /usr/bin/env /stock", Line((LEDGER,), "/usr/bin/env /stock", "")),
        ("/ledger /typo /stock", Line((LEDGER,), "/typo /stock", "")),
        ("/ledger and /stock", Line((LEDGER,), "and /stock", "")),
    ],
)
def test_leading_commands_stack_up_to_the_first_other_word(text: str, line: Line) -> None:
    assert parse_line(text, COMMANDS) == line


def test_a_stack_has_a_limit_and_the_rest_stays_as_typed() -> None:
    commands = command_map([card(f"s{number}") for number in range(MAX_STACK + 2)])
    text = " ".join(f"/s{number}" for number in range(MAX_STACK + 2))
    assert parse_line(text, commands) == Line(commands.commands[:MAX_STACK], "/s6 /s7", "")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("/skill help me", Line((reached("help"),), "me", "")),
        ("/SKILL:help me", Line((reached("help"),), "me", "")),
        ("/skill:slack:search x", Line((reached("slack:search"),), "x", "")),
        ("/skill@bot my.skill", Line((reached("my.skill"),), "", "")),
        ('/skill "code review" it', Line((reached("code review"),), "it", "")),
        ("/skill:'code review' it", Line((reached("code review"),), "it", "")),
        ('/skill "open', Line((reached('"open'),), "", "")),
        ("/skill /home/me/skills/help x", Line((reached("/home/me/skills/help"),), "x", "")),
        ("/ledger /skill help /stock x", Line((LEDGER, reached("help"), STOCK), "x", "")),
        ("/skill !!! /skill ???", Line((reached("!!!"), reached("???")), "", "")),
        ("/ledger /skill Ledger x", Line((LEDGER,), "/skill Ledger x", "")),
        ("/skills help", Line((), "/skills help", "skills")),
    ],
)
def test_skill_reaches_any_name_also_reserved_and_shadowed_ones(text: str, line: Line) -> None:
    assert parse_line(text, COMMANDS) == line


PIECES = ("/ledger", "/stock", "/skill", "/none", "/", " ", "\n", "\u2003", ":", "@bot", '"', "x", "é", ".", "-")


@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join)))
@settings(max_examples=200, deadline=None)
def test_the_rest_is_the_end_of_what_was_typed(text: str) -> None:
    line = parse_line(text, COMMANDS)
    if line is None:
        return
    assert text.endswith(line.text)
    assert line.text == line.text.lstrip()
    assert bool(line.commands) != bool(line.unknown)
    if line.unknown:
        assert line.text.startswith(f"/{line.unknown}")


@pytest.mark.parametrize("piece", ["/", "/a", "/ledger ", "/skill ", " ", '/skill "', "/ledger@", "/é"])
def test_long_lines_are_read_in_one_go(piece: str) -> None:
    text = piece * 100_000
    line = parse_line(text, COMMANDS)
    assert line is None or text.endswith(line.text)


# --- completion -------------------------------------------------------------------------------------------------------


def offered(prefix: str, **more: Any) -> list[str]:
    return [item.name for item in complete(COMMANDS, prefix, **more)]


def test_completion_carries_what_a_client_shows() -> None:
    commands = command_map([card("tax-return", description="Fills in the form.", hint="[year]")])
    assert [command.to_json() for command in complete(commands, "/tax")] == [
        {
            "name": "tax-return",
            "menu": "tax_return",
            "kind": "skill",
            "description": "Fills in the form.",
            "hint": "[year]",
        }
    ]


def test_completion_offers_beginnings_then_words_then_the_rest() -> None:
    commands = command_map([card(name) for name in ("prereview", "code-review", "review", "review-code", "ledger")])
    assert [item.name for item in complete(commands, "re")] == ["review", "review-code", "code-review", "prereview"]


def test_completion_reads_a_prefix_as_loosely_as_a_command() -> None:
    everything = ["code-review", "grösse", "ledger", "release-day", "slack:search", "stock", "रिपोर्ट"]
    assert offered("") == everything
    assert offered("/") == everything
    assert offered("", limit=2) == everything[:2]
    assert offered("Code_") == ["code-review"]
    assert offered("sea") == offered("slack_s") == offered("SLACK:") == ["slack:search"]
    assert offered("nothing") == []
