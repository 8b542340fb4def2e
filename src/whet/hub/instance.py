"""One hub on a machine: its directory with configuration and keys, and the process that serves it.

DIR/hub.toml     the operator's settings
DIR/log.key      the private key of the log; losing it means a new log
DIR/hub.db       the database, unless the configuration names a PostgreSQL
DIR/search.db    the search index, rebuilt if it is missing
DIR/blobs/       the archives, unless they are in the database or in an object store
"""

from __future__ import annotations

import json
import os
import tomllib
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_origin, get_type_hints

from whet.errors import ConflictError, InvalidError, NotFoundError, UsageError
from whet.extras import missing_extra
from whet.hub.settings import RESOLVER, Login, Mirror, OwnProvider
from whet.sockets import listen
from whet.sources.transparency import is_origin
from whet.sources.web.client import Web
from whet.store.atomic import write_bytes, write_text
from whet.store.clock import system_clock
from whet.values import Json, answer_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.hub.registry import Hub
    from whet.hub.requests import Route
    from whet.store.clock import Clock

CONFIG = "hub.toml"
KEY = "log.key"
_PRIVATE = 0o600
_WRITTEN = ("title", "origin", "database", "blobs", "private")
"""Keys that `init` writes; the operator adds the others."""


class HubConfig(NamedTuple):
    """The content of `hub.toml`."""

    origin: str
    """Name of the log: the host of the hub."""
    title: str = "Skills"
    private: bool = False
    database: str = ""
    """A `postgresql://` address; "" for a file in the directory."""
    blobs: str = ""
    """`database`, a directory or `s3://BUCKET/PREFIX`; "" for the default of the database."""
    url: str = ""
    """Public address of the hub; "" for https:// and `origin`."""
    open_owners: bool = False
    """Whether every account may create owners."""
    login: Login = Login()
    providers: tuple[OwnProvider, ...] = ()
    resolver: str = RESOLVER
    """Address of a DNS-over-HTTPS service (JSON) for TXT records."""
    private_hosts: tuple[str, ...] = ()
    """Hosts of a private network that the hub may ask: identity providers, repositories, mirrored hubs."""
    quarantine_on_rescan: bool = True
    """Whether a version that new rules find dangerous is quarantined at once, and not only reported as a case."""
    mirrors: tuple[Mirror, ...] = ()
    """Other hubs and sites whose skills this hub fetches on request."""


class HubCreated(NamedTuple):
    """A new hub."""

    directory: str
    admin_token: str
    """Shown once; the hub stores only its hash."""
    log_key: str

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        return answer_json(self)


