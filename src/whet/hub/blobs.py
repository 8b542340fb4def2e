"""Storage of archives: under their own SHA-256, as files, in the database, or in an object store.

A blob is put before the transaction that refers to it, and putting the same bytes again changes nothing. A killed
publish leaves at most an unreferenced blob.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from datetime import timedelta
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Protocol

from whet.errors import FailedError, UsageError
from whet.extras import missing_extra
from whet.store.atomic import write_bytes
from whet.store.failures import os_failure, os_failures

if TYPE_CHECKING:
    from whet.hub.database import Database


_CAUSE = re.compile(r'<Message>([^<]{1,200})</Message>|message: "([^"]{1,200})"')
"""The message of the store or the system in the long text of an error."""
_TRIES = re.compile(r" in [0-9.]+[mµn]?s(?:, after .*)?$")
_PROBE = b"whet hub serve --check\n"


class Blobs(Protocol):
    """A storage for archives."""

    def put(self, data: bytes) -> str:
        """Store these bytes durably; return their SHA-256 in hex."""
        ...

    def get(self, sha256: str) -> bytes:
        """Return the bytes with this hash. Raise FailedError `archive-lost` if they are missing or damaged."""
        ...

    def drop(self, sha256: str) -> None:
        """Delete unreferenced bytes; do nothing if they are missing."""
        ...

    def check(self) -> None:
        """Write, read and delete a probe. Raise FailedError if that fails."""
        ...


def open_blobs(address: str, database: Database) -> Blobs:
    """Open the blobs at an address: a directory, `database`, or `s3://BUCKET/PREFIX`. Raises WhetError."""
    if address == "database":
        return _DatabaseBlobs(database)
    if address.startswith("s3://"):
        return _ObjectBlobs(address)
    if "://" in address:
        hint = "Use a directory, `database`, or s3://BUCKET/PREFIX."
        raise UsageError("bad-blobs", f"{address.partition('://')[0]} is not a place for blobs.", hint=hint)
    return _FileBlobs(address)


class _FileBlobs:
    def __init__(self, directory: str) -> None:
        self._directory = os.path.abspath(directory)

    def put(self, data: bytes) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        path = self._path(sha256)
        if not os.path.exists(path):
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            write_bytes(path, data)
        return sha256

    def get(self, sha256: str) -> bytes:
        try:
            with open(self._path(sha256), "rb") as file:
                return check_blob(sha256, file.read())
        except OSError as error:
            raise _missing(sha256) from error

    def check(self) -> None:
        with os_failures(self._directory):
            os.makedirs(self._directory, mode=0o700, exist_ok=True)
            with TemporaryFile(dir=self._directory) as file:
                file.write(_PROBE)

    def drop(self, sha256: str) -> None:
        try:
            os.unlink(self._path(sha256))
        except FileNotFoundError:
            pass
        except OSError as error:
            raise os_failure(error, self._path(sha256), doing="delete") from error

    def _path(self, sha256: str) -> str:
        return os.path.join(self._directory, sha256[:2], sha256)


class _DatabaseBlobs:
    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, data: bytes) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        sql = "INSERT INTO blobs VALUES (?, ?) ON CONFLICT (sha256) DO NOTHING"
        self._database.write(lambda change: change.run(sql, sha256, data))
        return sha256

    def get(self, sha256: str) -> bytes:
        row = self._database.read(lambda found: found.one("SELECT data FROM blobs WHERE sha256 = ?", sha256))
        if row is None:
            raise _missing(sha256)
        return check_blob(sha256, bytes(row[0]))

    def drop(self, sha256: str) -> None:
        self._database.write(lambda change: change.run("DELETE FROM blobs WHERE sha256 = ?", sha256))

    def check(self) -> None:
        """Do nothing: opening the database has written to it."""


class _ObjectBlobs:
    """An object store. No conditional writes: many stores ignore them, and equal names always mean equal bytes."""

    def __init__(self, address: str) -> None:
        try:
            import obstore
            from obstore.exceptions import BaseError
            from obstore.store import from_url
        except ImportError as error:
            raise missing_extra("An object store needs the extra `hub-s3`.", "hub-s3", "obstore") from error
        self._obstore: Any = obstore
        self._failures = (BaseError, OSError)
        retries: Any = {"max_retries": 4, "retry_timeout": timedelta(seconds=20)}
        self._store = from_url(address, client_options={"allow_http": True}, retry_config=retries)

    def put(self, data: bytes) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        try:
            self._obstore.put(self._store, _key(sha256), data)
        except self._failures as error:
            raise _failed(error) from error
        return sha256

    def get(self, sha256: str) -> bytes:
        try:
            return check_blob(sha256, bytes(self._obstore.get(self._store, _key(sha256)).bytes()))
        except FileNotFoundError as error:
            raise _missing(sha256) from error
        except self._failures as error:
            raise _failed(error) from error

    def drop(self, sha256: str) -> None:
        try:
            self._obstore.delete(self._store, _key(sha256))
        except FileNotFoundError:
            pass
        except self._failures as error:
            raise _failed(error) from error

    def check(self) -> None:
        path = f"check/{secrets.token_hex(8)}"
        try:
            self._obstore.put(self._store, path, _PROBE)
            found = bytes(self._obstore.get(self._store, path).bytes())
            self._obstore.delete(self._store, path)
        except self._failures as error:
            raise _failed(error) from error
        if found != _PROBE:
            raise _failed(ValueError("it does not hand out what was put into it"))


def _key(sha256: str) -> str:
    return f"sha256/{sha256[:2]}/{sha256}"


def check_blob(sha256: str, data: bytes) -> bytes:
    """Return the bytes if they have this hash. Raise FailedError `archive-lost`."""
    if hashlib.sha256(data).hexdigest() != sha256:
        raise _missing(sha256)
    return data


def _failed(error: Exception) -> FailedError:
    hint = "Check the address, the bucket and the AWS_ variables of the hub's environment."
    text = str(error)
    cause = _CAUSE.search(text)
    what = _TRIES.sub("", text.partition(" - ")[0].partition("\n")[0])
    problem = f"{what} ({cause[1] or cause[2]})" if cause else what
    return FailedError("hub-blobs", f"The object store failed: {problem}.", hint=hint)


def _missing(sha256: str) -> FailedError:
    hint = "Restore it from a backup of the hub, or publish the version's archive again."
    return FailedError("archive-lost", f"The archive {sha256} is missing or damaged.", hint=hint)
