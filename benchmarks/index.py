"""What does the list of skills in a prompt cost, and does it stay flat?

    python benchmarks/index.py [--sizes 10,100,1000,10000,100000] [--peers .peers] [--repeat 5] [--json]

Generates a tree of each size and makes the default index of it, in two processes. Prints its size, what it shows,
whether it is the same bytes every time, and three times: reading the rows of the catalogue from a warm cache, the whole
call that makes the index, and the part of it from rows to text. Beside it, the prompts that peers make of the same
skills, as far as they come in a minute. Ratios carry from one machine to another, milliseconds do not.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import peers as peer_systems
from prompts import ask
from scenes import Scene
from trees import make_tree

from whet.prompt.index import DEFAULT_CHARACTERS
from whet.prompt.tokens import installed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peers import Peers

_SETTLING = 3.0
"""Seconds between writing a tree and looking at it: a file touched a moment ago is not believed yet."""
_PEERS_UP_TO = 10_000
_PEERS_SECONDS = 60.0
_NOISE = 1.1
"""A ratio that is larger by less than this factor has not grown."""


def make_scene(directory: str, size: int, peers: Peers) -> Scene:
    """The tree, and the flat one where somebody needs it."""
    tree = make_tree(os.path.join(directory, "home", ".agents", "skills"), size)
    flat = tree
    if "deepagents" in peers.versions and size <= _PEERS_UP_TO:
        flat = make_tree(os.path.join(directory, "flat"), size, flat=True)
    os.makedirs(os.path.join(directory, "state"))
    return Scene(directory, tree, flat, tree.names[0])


def measure(scene: Scene, rounds: int) -> dict[str, Any]:
    """Whet's index, made in two processes whose sets and hashes are not in the same order."""
    answers = []
    for seed in ("1", "2"):
        env = {**os.environ, **scene.env(), "PYTHONHASHSEED": seed}
        arguments = {"root": scene.tree.root, "state": scene.state, "rounds": rounds}
        answers.append(ask(sys.executable, "whet", arguments, env))
        if "error" in answers[-1]:
            raise SystemExit(f"The index could not be made: {answers[-1]['error']}")
    one, two = answers
    best = {name: min(one["seconds"][name], two["seconds"][name]) for name in one["seconds"]}
    return {
        "index": _size(one["text"])
        | one["report"]
        | {"same_bytes": one["same"] and two["same"] and one["text"] == two["text"]},
        "milliseconds": {name: round(seconds * 1e3, 3) for name, seconds in best.items()},
        "against_rows": {name: round(best[name] / best["rows"], 3) for name in ("index", "build")},
    }


def measure_peers(scene: Scene, peers: Peers) -> dict[str, Any]:
    """The prompts of the peers that are installed."""
    tasks: dict[str, tuple[str, dict[str, Any]]] = {
        "hermes-agent": ("hermes", {}),
        "deepagents": ("deepagents", {"root": scene.flat.root}),
        "skills-ref": ("skills_ref", {"directories": scene.tree.directories}),
    }
    found = {}
    for name, (task, arguments) in tasks.items():
        if name not in peers.versions:
            continue
        if len(scene.tree.names) > _PEERS_UP_TO:
            found[name] = {"not_run": f"more than {_PEERS_UP_TO:,} skills"}
            continue
        env = scene.hermes_env() if name == "hermes-agent" else scene.env()
        answer = ask(peers.python, task, arguments, env, _PEERS_SECONDS)
        text = answer.pop("text", None)
        found[name] = answer if text is None else _size(text) | answer | {"seconds": round(answer["seconds"], 3)}
    return found


def _size(text: str) -> dict[str, Any]:
    return {"characters": len(text), "tokens": installed().count(text)}


def run(sizes: Sequence[int], peers: Peers, rounds: int) -> dict[str, Any]:
    """Everything at every size."""
    results = {}
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="whet-index-") as directory:
            _say(f"{size:,} skills: generating")
            scene = make_scene(directory, size, peers)
            time.sleep(_SETTLING)
            _say(f"{size:,} skills: measuring")
            results[str(size)] = measure(scene, rounds) | {"peers": measure_peers(scene, peers)}
    tokenizer = installed()
    return {
        "machine": {"cores": os.cpu_count(), "system": platform.system(), "python": platform.python_version()},
        "tokenizer": {"name": tokenizer.name, "exact": tokenizer.exact},
        "rounds": 2 * rounds,
        "peers": {name: peers.versions.get(name) for name in peer_systems.FROM_PYPI},
        "verdicts": verdicts(results),
        "results": results,
    }


