"""One file of a repository, fetched without the rest where the server lets one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.errors import InvalidError
from whet.sources.git.contents import EVERYTHING, LISTING, Contents
from whet.sources.git.remote import Remote
from whet.sources.git.resolving import fetch_commit

if TYPE_CHECKING:
    from whet.sources.model import FetchContext, Ref


def file_in_repository(ref: Ref, path: str, limit: int, reach: FetchContext) -> bytes | None:
    """The content of a file, at most `limit` bytes of it; None where there is no such file. Raises WhetError."""
    remote = Remote(ref.location, reach)
    try:
        parts = remote.takes_parts
        commit = fetch_commit(remote, ref.ref, LISTING if parts else EVERYTHING).commit
        snapshot = remote.snapshot(commit)
        node = snapshot.files.get(path)
        if node is None or node.link or node.module:
            return None
        Contents(remote, commit, snapshot, parts=parts).bring([path])
        if remote.sizes([node.oid]).get(node.oid, limit + 1) > limit:
            message = f"The file {path} of {ref.location} has more than {limit} bytes."
            raise InvalidError("response-too-large", message, hint="This is more than such a file has.")
        return remote.contents([node.oid])[node.oid]
    finally:
        remote.close()
