"""The body of an answer: read to its exact end, never beyond what is allowed, and unpacked.

`http.client` reads the head. The body is read here, because every byte has to be accounted for: `http.client` takes a
body that is shorter than promised for complete when it is read in pieces, does not notice one that is longer, guesses
where a length makes no sense, and reads what follows the last chunk without an end.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.errors import FailedError, InvalidError
from whet.sources.web.wires import SLICE, DroppedError

if TYPE_CHECKING:
    import http.client
    from collections.abc import Callable, Iterator

    from whet.sources.web.wires import Connection

_PIECE = 64 * 1024
_FRAMES = 1024 * 1024
"""Bytes of chunk sizes and trailers, beside what the body may have twice."""
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")
_LINE = 4096
_TRAILERS = 100
_EMPTY = frozenset({204, 304})


class Reply:
    """An answer whose head has been read. Either `read` it or `close` it."""

    __slots__ = ("_connection", "_keep", "_response", "_reusable", "_shown", "headers", "status")

    def __init__(
        self, connection: Connection, response: http.client.HTTPResponse, keep: Callable[[Connection], None]
    ) -> None:
        self._connection = connection
        self._response = response
        self._keep = keep
        self._shown = connection.wire.watch.shown
        self._reusable = not response.will_close
        self.status = response.status
        self.headers: dict[str, str] = {}
        for name, value in response.headers.items():
            low = name.lower()
            self.headers[low] = f"{self.headers[low]}, {value}" if low in self.headers else value

    def close(self) -> None:
        """Let go of the connection."""
        self._response.close()
        self._connection.close()

    def discard(self) -> None:
        """Pass over a short body for the sake of the connection, or let go of both."""
        length = self.headers.get("content-length", "")
        if self._reusable and length.isdigit() and len(length) < 6:
            self.read(int(length))
        else:
            self.close()

    def read(self, limit: int, progress: Callable[[int, int], None] | None = None) -> bytes:
        """The body as it was sent, and the connection for others to use. Raises WhetError and DroppedError."""
        try:
            body = b"".join(self._pieces(limit, progress))
        except ConnectionError as error:
            self.close()
            raise DroppedError(str(error), began=True) from error
        except OSError as error:
            self.close()
            raise cut_off(self._shown, f"the connection failed: {error.strerror or error}") from error
        except BaseException:
            self.close()
            raise
        self._response.close()
        if self._reusable:
            self._keep(self._connection)
        else:
            self._connection.close()
        return body

    def _pieces(self, limit: int, progress: Callable[[int, int], None] | None) -> Iterator[bytes]:
        if self.status in _EMPTY:
            return
        coding = self.headers.get("transfer-encoding", "").lower()
        if coding not in ("", "chunked"):
            raise bad_response(self._shown, f"sends its answer in an unknown coding, {coding[:40]!r}")
        length = None if coding else self._length()
        if length is not None and length > limit:
            raise _too_large(self._shown, limit)
        self._connection.wire.allow(limit * 2 + _FRAMES)
        pieces = self._chunks() if coding else self._to_the_end() if length is None else self._exactly(length)
        done = 0
        for piece in pieces:
            done += len(piece)
            if done > limit:
                raise _too_large(self._shown, limit)
            if progress is not None:
                progress(done, length or 0)
            yield piece

    def _length(self) -> int | None:
        """How long the body will be, if the server says so."""
        told = {value.strip() for value in self.headers.get("content-length", "").split(",")} - {""}
        if not told:
            return None
        text = told.pop()
        if told or not (text.isascii() and text.isdigit() and len(text) < 16):
            raise bad_response(self._shown, "does not say clearly how long its answer is")
        return int(text)

    def _exactly(self, length: int) -> Iterator[bytes]:
        left = length
        while left:
            piece = self._response.fp.read1(min(left, _PIECE))
            if not piece:
                raise cut_off(self._shown, f"only {length - left} of {length} bytes came")
            left -= len(piece)
            yield piece
        if self._something_behind():
            raise cut_off(self._shown, f"more came than the {length} bytes it promised")

    def _to_the_end(self) -> Iterator[bytes]:
        while piece := self._response.fp.read1(_PIECE):
            yield piece
        if self._connection.wire.ragged:
            raise cut_off(self._shown, "the connection ended without a goodbye")

    def _chunks(self) -> Iterator[bytes]:
        reader = self._response.fp
        while left := self._chunk_size():
            while left:
                piece = reader.read1(min(left, _PIECE))
                if not piece:
                    raise cut_off(self._shown, "the last part is missing")
                left -= len(piece)
                yield piece
            if reader.read(2) != b"\r\n":
                raise cut_off(self._shown, "a part is not as long as promised")
        for _ in range(_TRAILERS):
            line = reader.readline(_LINE)
            if line in (b"\r\n", b"\n"):
                # With a length as well, the server and whatever stands before it may disagree on where this ends.
                self._reusable &= "content-length" not in self.headers and not self._something_behind()
                return
            if not line:
                raise cut_off(self._shown, "the last part is missing")
        raise bad_response(self._shown, "does not end its answer")

    def _chunk_size(self) -> int:
        line = self._response.fp.readline(_LINE)
        if not line:
            raise cut_off(self._shown, "the last part is missing")
        found = _SIZE.fullmatch(line)
        if found is None:
            raise bad_response(self._shown, "does not say clearly how long a part of its answer is")
        return int(found[1], 16)

    def _something_behind(self) -> bool:
        """Whether more comes after the end, as far as it is there already; a server about to close gets a moment."""
        wire = self._connection.wire
        wire.patience = 0.0 if self._reusable else SLICE
        try:
            return bool(self._response.fp.peek(1))
        except OSError:
            self._reusable = False
            return False
        finally:
            wire.patience = None


def unpacked(body: bytes, coding: str, limit: int, shown: str) -> bytes:
    """A body without its Content-Encoding, of which only gzip is known. Raises WhetError."""
    if coding.strip().lower() in ("", "identity"):
        return body
    if coding.strip().lower() not in ("gzip", "x-gzip"):
        raise bad_response(shown, f"packs its answer as {coding[:40]!r}, which was not asked for")
    import zlib

    engine = zlib.decompressobj(wbits=31)
    try:
        plain = engine.decompress(body, limit + 1)
    except zlib.error as error:
        raise bad_response(shown, "sends an answer that cannot be unpacked") from error
    if len(plain) > limit:
        raise _too_large(shown, limit)
    if not engine.eof:
        raise cut_off(shown, "the end of the packed answer is missing")
    if engine.unused_data:
        raise bad_response(shown, "sends something behind its packed answer")
    return plain


def cut_off(shown: str, reason: str) -> FailedError:
    """The failure of an answer that is not whole."""
    return FailedError("response-cut-off", f"The answer of {shown} is not complete: {reason}.", hint="Try again.")


def bad_response(shown: str, problem: str) -> InvalidError:
    """The refusal of an answer that makes no sense."""
    hint = "Check the address; the server may be broken or of another kind."
    return InvalidError("bad-response", f"{shown} {problem}.", hint=hint)


def _too_large(shown: str, limit: int) -> InvalidError:
    message = f"{shown} answers with more than the {limit} bytes that are taken."
    return InvalidError("response-too-large", message, hint="Check the address; this is more than such a thing has.")
