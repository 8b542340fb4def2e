"""Publish to an OCI registry: one skill as one artifact under a tag, several as a collection."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import tarfile
from typing import TYPE_CHECKING

from whet.errors import ConflictError, NotFoundError, UsageError
from whet.skill.dialects import read_skill
from whet.skill.finder import MAIN_FILE
from whet.skill.frontmatter import read_document
from whet.skill.tree import digest as content_digest
from whet.skill.tree import entries
from whet.sources.publish.prepare import Published, Release
from whet.sources.refs.parse import shown
from whet.sources.registries.oci import CREATED, DESCRIPTION, NAME, TITLE, VERSION, OciSource
from whet.sources.registries.oci_client import COLLECTION, INDEX, MANIFEST, SKILL, SKILL_CONFIG, SKILL_LAYER, TAG
from whet.sources.registries.registry import mismatch, quote_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.skill.model import Skill
    from whet.sources.model import FetchContext, Offer, Ref
    from whet.sources.publish.prepare import Prepared
    from whet.sources.registries.oci import Artifact
    from whet.values import Json

_FIXED = re.compile(r"v?\d.*")
"""Tags that name a version and are never moved; others, such as latest, are."""


def publish_oci(prepared: Sequence[Prepared], ref: Ref, context: FetchContext, created: str) -> Published:
    """Publish a skill to the repository of a reference, under its tag or the version of the skill.

    Several skills are a collection, which needs a tag. Raises ConflictError `version-exists` for a version that exists
    with other content.
    """
    tag = _choose_tag(prepared, ref)
    at = ref._replace(ref=tag)
    source = OciSource(at, context)
    known = {offer.name: source.artifacts[offer.revision] for offer in _find(source, tag)}
    layers = {skill.name: pack_layer(skill) for skill in prepared}
    same = {skill.name for skill in prepared if _is_same(source, known.get(skill.name), skill, layers[skill.name])}
    releases = tuple(
        Release(
            skill.name,
            skill.version,
            skill.digest,
            "unchanged" if skill.name in same else "updated" if skill.name in known else "added",
            shown(at),
        )
        for skill in prepared
    )
    if same == known.keys() == layers.keys():
        return Published("oci", shown(ref), changed=False, releases=releases, revision=source.get_manifest(tag)[0])
    if known and _FIXED.fullmatch(tag):
        message = f"{shown(at)} exists with other content."
        raise ConflictError("version-exists", message, hint="Publish it as a new version, or under a moving tag.")
    times = {name: known[name].created if name in same else created for name in layers}
    manifests = [_push(source, skill, layers[skill.name], times[skill.name]) for skill in prepared]
    if len(prepared) == 1:
        (sent,) = manifests
        source.repository.push_manifest(sent, tag)
    else:
        for manifest in manifests:
            source.repository.push_manifest(manifest, f"sha256:{_sha256(manifest)}")
        sent = _dump(_index(prepared, manifests, created))
        source.repository.push_manifest(sent, tag, INDEX)
    digest, _ = source.get_manifest(tag)
    if digest != f"sha256:{_sha256(sent)}":
        raise mismatch(f"the registry serves {digest} for the tag {tag}, which is not what Whet sent")
    return Published("oci", shown(ref), changed=True, releases=releases, revision=digest)


def _choose_tag(prepared: Sequence[Prepared], ref: Ref) -> str:
    """Return the tag to publish under. Raises UsageError."""
    if ref.path:
        hint = "Publish each skill to its own repository, or several at once as a collection."
        raise UsageError("usage", "A skill of a collection cannot be published alone.", hint=hint)
    tag = ref.ref or (prepared[0].version.replace("+", "_") if len(prepared) == 1 else "")
    if not tag:
        hint = "Name a tag: `--oci HOST/REPOSITORY:TAG`."
        if len(prepared) > 1:
            raise UsageError("usage", "A collection has no version.", hint=hint)
        hint = "Add it to the frontmatter: `metadata: {version: ...}`, or name a tag: `--oci HOST/REPOSITORY:TAG`."
        raise UsageError("no-version", f"{prepared[0].name} has no version.", hint=hint)
    if not TAG.fullmatch(tag):
        hint = "Use letters, digits, dots, hyphens and underscores."
        raise UsageError("bad-source", f"{quote_text(tag)} cannot be a tag.", hint=hint)
    return tag


def pack_layer(skill: Prepared) -> bytes:
    """Pack the files of a skill into a reproducible tar.gz, in a folder of its name."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, item in sorted(skill.tree.items()):
            entry = tarfile.TarInfo(f"{skill.name}/{path}")
            entry.size, entry.mode = len(item.data), 0o755 if item.executable else 0o644
            archive.addfile(entry, io.BytesIO(item.data))
    return gzip.compress(target.getvalue(), mtime=0)


def _find(source: OciSource, tag: str) -> Sequence[Offer]:
    try:
        return source.list_tag(tag).offers
    except NotFoundError:  # the tag or the repository does not exist yet
        return ()


def _is_same(source: OciSource, known: Artifact | None, skill: Prepared, layer: bytes) -> bool:
    """Return whether a skill exists with this content, even if another gzip packed it into other bytes."""
    if known is None:
        return False
    return known.layer == _sha256(layer) or (
        content_digest(entries(source.fetch_one(source.offer_artifact(known)).tree)) == skill.digest
    )


def _push(source: OciSource, skill: Prepared, layer: bytes, created: str) -> bytes:
    """Upload what the registry lacks and return the manifest."""
    said = read_skill(read_document(skill.tree[MAIN_FILE].data), fallback_name=skill.name)
    config = _dump(_config(skill, said))
    for blob in (config, layer):
        if not source.repository.has_blob(_sha256(blob)):
            source.repository.push_blob(blob, _sha256(blob))
    annotations = {
        CREATED: created,
        TITLE: skill.name,
        NAME: skill.name,
        VERSION: skill.version,
        DESCRIPTION: skill.description,
        "org.opencontainers.image.licenses": said.license,
        "org.opencontainers.image.source": said.homepage,
        "io.agentskills.skill.compatibility": said.compatibility,
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": SKILL,
        "config": _descriptor(SKILL_CONFIG, config),
        "layers": [_descriptor(SKILL_LAYER, layer)],
        "annotations": {name: value for name, value in sorted(annotations.items()) if value},
    }
    return _dump(manifest)


def _index(prepared: Sequence[Prepared], manifests: Sequence[bytes], created: str) -> Json:
    """Return the index of a collection."""
    rows = [
        {
            **_descriptor(MANIFEST, manifest),
            "artifactType": SKILL,
            "annotations": {NAME: skill.name, **({VERSION: skill.version} if skill.version else {})},
        }
        for skill, manifest in zip(prepared, manifests, strict=True)
    ]
    made = {"schemaVersion": 2, "mediaType": INDEX, "artifactType": COLLECTION, "manifests": rows}
    return {**made, "annotations": {CREATED: created}}


def _config(skill: Prepared, said: Skill) -> Json:
    values = {
        "schemaVersion": "1",
        "name": skill.name,
        "version": skill.version,
        "description": skill.description,
        "license": said.license,
        "compatibility": said.compatibility,
        "allowedTools": [*said.allowed_tools],
    }
    return {name: value for name, value in values.items() if value}


def _descriptor(media_type: str, data: bytes) -> Json:
    return {"mediaType": media_type, "digest": f"sha256:{_sha256(data)}", "size": len(data)}


def _dump(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
