"""Models by their names: `openai:gpt-5`, `anthropic:NAME`, `google:NAME`, any OpenAI-compatible server, or recordings.

Keys come only from the given environment, each for its own provider: the key of OpenAI is never sent to a compatible
server, nor is anything else that its library finds in the environment.
"""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from whet.errors import UsageError
from whet.learning.models.client import TIMEOUT, Client, missing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from pydantic_ai.models import Model as TheirModel

    from whet.learning.models.client import Opener
    from whet.learning.models.model import Model

OWN_KEY = "WHET_MODEL_KEY"
"""The key for `openai-compatible:`, if the server needs one."""
_SHORT = 8
"""Keys of servers at home may be words such as `none`; shorter keys are not hidden in texts."""


class Provider(NamedTuple):
    """Access to the models of a provider."""

    kind: str
    """The provider as pydantic-ai names it."""
    keys: tuple[str, ...]
    """Variables that may hold the key; the first is the one to set."""
    library: str
    packages: tuple[str, ...] = ()
    """Packages it needs besides the extra `models`."""
    address: tuple[str, str] | None = None
    """The variable for another server, and the default server."""


_SEVERAL = re.compile(r"\s*,\s*(?=[a-z-]+:)")


def open_model(spec: str, env: Mapping[str, str], *, timeout: float = TIMEOUT) -> Model:
    """Return the model of this name or, with several names between commas, a panel of them that votes.

    Nothing is sent and no library of a provider is imported before it is asked.
    """
    if len(names := _SEVERAL.split(spec.strip())) > 1:
        from whet.learning.models.panel import Panel

        return Panel([open_model(name, env, timeout=timeout) for name in names])
    kind, _, rest = spec.strip().partition(":")
    path, marked, inner = rest.partition("#") if kind == "recording" else (rest, "#", "")
    nested = not path or not marked or inner.startswith(("recorded:", "recording:"))
    if kind in ("recorded", "recording") and not nested:
        from whet.learning.models.recorded import Recorded

        real = open_model(inner, env, timeout=timeout) if kind == "recording" else None
        return Recorded(path, real, secrets=keys_of(env))
    if kind not in PROVIDERS or not rest:
        known = ", ".join(f"{name}:" for name in (*PROVIDERS, "recorded"))
        hint = f"Write it as openai:gpt-5; the provider before the colon is one of {known}"
        raise UsageError("bad-model", f"{_unspoken(spec)!r} is not a model.", hint=hint)
    provider = PROVIDERS[kind]
    if not (_installed("pydantic_ai") and _installed(provider.library)):
        raise missing(f"{kind}:", provider.packages)
    key = next((env[variable] for variable in provider.keys if env.get(variable)), "")
    if not key and kind != "openai-compatible":
        hint = f"Set {provider.keys[0]}, or choose another model."
        raise UsageError("model-key-missing", f"{kind}: needs a key in {provider.keys[0]}.", hint=hint)
    opener = _open_compatible(rest, key) if kind == "openai-compatible" else _open(provider, rest, key, env)
    return Client(f"{kind}:{rest}", opener, packages=provider.packages, secrets=keys_of(env), timeout=timeout)


def _open(provider: Provider, name: str, key: str, env: Mapping[str, str]) -> Opener:
    options = {"api_key": key}
    if provider.address:
        variable, usual = provider.address
        options["base_url"] = env.get(variable) or usual

    @asynccontextmanager
    async def opened() -> AsyncIterator[TheirModel]:
        from pydantic_ai.models import infer_model
        from pydantic_ai.providers import infer_provider_class

        async with infer_provider_class(provider.kind)(**options) as connected:
            yield infer_model(f"{provider.kind}:{name}", lambda _: connected)

    return opened


def _open_compatible(rest: str, key: str) -> Opener:
    address, _, name = rest.partition("#")
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname or not name or parts.query or "@" in parts.netloc:
        hint = f"Write it as openai-compatible:http://127.0.0.1:8000/v1#name; put a key in {OWN_KEY}."
        raise UsageError("bad-model", "openai-compatible: needs an address, # and a model name.", hint=hint)

    @asynccontextmanager
    async def opened() -> AsyncIterator[TheirModel]:
        from pydantic_ai.models import create_async_httpx2_client
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

        async with create_async_httpx2_client() as client:
            client.event_hooks["request"].append(_plain_headers(key))
            provider = OpenAICompatibleProvider(
                "openai-compatible", base_url=address, api_key=key or "none", http_client=client
            )
            # A server without schemas may not support JSON mode either: then it is asked in words alone.
            yield OpenAIChatModel(name, provider=provider, profile={"supports_json_object_output": False})

    return opened


def _plain_headers(key: str) -> Callable[[Any], Any]:
    """Return a hook that keeps only the necessary headers: OpenAI's library adds others from the environment."""
    needed = {"host", "accept", "accept-encoding", "connection", "content-type", "content-length", "user-agent"}

    async def hook(request: Any) -> None:
        for header in [header for header in request.headers if header.lower() not in needed]:
            del request.headers[header]
        if key:
            request.headers["Authorization"] = f"Bearer {key}"

    return hook


PROVIDERS = {
    "openai": Provider(
        "openai-chat", ("OPENAI_API_KEY",), "openai", address=("OPENAI_BASE_URL", "https://api.openai.com/v1")
    ),
    "anthropic": Provider(
        "anthropic", ("ANTHROPIC_API_KEY",), "anthropic", address=("ANTHROPIC_BASE_URL", "https://api.anthropic.com")
    ),
    "google": Provider(
        "google",
        ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        "google.genai",
        ("google-genai",),
        ("GOOGLE_GEMINI_BASE_URL", "https://generativelanguage.googleapis.com"),
    ),
    "openai-compatible": Provider("openai-compatible", (OWN_KEY,), "openai"),
}


def keys_of(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return every key in the environment, so that none is ever shown, recorded or sent as text."""
    named = {variable for provider in PROVIDERS.values() for variable in provider.keys}
    return tuple(sorted({env[name] for name in named if len(env.get(name, "")) >= _SHORT}))


def _installed(library: str) -> bool:
    from importlib.util import find_spec

    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:
        return False


def _unspoken(spec: str) -> str:
    """Return the name without its second part, which may be a key by mistake."""
    kind, colon, rest = spec.strip().partition(":")
    return f"{kind[:40]}{colon}{'…' if rest else ''}"
