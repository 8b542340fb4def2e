"""What is told where the library of an adapter is not installed."""

from __future__ import annotations

import importlib
import sys

import pytest

from whet import UsageError


@pytest.mark.parametrize(
    ("adapter", "needed", "message", "hint"),
    [
        (
            "langchain",
            "langchain.agents.middleware.types",
            "Skills for LangChain need the extra `langchain`.",
            "Install it with `pip install 'whet[langchain]'`.",
        ),
        (
            "pydantic_ai",
            "pydantic_ai.toolsets",
            "Skills for pydantic-ai need the extra `pydantic-ai`.",
            "Install it with `pip install 'whet[pydantic-ai]'`.",
        ),
    ],
)
def test_a_missing_library_is_told_with_the_command_that_brings_it(
    monkeypatch: pytest.MonkeyPatch, adapter: str, needed: str, message: str, hint: str
) -> None:
    monkeypatch.delitem(sys.modules, f"whet.adapters.{adapter}", raising=False)
    monkeypatch.setitem(sys.modules, needed, None)
    with pytest.raises(UsageError) as raised:
        importlib.import_module(f"whet.adapters.{adapter}")
    told = raised.value.to_json()
    assert told == {"success": False, "error": message, "code": "extra-missing", "hint": hint}
