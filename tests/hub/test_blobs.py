"""Where archives are kept: files, the database, and a real S3-compatible object store keep the same promises."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

import pytest

from hub.object_store import BUCKET
from hub.world import refused
from whet.errors import FailedError, UsageError
from whet.hub.blobs import open_blobs
from whet.hub.database import Database, open_database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from whet.hub.blobs import Blobs

DATA = bytes(range(256)) * 5_000
SHA256 = hashlib.sha256(DATA).hexdigest()
LOST = FailedError, "archive-lost"


@pytest.fixture
def database(address: str) -> Iterator[Database]:
    made = open_database(address)
    yield made
    made.close()


@pytest.fixture
def damage(blob_address: str, database: Database) -> Callable[[bytes], None]:
    """Put other bytes where the archive is kept."""

    def put(data: bytes) -> None:
        if blob_address == "database":
            database.write(lambda change: change.run("UPDATE blobs SET data = ? WHERE sha256 = ?", data, SHA256))
        elif blob_address.startswith("s3://"):
            import obstore
            from obstore.store import from_url

            store = from_url(blob_address, client_options={"allow_http": True})
            obstore.put(store, f"sha256/{SHA256[:2]}/{SHA256}", data)
        else:
            with open(f"{blob_address}/{SHA256[:2]}/{SHA256}", "wb") as file:
                file.write(data)

    return put


def test_an_archive_is_kept_under_its_hash_and_damage_is_noticed(
    blob_address: str, database: Database, damage: Callable[[bytes], None]
) -> None:
    blobs = open_blobs(blob_address, database)
    blobs.check()
    assert refused(lambda: blobs.get(SHA256)) == LOST
    assert (blobs.put(DATA), blobs.put(DATA), blobs.put(b"")) == (SHA256, SHA256, hashlib.sha256().hexdigest())
    again: Blobs = open_blobs(blob_address, database)
    assert (again.get(SHA256), again.get(hashlib.sha256().hexdigest())) == (DATA, b"")
    for wrong in (DATA[:-1], b"", b"other"):
        damage(wrong)
        assert refused(lambda: again.get(SHA256)) == LOST


@pytest.mark.deep
def test_a_store_that_fails_is_said_to_fail(s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = open_database(str(tmp_path / "hub.db"))
    elsewhere = open_blobs(s3.replace(f"//{BUCKET}/", "//no-such-bucket/"), database)
    assert refused(lambda: elsewhere.put(DATA)) == refused(elsewhere.check) == (FailedError, "hub-blobs")
    monkeypatch.setenv("AWS_ENDPOINT", "http://127.0.0.1:9")  # nobody listens there
    down = open_blobs(s3, database)
    assert refused(lambda: down.put(DATA)) == refused(lambda: down.get(SHA256)) == (FailedError, "hub-blobs")
    with pytest.raises(FailedError) as found:
        down.check()
    assert re.fullmatch(r"The object store failed: .* PUT http://127.0.0.1:9/\S+ \(.*\)\.", found.value.message)
    (tmp_path / "blobs").write_text("not a directory")
    assert refused(open_blobs(str(tmp_path / "blobs"), database).check) == (FailedError, "write-failed")
    assert refused(lambda: open_blobs("ftp://files.example", database)) == (UsageError, "bad-blobs")
    database.close()