def create_hub(directory: str, config: HubConfig, clock: Clock = system_clock) -> HubCreated:
    """Create the directory of a hub: its configuration, its keys, an empty store and a token for its administrator."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    if os.path.lexists(os.path.join(directory, CONFIG)):
        raise ConflictError(
            "hub-exists",
            f"{directory} is already a hub.",
            hint=f"Run `whet hub serve {directory}`, or choose another directory.",
        )
    if not is_origin(config.origin):
        hint = "Use the host under which people reach the hub, such as skills.example.com."
        raise UsageError("bad-log-name", f"{config.origin!r} cannot be the name of a log.", hint=hint)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    key = Ed25519PrivateKey.generate().private_bytes_raw()
    write_bytes(os.path.join(directory, KEY), key.hex().encode() + b"\n", mode=_PRIVATE)
    lines = (f"{name} = {json.dumps(value)}\n" for name in _WRITTEN if (value := getattr(config, name)) != "")
    text = f"# A hub of Whet. docs/hub.md explains every line.\n{''.join(lines)}"
    write_text(os.path.join(directory, CONFIG), text, mode=_PRIVATE)
    try:
        hub = open_hub(directory, clock=clock)
    except BaseException:  # do not leave a hub that cannot be opened
        for name in (CONFIG, KEY):
            os.unlink(os.path.join(directory, name))
        raise
    try:
        token = hub.create_token("admin", ("admin",), "made by whet hub init")
        return HubCreated(os.path.abspath(directory), token, str(hub.log.public_key))
    finally:
        hub.close()


def read_config(directory: str) -> HubConfig:
    """Read `hub.toml` of a directory. Raises WhetError."""
    path = os.path.join(directory, CONFIG)
    try:
        with open(path, "rb") as file:
            values = tomllib.load(file)
    except FileNotFoundError as error:
        hint = f"Make one with `whet hub init {directory}`."
        raise NotFoundError("no-hub", f"{directory} is not a hub.", hint=hint, path=path) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidError("bad-hub-config", f"{path} cannot be read: {error}.", hint="Correct the file.") from error
    try:
        config: HubConfig = _read_table(HubConfig, values)
        for mirror in config.mirrors:
            mirror.check()
    except ValueError as error:
        hint = "docs/hub.md explains every line."
        raise InvalidError("bad-hub-config", f"{path}: {error}.", hint=hint) from error
    return config


def _read_table(kind: Any, values: Json) -> Any:
    """Read a named tuple of texts, booleans, lists of texts and nested tables. Raise ValueError."""
    kinds = get_type_hints(kind)
    if unknown := sorted(values.keys() - kinds.keys()):
        raise ValueError(f"`{unknown[0]}` is unknown")
    if missing := sorted(name for name in kinds.keys() - kind._field_defaults.keys() if not values.get(name)):
        raise ValueError(f"`{missing[0]}` is missing")
    return kind(**{name: _read_value(kinds[name], value, name) for name, value in values.items()})


def _read_value(kind: Any, value: Any, name: str) -> Any:
    if get_origin(kind) is tuple and isinstance(value, list):
        return tuple(_read_value(get_args(kind)[0], item, name) for item in value)
    if hasattr(kind, "_fields") and isinstance(value, dict):
        return _read_table(kind, value)
    if type(value) is not kind:
        raise ValueError(f"`{name}` has the wrong type")
    return value


def add_mirror(directory: str, hub: Hub, mirror: Mirror) -> None:
    """Contact a source to mirror, and add it to the configuration of an open hub. Raises WhetError."""
    from whet.hub.mirrors import Mirrors

    known = hub.settings.mirrors
    if any(each.location == mirror.location for each in known):
        hint = f"Edit {CONFIG} to change it."
        raise ConflictError("mirror-exists", f"{mirror.location} is already mirrored.", hint=hint)
    try:
        mirror.check()
    except ValueError as error:
        hint = "See `whet hub mirror --help`."
        raise UsageError("bad-mirror", f"This cannot be mirrored: {error}.", hint=hint) from error
    hub.settings = hub.settings._replace(mirrors=(*known, mirror))
    with closing(Mirrors(hub)) as mirrors:
        mirrors.meet(mirror)
    path = os.path.join(directory, CONFIG)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    fields = mirror._asdict().items()
    lines = [f"{name} = {json.dumps(value)}\n" for name, value in fields if value and (name, value) != ("kind", "hub")]
    write_text(path, f"{text.rstrip()}\n\n[[mirrors]]\n{''.join(lines)}", mode=_PRIVATE)


def open_hub(directory: str, *, database: str = "", blobs: str = "", clock: Clock = system_clock) -> Hub:
    """Open the hub of a directory; `database` and `blobs` override its configuration. Raises WhetError."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from whet.hub.blobs import open_blobs
    from whet.hub.checker import Checker
    from whet.hub.database import open_database
    from whet.hub.log import HubLog
    from whet.hub.registry import Hub, HubSettings

    config = read_config(directory)
    path = os.path.join(directory, KEY)
    try:
        with open(path, encoding="ascii") as file:
            key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(file.read().strip()))
    except (OSError, ValueError) as error:
        hint = "Restore it from a backup: without it, the log cannot continue."
        raise InvalidError("bad-log-key", f"{path} is missing or not a key.", hint=hint, path=path) from error
    address = database or config.database or os.path.join(directory, "hub.db")
    place = blobs or config.blobs or ("database" if "://" in address else os.path.join(directory, "blobs"))
    store = open_database(address)
    try:
        kept, log = open_blobs(place, store), HubLog(store, config.origin, key)
    except BaseException:
        store.close()
        raise
    settings = HubSettings(
        config.title,
        config.private,
        url=(config.url or f"https://{config.origin}").rstrip("/"),
        open_owners=config.open_owners,
        login=config.login,
        providers=config.providers,
        resolver=config.resolver,
        private_hosts=config.private_hosts,
        quarantine_on_rescan=config.quarantine_on_rescan,
        mirrors=config.mirrors,
    )
    web = Web(env=os.environ, private_hosts=config.private_hosts, timeout=10, total=10)
    index = os.path.join(directory, "search.db")
    return Hub(store, kept, log, Checker(), settings, clock, threads="://" in address, index=index, web=web)


def serve(hub: Hub, host: str, port: int, pages: Sequence[Route] = ()) -> None:
    """Serve a hub, with `pages`, until it is stopped.

    Prints `listening on http://HOST:PORT` once it answers. Raises WhetError if it cannot listen there.
    """
    try:
        import uvicorn

        from whet.hub.app import create_app
    except ImportError as error:
        raise missing_extra("The hub needs the extra `hub`.", "hub") from error

    class Server(uvicorn.Server):
        async def startup(self, sockets: object = None) -> None:
            await super().startup(sockets)  # type: ignore[arg-type]  # only passed on
            if self.started:
                address = self.servers[0].sockets[0].getsockname()
                print(f"listening on http://{address[0]}:{address[1]}", flush=True)

    config = uvicorn.Config(create_app(hub, pages), log_level="warning", access_log=False, server_header=False)
    try:
        with listen(host, port) as listening, suppress(KeyboardInterrupt):  # uvicorn's reaction to a stop
            Server(config).run(sockets=[listening])
    finally:
        hub.close()
