"""Tokens are estimated the same way everywhere, and counted exactly only by a package that can do it offline."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.prompt.tokens import ESTIMATE, estimate, installed

if TYPE_CHECKING:
    from pathlib import Path

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)
LIKELY_TEXT = st.lists(
    st.sampled_from(
        [
            "word",
            "Word",
            "HTTP",
            "x",
            " ",
            "  ",
            "\n",
            "\t",
            "-",
            "----",
            "...",
            "`",
            "1",
            "2024",
            "é",
            "日本",
            "🙂",
            "—",
        ]
    ),
    max_size=30,
).map("".join)
TEXTS = ANY_TEXT | LIKELY_TEXT
BROKEN = "raise ImportError('built for another platform')\n"
SPLINTR = """
class Tokenizer:
    @classmethod
    def from_pretrained(cls, name):
        assert name == "o200k_base"
        return cls()

    def encode_ordinary(self, text):
        return range(7) if text == "<|endoftext|>" else text.encode()
"""
TIKTOKEN = """
import os
open(os.environ["MARK"], "w").close()

def get_encoding(name):
    assert name == "o200k_base"
    return Encoding()

class Encoding:
    def encode_ordinary(self, text):
        assert len(text) <= 100_000
        return range(7) if text == "<|endoftext|>" else text
"""


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        (" ", 1),
        ("\n", 1),
        ("word", 1),
        ("Use this skill when the user asks for a chart.", 12),
        ("# Heading\n\n- one\n- two\n", 10),
        ("def read(path: str) -> bytes:\n    return open(path).read()\n", 18),
        ("https://example.com/a/b?q=1", 11),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n", 17),
        ("On 2024-05-01 it cost 1234567 of 89.", 17),
        ("parseHTTPResponse", 4),
        ("技能可以让代理学会新的工作。", 9),
        ("Умение учит агента новой работе.", 11),
        ("مهارة تعلم الوكيل عملا جديدا", 10),
        ("Done 🎉 → next — “quoted”", 10),
        ("한국어로 작성된 기술 문서입니다.", 12),
        ("日本語で書かれたスキルです。", 9),
        ("<|endoftext|>", 3),
        ("\ud800", 2),
    ],
)
def test_the_estimate_of_a_fixed_text(text: str, tokens: int) -> None:
    assert estimate(text) == tokens


@given(TEXTS)
@settings(deadline=None, max_examples=200)
def test_every_text_but_the_empty_one_costs_something(text: str) -> None:
    assert estimate(text) >= bool(text)


@given(TEXTS, TEXTS)
@settings(deadline=None, max_examples=200)
def test_two_texts_on_lines_of_their_own_cost_about_their_sum(first: str, second: str) -> None:
    assert estimate(f"{first}\n{second}") <= estimate(first) + estimate(second) + 2


@given(TEXTS, TEXTS)
@settings(deadline=None, max_examples=200)
def test_appending_never_makes_a_text_cheaper(first: str, second: str) -> None:
    assert estimate(first) <= estimate(first + second)


@pytest.mark.parametrize(
    ("character", "tokens"),
    [("a", 125_001), (" ", 7_813), ("\n", 7_813), ("-", 7_813), ("7", 275_001), ("日", 725_001)],
)
def test_a_megabyte_of_one_character_is_read_once(character: str, tokens: int) -> None:
    assert estimate(character * 1_000_000) == tokens


def test_the_installed_counter_reads_special_tokens_as_text() -> None:
    tokenizer = installed()
    assert tokenizer.count("<|endoftext|>") == (7 if tokenizer.exact else 3)
    assert tokenizer.count("") == 0 and tokenizer.count("\ud800 <|fim_prefix|>") > 4
    assert installed() is tokenizer


def in_a_process(folder: Path, *texts: str, digest: str = "", **modules: str) -> tuple[dict[str, Any], bool]:
    """What `installed` finds among these packages, its counts of the texts, and whether tiktoken was loaded."""
    for name in ("splintr", "tiktoken"):
        (folder / f"{name}.py").write_text(modules.get(name, BROKEN), encoding="utf-8")
    mark = folder / "loaded"
    env = {**os.environ, "PYTHONPATH": str(folder), "TIKTOKEN_CACHE_DIR": str(folder), "MARK": str(mark)}
    code = (
        "import json, sys\nfrom whet.prompt import tokens\n"
        f"tokens._FILE_SHA256 = {digest!r} or tokens._FILE_SHA256\n"
        "found = tokens.installed()\n"
        "counts = [found.count(text) for text in json.loads(sys.argv[1])]\n"
        "print(json.dumps({'name': found.name, 'exact': found.exact, 'counts': counts}))"
    )
    run = subprocess.run([sys.executable, "-c", code, json.dumps(texts)], env=env, capture_output=True, check=True)
    return json.loads(run.stdout), mark.exists()


def test_a_package_with_its_own_vocabulary_counts_exactly(tmp_path: Path) -> None:
    found, _ = in_a_process(tmp_path, "", "four", "\ud800", splintr=SPLINTR)
    assert found == {"name": "o200k_base", "exact": True, "counts": [0, 4, 1]}


@pytest.mark.parametrize(
    "splintr",
    [
        BROKEN,
        "Tokenizer = None\n",
        "raise RuntimeError('no such processor feature')\n",
        SPLINTR.replace("range(7)", "range(1)"),
    ],
    ids=["does not load", "another package of that name", "fails in its own way", "reads special tokens as special"],
)
def test_a_package_that_cannot_count_leaves_the_estimate(splintr: str, tmp_path: Path) -> None:
    found, _ = in_a_process(tmp_path, "word", splintr=splintr)
    assert found == {"name": ESTIMATE.name, "exact": False, "counts": [1]}


def test_tiktoken_counts_in_slices_when_its_vocabulary_is_there(tmp_path: Path) -> None:
    (tmp_path / "fb374d419588a4632f3f557e76b4b70aebbca790").write_bytes(b"ranks")
    digest = hashlib.sha256(b"ranks").hexdigest()
    result = in_a_process(tmp_path, "", "four", "x" * 100_001, digest=digest, tiktoken=TIKTOKEN)
    assert result == ({"name": "o200k_base", "exact": True, "counts": [0, 4, 100_001]}, True)


def test_tiktoken_is_not_loaded_without_its_vocabulary(tmp_path: Path) -> None:
    found, loaded = in_a_process(tmp_path, "word", tiktoken=TIKTOKEN)
    assert (found["name"], loaded) == ("estimate", False)


def test_tiktoken_is_not_loaded_with_a_damaged_vocabulary(tmp_path: Path) -> None:
    vocabulary = tmp_path / "fb374d419588a4632f3f557e76b4b70aebbca790"
    vocabulary.write_bytes(b"ranks")
    found, loaded = in_a_process(tmp_path, "word", tiktoken=TIKTOKEN)
    assert (found["name"], loaded, vocabulary.read_bytes()) == ("estimate", False, b"ranks")
