"""Publishing to a Whet hub: each skill as one version under an owner. `docs/hub-api.md` says what a hub does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.errors import UsageError, WhetError
from whet.sources.publish.prepare import Published, Release
from whet.sources.registries.hub import authorize, check_token, explain, get_token, read_version
from whet.sources.registries.registry import ANSWER_BYTES, Answer, check_segment, mismatch, parse_json, quote_segment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whet.sources.model import Ref
    from whet.sources.publish.prepare import Prepared
    from whet.sources.registries.hub import Version
    from whet.sources.web.client import Web


def publish_hub(prepared: Sequence[Prepared], ref: Ref, owner: str, web: Web, env: Mapping[str, str]) -> Published:
    """Publish skills on the hub of a reference, under this owner or the one that the reference names."""
    token = get_token(ref.location, env)
    releases = []
    for skill in prepared:
        if not skill.version:
            hint = "Add it to the frontmatter: `metadata: {version: ...}`."
            raise UsageError("no-version", f"{skill.name} has no version.", hint=hint)
        known = (owner or ref.path, skill.name, skill.version)
        version, created = send_version(web, ref.location, token, *known, skill.archive, skill.digest)
        releases.append(Release(version.name, version.version, version.digest, "added" if created else "unchanged"))
    changed = any(release.change == "added" for release in releases)
    return Published("hub", ref.location, changed, tuple(releases))


def send_version(
    web: Web, location: str, token: str, owner: str, name: str, version: str, archive: bytes, digest: str
) -> tuple[Version, bool]:
    """Publish one version. Raises ConflictError `version-exists` and other WhetError.

    Sending what is there already does no harm; the answer is what the hub has now, and whether that is new.
    """
    if not owner:
        raise UsageError("usage", "The owner is missing.", hint="Pass the owner: `--owner O`, or hub:ADDRESS/O.")
    for segment, what in ((owner, "an owner"), (name, "the name of a skill"), (version, "a version")):
        check_segment(segment, what)
    url = f"{location.rstrip('/')}/api/v1/skills/{owner}/{name}/versions/{quote_segment(version)}"
    headers = {**authorize(check_token(token)), "Whet-Digest": digest}
    try:
        response = web.post(url, body=archive, content_type="application/zip", headers=headers, limit=ANSWER_BYTES)
    except WhetError as error:
        raise explain(error, location, token) from error
    answer = Answer(parse_json(response.body, response.url), "the answer", response.url)
    found = read_version(answer, owner, name, version)
    if found.digest != digest:
        raise mismatch(f"the hub has {found.digest}, but Whet sent {digest}")
    return found, response.status == 201
