"""The generated trees that benchmarks run on."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from whet.skill.frontmatter import Document, read_document

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "trees.py"


def make(root: Path, *options: str) -> str:
    command = [sys.executable, str(SCRIPT), str(root), *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def content(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree") / "skills"
    make(root, "--count", "300", "--seed", "3")
    return root


@pytest.fixture(scope="module")
def documents(tree: Path) -> dict[str, Document]:
    return {path.parent.name: read_document(path.read_bytes()) for path in tree.rglob("SKILL.md")}


def test_same_seed_gives_the_same_tree(tmp_path: Path) -> None:
    for name, seed in (("one", "5"), ("two", "5"), ("three", "6")):
        make(tmp_path / name, "--count", "12", "--seed", seed)
    assert content(tmp_path / "one") == content(tmp_path / "two")
    assert content(tmp_path / "one") != content(tmp_path / "three")


def test_flat_tree_holds_the_same_skills_without_categories(tmp_path: Path) -> None:
    make(tmp_path / "deep", "--count", "60")
    make(tmp_path / "flat", "--count", "60", "--flat")
    assert len(os.listdir(tmp_path / "deep")) == 3
    deep = {path.split("/", 1)[1]: digest for path, digest in content(tmp_path / "deep").items()}
    assert deep == content(tmp_path / "flat")


def test_every_skill_has_its_own_name_and_is_read_strictly(documents: dict[str, Document]) -> None:
    assert len(documents) == 300
    assert {name: document.values["name"] for name, document in documents.items()} == {name: name for name in documents}
    assert {document.step for document in documents.values()} == {"strict"}
    assert [note for document in documents.values() for note in document.diagnostics] == []


def test_descriptions_and_bodies_have_real_sizes(documents: dict[str, Document]) -> None:
    lengths = [len(str(document.values["description"])) for document in documents.values()]
    sizes = [len(document.body) for document in documents.values()]
    assert min(lengths) >= 160 and max(lengths) <= 1024
    assert min(sizes) >= 2_000 and max(sizes) <= 24_000
    assert 8_500 < sum(sizes) / len(sizes) < 12_500


def test_frontmatter_is_mixed_as_in_the_wild(documents: dict[str, Document]) -> None:
    kinds = [{type(value) for value in document.values.values()} for document in documents.values()]
    texts = sum(kind == {str} for kind in kinds) / len(kinds)
    assert 0.7 < texts < 0.95
    assert any("metadata" in document.values for document in documents.values())
    assert any(isinstance(document.values.get("tags"), list) for document in documents.values())
    assert any(isinstance(document.values.get("allowed-tools"), list) for document in documents.values())


def test_three_of_five_skills_have_supporting_files(tree: Path) -> None:
    skills = [path.parent for path in tree.rglob("SKILL.md")]
    supported = sum(len(os.listdir(skill)) > 1 for skill in skills)
    assert 0.5 < supported / len(skills) < 0.7
