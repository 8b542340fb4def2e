"""Models by their names, and what is told where one cannot be opened."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from whet.errors import UsageError
from whet.extras import how_to_install
from whet.learning.models.providers import open_model

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "sk-4f7c2b90d1e8"


def refused(spec: str, env: dict[str, str] | None = None) -> UsageError:
    with pytest.raises(UsageError) as raised:
        open_model(spec, env or {})
    return raised.value


@pytest.mark.parametrize(
    ("spec", "variable"),
    [
        ("openai:gpt-5", "OPENAI_API_KEY"),
        ("anthropic:claude-x", "ANTHROPIC_API_KEY"),
        ("google:gemini-x", "GOOGLE_API_KEY"),
    ],
)
def test_a_missing_key_is_told_by_its_variable(spec: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = spec.partition(":")[0]
    monkeypatch.setattr("whet.learning.models.providers._installed", lambda _: True)
    monkeypatch.setenv(variable, "not looked at")
    for env in ({}, {variable: ""}):
        error = refused(spec, env)
        assert (error.code, error.message) == ("model-key-missing", f"{kind}: needs a key in {variable}.")
        assert error.hint == f"Set {variable}, or choose another model."
    assert open_model(f" {spec} ", {variable: SECRET}).name == spec


@pytest.mark.parametrize(
    ("spec", "library", "packages"),
    [
        ("openai:gpt-5", "openai", ()),
        ("openai-compatible:http://127.0.0.1:1/v1#x", "pydantic_ai", ()),
        ("anthropic:claude-x", "anthropic", ()),
        ("google:gemini-x", "google.genai", ("google-genai",)),
    ],
)
def test_a_missing_library_is_told_with_the_command_that_brings_it(
    spec: str, library: str, packages: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    error = refused(spec, {"OPENAI_API_KEY": SECRET})
    assert error.to_json() == {
        "success": False,
        "error": f"{spec.partition(':')[0]}: needs the extra `models`.",
        "code": "extra-missing",
        "hint": f"Install it with `{how_to_install('models', *packages)}`.",
    }


@pytest.mark.parametrize(
    "spec",
    [
        *("", "gpt-5", "openai", "openai:", "mistral:x", f"{SECRET}:x", "recorded:", "recording:a.jsonl"),
        *("recording:#openai:gpt-5", "recording:a.jsonl#recorded:b.jsonl", f"cohere:{SECRET}"),
    ],
)  # fmt: skip
def test_a_name_that_names_no_model_is_told_without_what_may_be_a_key(spec: str) -> None:
    error = refused(spec, {"OPENAI_API_KEY": SECRET})
    assert (error.code, error.message.endswith(" is not a model.")) == ("bad-model", True)
    assert SECRET not in error.message or spec.startswith(SECRET)


@pytest.mark.parametrize(
    "rest",
    [
        *("http://127.0.0.1:8000/v1", "#name", "http://#name", "ftp://host/v1#name", "host/v1#name"),
        *(f"https://me:{SECRET}@host/v1#name", f"https://host/v1?key={SECRET}#name"),
    ],
)
def test_an_address_that_cannot_be_used_is_told_without_its_secrets(rest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whet.learning.models.providers._installed", lambda _: True)
    error = refused(f"openai-compatible:{rest}")
    assert error.code == "bad-model"
    assert SECRET not in f"{error.message}{error.hint}"


def test_a_recording_of_any_model_is_opened_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whet.learning.models.providers._installed", lambda _: True)
    inner = "openai-compatible:http://127.0.0.1:8000/v1#tiny"
    spec = f"recording:{tmp_path / 'a.jsonl'}#{inner}"
    model = open_model(spec, {"WHET_MODEL_KEY": SECRET})
    assert model.name == spec
    assert SECRET not in repr(model)


def test_opening_a_model_imports_no_library_of_a_provider() -> None:
    program = (
        "import sys\n"
        "from whet.learning.models import model, providers, recorded, scripted\n"
        "try:\n    providers.open_model('openai-compatible:http://127.0.0.1:1/v1#x', {})\n"
        "except Exception as error:\n    assert error.code == 'extra-missing', error\n"
        "heavy = {'pydantic_ai', 'pydantic', 'openai', 'anthropic', 'httpx2', 'asyncio', 'ssl'} & sys.modules.keys()\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
