"""`whet render NAME... -- ARGS`: the message with which a model gets skills."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.parser import amount
from whet.interfaces.cli.text import clean_block, plural

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser

_NEEDS_QUOTES = re.compile(r"""[\s"']|\\(?!\w)""")
"""What would split a word, or be taken out of it, where arguments are split into words again."""


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "Control characters are printed as escapes; with --json the message is exact to the letter. One skill is "
        "given in full unless --budget says otherwise; several share 25,000 tokens."
    )
    parser.positional("names", "NAME", "Skills and bundles.", many=True)
    parser.option("--budget", metavar="N", type=amount, text="Show less of the skills, to fit into this many tokens.")
    parser.words_behind("arguments", "ARGS", "What a user types behind the name; one word is taken as it is.")


def run(context: Context, options: Namespace) -> Outcome:
    """Ask for the message."""
    what = {"arguments": joined(options.arguments), "budget": options.budget}
    answer = context.library.render(*options.names, **what, caller=context.caller)
    return Outcome(answer, 0 if any(skill["strategy"] != "omitted" for skill in answer["skills"]) else 1)


def joined(words: Sequence[str]) -> str:
    """The words as one string that is split into the same words again; a single one is taken as it is."""
    return words[0] if len(words) == 1 else " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    if word and not _NEEDS_QUOTES.search(word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """The message and nothing else; what it costs and lacks is talk."""
    screen.line(clean_block(answer["message"]))
    screen.said.append(f"{'; '.join(_cost(answer))}.")
    screen.said.extend(f"Not loaded: {item['message']} [{item['code']}]" for item in answer["missing"])
    screen.hints.extend(dict.fromkeys(item["hint"] for item in answer["missing"]))
    for skill in answer["skills"]:
        screen.said.extend(f"{note['severity']}: {note['message']} [{note['code']}]" for note in skill["notes"])


def _cost(answer: dict[str, Any]) -> Iterator[str]:
    """What the message costs, what was cut for it, and what one skill would cost otherwise."""
    tokens = plural(answer["tokens"], "token")
    yield f"About {tokens}" if answer["tokenizer"] == "estimate" else tokens
    strategies = {skill["name"]: skill["strategy"] for skill in answer["skills"]}
    for name, strategy in strategies.items():
        if strategy != "full":
            yield f"{name} left out" if strategy == "omitted" else f"{name} as {_spoken(strategy)}"
    costs = answer.get("strategies", {})
    worth = {key: cost for key, cost in costs.items() if key == "full" or cost < costs["full"]}
    others = [f"{_spoken(key)} {cost:,}" for key, cost in worth.items() if key not in strategies.values()]
    if others:
        yield f"as {', '.join(others)}"


def _spoken(strategy: str) -> str:
    return "full text" if strategy == "full" else strategy.replace("+", " and ")
