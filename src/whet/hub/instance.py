"""One hub on a machine: its directory with configuration and keys, and the process that serves it.

DIR/hub.toml     what the operator decides
DIR/log.key      the private key of the log; losing it means a new log
DIR/hub.db       the database, unless the configuration names a PostgreSQL
DIR/blobs/       the archives, unless they are in the database or in an object store
"""

from __future__ import annotations

import json
import os
import tomllib
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import ConflictError, InvalidError, NotFoundError, UsageError
from whet.extras import missing_extra
from whet.sources.transparency import is_origin
from whet.store.atomic import write_bytes, write_text
from whet.store.clock import system_clock
from whet.values import Json, answer_json

if TYPE_CHECKING:
    from whet.hub.registry import Hub
    from whet.store.clock import Clock

CONFIG = "hub.toml"
KEY = "log.key"
_PRIVATE = 0o600
_TEXTS = ("title", "origin", "database", "blobs")


class HubConfig(NamedTuple):
    """What `hub.toml` says."""

    origin: str
    """The name of the log: the host under which the hub is known."""
    title: str = "Skills"
    private: bool = False
    database: str = ""
    """A `postgresql://` address; "" for a file in the directory."""
    blobs: str = ""
    """`database`, a directory or `s3://BUCKET/PREFIX`; "" for what fits the database."""


class HubCreated(NamedTuple):
    """A hub that was just made."""

    directory: str
    admin_token: str
    """Shown once; the hub keeps only its hash."""
    log_key: str

    def to_json(self) -> Json:
        """The answer as JSON carries it."""
        return answer_json(self)


def create_hub(directory: str, config: HubConfig, clock: Clock = system_clock) -> HubCreated:
    """Make the directory of a hub: its configuration, its keys, an empty store and a token for its administrator."""
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
    lines = (f"{name} = {json.dumps(getattr(config, name))}\n" for name in _TEXTS if getattr(config, name))
    text = (
        f"# A hub of Whet. docs/hub.md explains every line.\n{''.join(lines)}private = {json.dumps(config.private)}\n"
    )
    write_text(os.path.join(directory, CONFIG), text, mode=_PRIVATE)
    try:
        hub = open_hub(directory, clock=clock)
    except BaseException:  # what cannot be opened is not left behind as a hub
        for name in (CONFIG, KEY):
            os.unlink(os.path.join(directory, name))
        raise
    try:
        token = hub.create_token("admin", ("admin",), "made by whet hub init")
        return HubCreated(os.path.abspath(directory), token, str(hub.log.public_key))
    finally:
        hub.close()


def read_config(directory: str) -> HubConfig:
    """What `hub.toml` of a directory says. Raises WhetError."""
    path = os.path.join(directory, CONFIG)
    try:
        with open(path, "rb") as file:
            values = tomllib.load(file)
    except FileNotFoundError as error:
        hint = f"Make one with `whet hub init {directory}`."
        raise NotFoundError("no-hub", f"{directory} is not a hub.", hint=hint, path=path) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidError("bad-hub-config", f"{path} cannot be read: {error}.", hint="Correct the file.") from error
    unknown = values.keys() - {*HubConfig._fields}
    wrong = [name for name in _TEXTS if not isinstance(values.get(name, ""), str)]
    if unknown or wrong or not isinstance(values.get("private", False), bool) or not values.get("origin"):
        hint = (
            f"It has {', '.join(HubConfig._fields)}; texts in quotes, `private` true or false, and `origin` is needed."
        )
        name = next(iter((*sorted(unknown), *wrong, "origin" if not values.get("origin") else "private")))
        raise InvalidError("bad-hub-config", f"{path}: `{name}` is unknown, missing or of the wrong type.", hint=hint)
    return HubConfig(**values)


def open_hub(directory: str, *, database: str = "", blobs: str = "", clock: Clock = system_clock) -> Hub:
    """The hub of a directory; `database` and `blobs` replace what its configuration says. Raises WhetError."""
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
        hint = "Restore it from a backup: without it the log cannot go on."
        raise InvalidError("bad-log-key", f"{path} is missing or not a key.", hint=hint, path=path) from error
    address = database or config.database or os.path.join(directory, "hub.db")
    place = blobs or config.blobs or ("database" if "://" in address else os.path.join(directory, "blobs"))
    store = open_database(address)
    try:
        kept, log = open_blobs(place, store), HubLog(store, config.origin, key)
    except BaseException:
        store.close()
        raise
    return Hub(store, kept, log, Checker(), HubSettings(config.title, config.private), clock, threads="://" in address)


def serve(hub: Hub, host: str, port: int, announce: bool = True) -> None:
    """Serve a hub until it is stopped; print `listening on http://HOST:PORT` once it answers."""
    try:
        import uvicorn

        from whet.hub.app import create_app
    except ImportError as error:
        raise missing_extra("The hub needs the extra `hub`.", "hub") from error

    class Server(uvicorn.Server):
        async def startup(self, sockets: object = None) -> None:
            await super().startup(sockets)  # type: ignore[arg-type]  # only passed on
            if announce and self.started:
                address = self.servers[0].sockets[0].getsockname()
                print(f"listening on http://{address[0]}:{address[1]}", flush=True)

    config = uvicorn.Config(create_app(hub), host, port, log_level="warning", access_log=False, server_header=False)
    try:
        Server(config).run()
    finally:
        hub.close()
