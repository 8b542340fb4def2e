"""The origin of a mirrored version, and its proof."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import InvalidError
from whet.hub.tokens import Identity
from whet.sources.registries.registry import clean_text, get_origin
from whet.sources.transparency import LogKey, Proof

if TYPE_CHECKING:
    from whet.hub.cases import Place
    from whet.sources.model import LogProof
    from whet.values import Json

_MOST_FIELDS = 20


class Origin(NamedTuple):
    """The hub or site that a version was fetched from."""

    url: str
    proof: LogProof | None = None
    """Proof that the hub's log contains it; None for a site."""
    artifact: str = ""
    """Hash of the bytes in a site's index."""

    @property
    def name(self) -> str:
        """Name of the hub's log, or host of a site."""
        return LogKey.parse(self.proof.log_key).name if self.proof else get_origin(self.url)[1]

    def identity(self) -> Identity:
        """Return the identity that repeats acts of this origin here."""
        return Identity("", ("admin",), "mirror", self.name)

    def publisher_json(self) -> Json:
        """Return the publisher according to the hub's log, and the name of the origin."""
        said = self._said("publisher")
        fields = said.items() if isinstance(said, dict) else ()
        kept = {clean_text(name, 40): clean_text(value, 200) for name, value in fields if isinstance(value, str)}
        named = dict(list(kept.items())[:_MOST_FIELDS])
        usual = {"kind": "mirror" if self.proof else "site", "account": "", "detail": self.url}
        return {**(named if {"kind", "account", "detail"} <= named.keys() else usual), "mirrored": self.name}

    def evals_json(self) -> Json | None:
        """Return the hub's log entry about the publisher's evals; None if there is none."""
        said: Json | None = self._said("evals")
        return said

    def _said(self, field: str) -> Any:
        return json.loads(self.proof.log_entry).get(field) if self.proof else None

    def act_json(self) -> Json:
        """Return the origin for our own log."""
        if self.proof is None:
            return {"url": self.url, "artifact": self.artifact}
        proof = Proof.parse(self.proof.log_proof)
        return {
            "url": self.url,
            "origin": self.name,
            "index": proof.number,
            "entry": self.proof.log_entry,
            "checkpoint": proof.checkpoint,
        }

    def to_json(self) -> Json:
        """Return the origin for the text of the version: enough to check the proof again."""
        if self.proof is None:
            return self.act_json()
        shown = {name: value for name, value in self.act_json().items() if name != "checkpoint"}
        return {**shown, "key": self.proof.log_key, "proof": self.proof.log_proof}

    def changed(self, place: Place) -> InvalidError:
        """Return the error for a version whose content upstream has changed since it was mirrored."""
        message = f"{self.url} now shows other content for {place[0]}/{place[1]} {place[2]} than before."
        hint = "The version stays as it was mirrored. Ask the operator of the mirrored hub or site."
        return InvalidError("mirror-changed", message, hint=hint)
