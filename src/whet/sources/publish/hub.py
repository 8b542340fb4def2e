"""Publish to a Whet hub: each skill as one version under an owner. `docs/hub-api.md` describes the API."""

from __future__ import annotations

import base64
from types import MappingProxyType
from typing import TYPE_CHECKING

from whet.errors import FailedError, InvalidError, NotFoundError, UsageError, WhetError
from whet.notes import Note
from whet.skill.evals_proof import make_proof
from whet.skill.versions import is_semver
from whet.sources.credentials import check_token, get_token
from whet.sources.keys import DEFAULT, read_key
from whet.sources.publish.prepare import Published, Release
from whet.sources.registries.hub import authorize, explain, read_version
from whet.sources.registries.login import exchange_identity
from whet.sources.registries.registry import ANSWER_BYTES, Answer, check_segment, mismatch, parse_json, quote_segment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from whet.library.roots import Place
    from whet.skill.evals_proof import CollectedEvals
    from whet.sources.model import Ref
    from whet.sources.publish.prepare import Prepared
    from whet.sources.registries.hub import Version
    from whet.sources.web.client import Web

_TRIES = 6
"""Number of requests for a version that the hub has just accepted, with growing pauses."""


def publish_hub(
    prepared: Sequence[Prepared],
    ref: Ref,
    owner: str,
    web: Web,
    place: Place,
    evals: Mapping[str, CollectedEvals] = MappingProxyType({}),
) -> Published:
    """Publish skills on the hub of a reference, under this owner or the one that the reference names.

    `evals` are the results of the skills' evals by name, signed with your key, if you have one.
    """
    token = get_token(ref.location, place) or exchange_identity(ref.location.rstrip("/"), web, place.env)
    releases, notes = [], []
    for skill in prepared:
        if not skill.version:
            hint = "Add it to the frontmatter: `metadata: {version: ...}`."
            raise UsageError("no-version", f"{skill.name} has no version.", hint=hint)
        if not is_semver(skill.version):
            message = f"A hub needs a semantic version, and {skill.name} has `version: {skill.version}`."
            hint = (
                f"Write it as MAJOR.MINOR.PATCH into the frontmatter: `metadata: {{version: {_full(skill.version)}}}`."
            )
            raise UsageError("bad-version", message, hint=hint)
        known = (owner or ref.path, skill.name, skill.version)
        proof = b""
        if found := evals.get(skill.name):
            if found.digest != skill.digest:
                message = f"{skill.name} was changed after its evals were run."
                raise InvalidError("evals-outdated", message, hint="Publish again with `--evals`.")
            proof = make_proof(skill.name, skill.digest, found.results, _own_key(place))
        version, created = send_version(web, ref.location, token, *known, skill.archive, skill.digest, proof)
        if version.quarantined is not None:
            message = f"{skill.name} {skill.version} is in quarantine: {version.quarantined}".strip()
            hint = "Nobody can install it until a moderator of the hub releases it."
            notes.append(Note("version-quarantined", "warning", message, hint, skill=skill.name))
        logged = _wait_until_served(web, version, ref.location, token)
        release = Release(version.name, version.version, version.digest, "added" if created else "unchanged")
        releases.append(release._replace(owner=version.owner, verdict=version.verdict, proof=logged))
    changed = any(release.change == "added" for release in releases)
    return Published("hub", ref.location, changed, tuple(releases), notes=tuple(notes))


def _full(version: str) -> str:
    """Return a semantic version for one with too few numbers; an example for any other."""
    padded = ".".join([*version.split("."), "0", "0"][:3])
    return padded if is_semver(padded) else "1.0.0"


def _own_key(place: Place) -> Ed25519PrivateKey | None:
    try:
        return read_key(DEFAULT, place)
    except NotFoundError:
        return None


def send_version(
    web: Web,
    location: str,
    token: str,
    owner: str,
    name: str,
    version: str,
    archive: bytes,
    digest: str,
    evals: bytes = b"",
) -> tuple[Version, bool]:
    """Publish one version. Raises ConflictError `version-exists` and other WhetError.

    Sending an existing version again is harmless. Return the version on the hub, and whether it is new.
    """
    if not owner:
        raise UsageError("usage", "The owner is missing.", hint="Pass the owner: `--owner O`, or hub:ADDRESS/O.")
    for segment, what in ((owner, "an owner"), (name, "the name of a skill"), (version, "a version")):
        check_segment(segment, what)
    url = _version_url(location, owner, name, version)
    headers = {**authorize(check_token(token)), "Whet-Digest": digest}
    headers |= {"Whet-Evals": base64.b64encode(evals).decode()} if evals else {}
    try:
        response = web.send(url, body=archive, content_type="application/zip", headers=headers, limit=ANSWER_BYTES)
    except WhetError as error:
        raise explain(error, location, token) from error
    answer = Answer(parse_json(response.body, response.url), "the answer", response.url)
    found = read_version(answer, owner, name, version)
    if found.digest != digest:
        raise mismatch(f"the hub has {found.digest}, but Whet sent {digest}")
    return found, response.status == 201


def _wait_until_served(web: Web, version: Version, location: str, token: str) -> str:
    """Request a version until the hub serves it: another of its servers may answer, which learns of it later.

    Return the proof of the hub's log, "" for a hub without one.
    """
    url = _version_url(location, version.owner, version.name, version.version)
    for attempt in range(_TRIES):
        try:
            response = web.get(url, limit=ANSWER_BYTES, headers=authorize(token))
        except NotFoundError:
            web.wait(0.2 * 2**attempt)
            continue
        answer = Answer(parse_json(response.body, response.url), "the answer", response.url)
        served = read_version(answer, version.owner, version.name, version.version)
        if served.digest != version.digest:
            raise mismatch(f"the hub serves {served.digest}, but took {version.digest}")
        log = answer.optional_child("log")
        return log.text("proof") if log else ""
    message = f"The hub accepted {version.name} {version.version} but does not serve it yet."
    raise FailedError(
        "not-served", message, hint="Publish it again in a minute; if the hub has it by then, nothing changes."
    )


def _version_url(location: str, owner: str, name: str, version: str) -> str:
    return f"{location.rstrip('/')}/api/v1/skills/{owner}/{name}/versions/{quote_segment(version)}"
