"""Your own keys, which sign skills: `keys/NAME.key` in the state directory, readable only by you.

Like tokens, they are not in the state database, so that no backup or snapshot contains them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import ConflictError, FailedError, NotFoundError, UsageError
from whet.library.package import package_directory, read_tree
from whet.skill.finder import MAIN_FILE, main_file
from whet.skill.names import is_ascii_name
from whet.skill.signature import NAME, PublicKey, public_key, sign
from whet.store.atomic import write_bytes
from whet.store.directories import make_directories
from whet.store.failures import os_failure
from whet.values import answer_json

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from whet.library.roots import Place
    from whet.values import Json

DEFAULT = "default"
_ENDING = ".key"


class OwnKey(NamedTuple):
    """One of your keys."""

    name: str
    key: PublicKey
    path: str


class SignedSkill(NamedTuple):
    """A skill that was signed."""

    path: str
    """Path of the signature."""
    key: str
    files: int

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        return answer_json(self)


def sign_directory(directory: str, name: str, place: Place) -> SignedSkill:
    """Sign the skill in a directory with one of your keys. Raises WhetError."""
    directory = package_directory(directory)
    tree = read_tree(directory)
    if tree is None:
        raise NotFoundError("path-not-found", f"There is no {directory}.", hint="Check the path.", path=directory)
    if not main_file(tree):
        hint = "Name the directory of a skill."
        raise UsageError("not-a-package", f"{directory} has no {MAIN_FILE}.", hint=hint, path=directory)
    key = read_key(name, place)
    path = os.path.join(directory, NAME)
    write_bytes(path, sign(os.path.basename(directory), tree, key))
    return SignedSkill(path, str(public_key(key)), len(tree.keys() - {NAME}))


def list_keys(place: Place) -> tuple[OwnKey, ...]:
    """Return your keys, by name."""
    directory = os.path.join(place.state, "keys")
    try:
        names = sorted(os.listdir(directory))
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise os_failure(error, directory, doing="read", other="read-failed") from error
    found = (name.removesuffix(_ENDING) for name in names if name.endswith(_ENDING))
    return tuple(OwnKey(name, public_key(read_key(name, place)), _path(name, place)) for name in found)


def create_key(name: str, place: Place) -> OwnKey:
    """Create a key. Raise ConflictError `key-exists`."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    path = _path(name, place)
    if os.path.lexists(path):
        hint = "Choose another name. Whet does not replace a key, because nobody could sign with the old one again."
        raise ConflictError("key-exists", f"You already have a key named {name}.", hint=hint)
    key = Ed25519PrivateKey.generate()
    make_directories(os.path.dirname(path))
    write_bytes(path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), mode=0o600)
    return OwnKey(name, public_key(key), path)


def read_key(name: str, place: Place) -> Ed25519PrivateKey:
    """Read one of your keys. Raise NotFoundError `no-such-key` or FailedError `key-damaged`."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    path = _path(name, place)
    try:
        with open(path, "rb") as file:
            key = load_pem_private_key(file.read(65_536), None)
    except FileNotFoundError:
        hint = "`whet keys create` makes one, `whet keys list` shows those you have."
        raise NotFoundError("no-such-key", f"You have no key named {name}.", hint=hint) from None
    except OSError as error:
        raise os_failure(error, path, doing="read", other="read-failed") from error
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise FailedError("key-damaged", f"{path} is not a key.", hint="Restore it, or create another.", path=path)
    return key


def _path(name: str, place: Place) -> str:
    if not is_ascii_name(name) or len(name) > 64:
        raise UsageError("bad-name", f"{name!r} cannot be the name of a key.", hint="Use a-z, 0-9 and hyphens.")
    return os.path.join(place.state, "keys", f"{name}{_ENDING}")
