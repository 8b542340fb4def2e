"""Models by their names: `openai:gpt-5`, `anthropic:NAME`, `google:NAME`, any server that speaks as OpenAI does, or
recordings.

Keys come from the environment that is given and from nowhere else, each only for its own provider: the key of OpenAI
is never sent to a server that merely speaks the same way, nor is anything else that its library finds in the
environment.
"""

from __future__ import annotations

import random
import re
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from whet.errors import UsageError
from whet.learning.models.answers import Structured
from whet.learning.models.client import ATTEMPTS, TIMEOUT, Client, Retrying, missing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from pydantic_ai.models import Model as TheirModel

    from whet.learning.models.client import Opener
    from whet.learning.models.model import Model

OWN_KEY = "WHET_MODEL_KEY"
"""The key for `openai-compatible:`, where the server wants one."""
_SHORT = 8
"""Keys of servers at home may be words such as `none`; what is shorter than this is not struck out of texts."""


class Provider(NamedTuple):
    """How models of a provider are reached."""

    keys: tuple[str, ...]
    """Variables that may hold the key, the first being the one to set."""
    library: str
    packages: tuple[str, ...]
    """What it needs besides the extra `models`."""
    open: Callable[[str, str, Mapping[str, str]], Opener]
    """From the model's name, the key and the environment."""


_SEVERAL = re.compile(r"\s*,\s*(?=[a-z-]+:)")


def open_model(
    spec: str,
    env: Mapping[str, str],
    *,
    timeout: float = TIMEOUT,
    attempts: int = ATTEMPTS,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    jitter: Callable[[], float] = random.random,
) -> Model:
    """The model of this name, or with several names between commas, a panel of them that votes.

    Nothing is sent and no library of a provider is imported before it is asked.
    """
    if len(names := _SEVERAL.split(spec.strip())) > 1:
        from whet.learning.models.panel import Panel

        how: dict[str, Any] = {"timeout": timeout, "attempts": attempts, "clock": clock, "sleep": sleep}
        return Panel([open_model(name, env, jitter=jitter, **how) for name in names])
    kind, _, rest = spec.strip().partition(":")
    if kind in ("recorded", "recording") and rest:
        from whet.learning.models.recorded import Recorded

        path, marked, inner = (rest, "", "") if kind == "recorded" else rest.partition("#")
        if kind == "recorded":
            return Recorded(path)
        if marked and path and not inner.startswith(("recorded:", "recording:")):
            real = open_model(inner, env, timeout=timeout, attempts=attempts, clock=clock, sleep=sleep, jitter=jitter)
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
    opener = provider.open(rest, key, env)
    client = Client(f"{kind}:{rest}", opener, packages=provider.packages, secrets=keys_of(env), timeout=timeout)
    return Structured(Retrying(client, attempts=attempts, clock=clock, sleep=sleep, jitter=jitter))


def _openai(name: str, key: str, env: Mapping[str, str]) -> Opener:
    @asynccontextmanager
    async def opened() -> AsyncIterator[TheirModel]:
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        base = env.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        async with OpenAIProvider(base_url=base, api_key=key) as provider:
            yield OpenAIChatModel(name, provider=provider)

    return opened


def _anthropic(name: str, key: str, env: Mapping[str, str]) -> Opener:
    @asynccontextmanager
    async def opened() -> AsyncIterator[TheirModel]:
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        base = env.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"
        async with AnthropicProvider(base_url=base, api_key=key) as provider:
            yield AnthropicModel(name, provider=provider)

    return opened


def _google(name: str, key: str, _env: Mapping[str, str]) -> Opener:
    @asynccontextmanager
    async def opened() -> AsyncIterator[TheirModel]:
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        async with GoogleProvider(api_key=key) as provider:
            yield GoogleModel(name, provider=provider)

    return opened


def _compatible(rest: str, key: str, _env: Mapping[str, str]) -> Opener:
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
            yield OpenAIChatModel(name, provider=provider)

    return opened


def _plain_headers(key: str) -> Callable[[Any], Any]:
    """A hook that leaves only the headers a request needs: OpenAI's library adds what it finds in the environment."""
    needed = {"host", "accept", "accept-encoding", "connection", "content-type", "content-length", "user-agent"}

    async def hook(request: Any) -> None:
        for header in [header for header in request.headers if header.lower() not in needed]:
            del request.headers[header]
        if key:
            request.headers["Authorization"] = f"Bearer {key}"

    return hook


PROVIDERS = {
    "openai": Provider(("OPENAI_API_KEY",), "openai", (), _openai),
    "anthropic": Provider(("ANTHROPIC_API_KEY",), "anthropic", (), _anthropic),
    "google": Provider(("GOOGLE_API_KEY", "GEMINI_API_KEY"), "google.genai", ("google-genai",), _google),
    "openai-compatible": Provider((OWN_KEY,), "openai", (), _compatible),
}


def keys_of(env: Mapping[str, str]) -> tuple[str, ...]:
    """Every key in the environment, so that none of them is ever shown, recorded or sent as text."""
    named = {variable for provider in PROVIDERS.values() for variable in provider.keys}
    return tuple(sorted({env[name] for name in named if len(env.get(name, "")) >= _SHORT}))


def _installed(library: str) -> bool:
    from importlib.util import find_spec

    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:
        return False


def _unspoken(spec: str) -> str:
    """The name as far as it can be shown: somebody may have put a key where a name belongs."""
    kind, colon, rest = spec.strip().partition(":")
    return f"{kind[:40]}{colon}{'…' if rest else ''}"