def verdicts(results: dict[str, Any]) -> dict[str, Any]:
    """Is it flat, is it stable, and between which sizes does building grow faster than reading the rows?"""
    ratios = [(int(size), result["against_rows"]["build"]) for size, result in results.items()]
    return {
        "within_budget": all(result["index"]["characters"] <= DEFAULT_CHARACTERS for result in results.values()),
        "same_bytes": all(result["index"]["same_bytes"] for result in results.values()),
        "build_grows_faster_than_rows": [
            [before, after] for (before, low), (after, high) in pairwise(ratios) if high > low * _NOISE
        ],
    }


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def report(document: dict[str, Any]) -> str:
    """The document as Markdown."""
    results, tokenizer, verdict = document["results"], document["tokenizer"], document["verdicts"]
    counted = f"counted with {tokenizer['name']}" if tokenizer["exact"] else "estimated"
    grows = ", ".join(f"{low:,} to {high:,}" for low, high in verdict["build_grows_faster_than_rows"])
    said = f"Within {DEFAULT_CHARACTERS:,} characters: {_yes(verdict['within_budget'])}."
    said += f" Same bytes: {_yes(verdict['same_bytes'])}. Build grows faster than rows: {grows or 'nowhere'}."
    return "\n\n".join(
        (
            f"The default index, tokens {counted}",
            _shown(results),
            f"Time, best of {document['rounds']} rounds in two processes",
            _times(results),
            "Prompts of the same skills, characters (tokens)",
            _prompts(results, document["peers"]),
            said,
        )
    )


def _shown(results: dict[str, Any]) -> str:
    rows = [["skills", "characters", "tokens", "visible", "in full", "shortened", "left out", "same bytes"]]
    for size, result in results.items():
        index = result["index"]
        in_full = index["included"] - index["shortened"]
        counts = (index["characters"], index["tokens"], index["total"], in_full, index["shortened"], index["omitted"])
        rows.append([f"{int(size):,}", *(f"{count:,}" for count in counts), _yes(index["same_bytes"])])
    return _table(rows)


def _times(results: dict[str, Any]) -> str:
    rows = [["skills", "rows, ms", "index, ms", "build, ms", "index / rows", "build / rows"]]
    for size, result in results.items():
        times = [f"{milliseconds:,.2f}" for milliseconds in result["milliseconds"].values()]
        rows.append([f"{int(size):,}", *times, *(f"{ratio:.2f} x" for ratio in result["against_rows"].values())])
    return _table(rows)


def _prompts(results: dict[str, Any], versions: dict[str, str | None]) -> str:
    rows = [["prompt", *(f"{int(size):,}" for size in results)]]
    rows.append(["whet", *(_cell(result["index"]) for result in results.values())])
    for name, version in versions.items():
        if version:
            rows.append([f"{name} {version}", *(_cell(result["peers"][name]) for result in results.values())])
    return _table(rows)


def _cell(prompt: dict[str, Any]) -> str:
    if "characters" in prompt:
        return f"{prompt['characters']:,} ({prompt['tokens']:,})"
    return "failed" if "error" in prompt else "not run"


def _table(rows: Sequence[Sequence[str]]) -> str:
    heads, *others = rows
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---:"] * len(heads), *others))


def _yes(value: bool) -> str:
    return "yes" if value else "NO"


def main() -> None:
    """Run the benchmark and print what it found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", default="10,100,1000,10000,100000", help="numbers of skills, separated by commas")
    parser.add_argument("--peers", default=peer_systems.DEFAULT, help="directory or interpreter of the peers")
    parser.add_argument("--repeat", type=int, default=5, help="rounds in each of the two processes")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    sizes = sorted({int(size) for size in options.sizes.split(",")})
    document = run(sizes, peer_systems.find(options.peers), options.repeat)
    print(json.dumps(document, indent=1) if options.json else report(document))


if __name__ == "__main__":
    main()
