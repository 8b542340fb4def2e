"""Tokens for hubs, stored by `whet hub login`: `credentials.json` in the state directory, readable by its owner.

They are not in the state database, so that no backup or snapshot contains them. `WHET_HUB` and `WHET_HUB_TOKEN` take
precedence over the file, for automation. A token is sent only to the origin it belongs to.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import FailedError, UsageError
from whet.sources.registries.registry import get_origin
from whet.store.atomic import write_bytes
from whet.store.directories import make_directories
from whet.store.failures import os_failure

if TYPE_CHECKING:
    from whet.library.roots import Place

TOKEN = "WHET_HUB_TOKEN"  # noqa: S105  the name of a variable, not a token
HOME = "WHET_HUB"
NAME = "credentials.json"


class Login(NamedTuple):
    """A login to a hub."""

    location: str
    account: str
    token: str


def get_token(location: str, place: Place) -> str:
    """Return the token for a hub, from the environment or a login; "" for none. Raise UsageError `bad-token`."""
    token, home = place.env.get(TOKEN, ""), get_origin(place.env.get(HOME, ""))
    if token and home[1] and home == get_origin(location):
        return check_token(token)
    found = (login.token for login in read_logins(place) if get_origin(login.location) == get_origin(location))
    return next(found, "")


def get_home(place: Place) -> str:
    """Return the default hub: that of the environment, or the only login; "" for none."""
    logins = read_logins(place)
    return place.env.get(HOME, "") or (logins[0].location if len(logins) == 1 else "")


def read_logins(place: Place) -> tuple[Login, ...]:
    """Return every login. Raise FailedError `credentials-damaged` for an invalid file."""
    path = os.path.join(place.state, NAME)
    try:
        with open(path, "rb") as file:
            values = json.load(file)
        return tuple(Login(location, row["account"], check_token(row["token"])) for location, row in values.items())
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise os_failure(error, path, doing="read", other="read-failed") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, UsageError):
        message = f"{path} cannot be understood."
        raise FailedError("credentials-damaged", message, hint="Remove it and log in again.", path=path) from None


def keep_login(login: Login, place: Place) -> None:
    """Store a token; another for the same hub is replaced."""
    others = [known for known in read_logins(place) if get_origin(known.location) != get_origin(login.location)]
    _write([*others, login], place)


def forget_login(location: str, place: Place) -> bool:
    """Delete the token for a hub; return whether there was one."""
    known = read_logins(place)
    kept = [login for login in known if get_origin(login.location) != get_origin(location)]
    if len(kept) < len(known):
        _write(kept, place)
    return len(kept) < len(known)


def check_token(token: str) -> str:
    """Return the token if it is valid in a header. Raise UsageError `bad-token`, which does not repeat it."""
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise UsageError("bad-token", "The hub token is not valid.", hint="Remove spaces and line breaks from it.")
    return token


def _write(logins: list[Login], place: Place) -> None:
    make_directories(place.state)
    values = {login.location: {"account": login.account, "token": login.token} for login in sorted(logins)}
    write_bytes(os.path.join(place.state, NAME), f"{json.dumps(values, indent=2)}\n".encode(), mode=0o600)
