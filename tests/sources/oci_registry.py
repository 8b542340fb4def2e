"""A small OCI registry over real sockets: the part of the Distribution specification that Whet uses."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http.server
import json
import re
import threading
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from whet.sources.web.client import Web

if TYPE_CHECKING:
    from collections.abc import Iterator

USER, PASSWORD, TOKEN = "ada", "correct horse", "t0ken"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
SKILL = "application/vnd.agentskills.skill.v1"
CONFIG = "application/vnd.agentskills.skill.config.v1+json"
LAYER = "application/vnd.agentskills.skill.content.v1.tar+gzip"
_PATH = re.compile(r"/v2/(?P<name>.+)/(?P<what>manifests|blobs|tags)/(?P<rest>.*)")


def digest_of(data: bytes) -> str:
    """The digest of bytes as OCI writes it."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


class Asked(NamedTuple):
    """A request that came."""

    method: str
    path: str
    authorization: str


class Registry:
    """What a registry has, and how it behaves."""

    def __init__(self, auth: str = "") -> None:
        self.auth = auth
        """"", "basic" or "bearer"."""
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[str, bytes] = {}
        self.tags: dict[str, dict[str, str]] = {}
        self.requests: list[Asked] = []
        self.uploads: set[str] = set()
        self.storage = ""
        """Where blobs are redirected to."""
        self.page = 1000
        self.loops = False
        """Whether the list of tags has no end."""
        self.url = ""

    @property
    def writes(self) -> list[str]:
        """The paths that were written to."""
        return [asked.path for asked in self.requests if asked.method == "PUT"]

    def add(self, data: bytes) -> dict[str, Any]:
        """Keep a blob; its digest and size."""
        self.blobs[digest_of(data)] = data
        return {"digest": digest_of(data), "size": len(data)}

    def tag(self, repository: str, tag: str, manifest: dict[str, Any]) -> str:
        """Keep a manifest under a tag."""
        data = json.dumps(manifest).encode()
        self.manifests[digest_of(data)] = data
        self.tags.setdefault(repository, {})[tag] = digest_of(data)
        return digest_of(data)

    def skill(self, name: str, version: str, layer: bytes, created: str = "2026-01-01T00:00:00Z") -> dict[str, Any]:
        """The manifest of a skill, whose blobs are kept."""
        config = json.dumps({"schemaVersion": "1", "name": name, "version": version, "description": "Does it."})
        return {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "artifactType": SKILL,
            "config": {"mediaType": CONFIG, **self.add(config.encode())},
            "layers": [{"mediaType": LAYER, **self.add(layer)}],
            "annotations": {"org.opencontainers.image.created": created},
        }


class Served(NamedTuple):
    """A registry that is being served."""

    registry: Registry
    url: str
    host: str

    def web(self, *others: str) -> Web:
        """A Web that may visit it."""
        return Web(env={}, timeout=10.0, total=30.0, pause=lambda _: None, private_hosts=(self.host, *others))


@contextlib.contextmanager
def oci_serving(registry: Registry) -> Iterator[Served]:
    """Serve a registry until the block ends."""

    class Handler(_Handler):
        served = registry

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        host = f"127.0.0.1:{listener.server_address[1]}"
        registry.url = f"http://{host}"
        try:
            yield Served(registry, registry.url, host)
        finally:
            listener.shutdown()
            thread.join()


class _Handler(http.server.BaseHTTPRequestHandler):
    served: Registry

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def _do(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.served.requests.append(Asked(self.command, self.path, self.headers.get("Authorization", "")))
        status, headers, answer = self._answer(body)
        self.send_response(status)
        for name, value in {"Content-Length": str(len(answer)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer)

    do_GET = do_HEAD = do_PUT = do_POST = _do  # noqa: N815  the names that http.server calls

    def _answer(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        registry, parts = self.served, urlsplit(self.path)
        basic = f"Basic {base64.b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}"
        if parts.path == "/token":
            known = self.headers.get("Authorization") == basic
            return (200, {}, json.dumps({"token": TOKEN}).encode()) if known else (401, {}, b"")
        found = _PATH.fullmatch(parts.path)
        if found is None:
            return 404, {}, b""
        name, what, rest = found["name"], found["what"], found["rest"]
        expected = {"": None, "basic": basic, "bearer": f"Bearer {TOKEN}"}[registry.auth]
        if expected and self.headers.get("Authorization") != expected:
            scope = f'service="test",scope="repository:{name}:pull,push"'
            bearer = f'Bearer realm="{registry.url}/token",{scope}'
            return 401, {"WWW-Authenticate": bearer if registry.auth == "bearer" else 'Basic realm="test"'}, b""
        if what == "manifests":
            return self._manifest(name, rest, body)
        if what == "tags":
            return self._tags(name, parse_qs(parts.query).get("last", [""])[0])
        return self._blob(name, rest, parse_qs(parts.query), body)

    def _manifest(self, name: str, reference: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        registry = self.served
        if self.command == "PUT":
            parts = json.loads(body)
            known = registry.manifests if "manifests" in parts else registry.blobs
            named = parts["manifests"] if "manifests" in parts else (parts["config"], *parts["layers"])
            if any(each["digest"] not in known for each in named):
                return 400, {}, b""
            registry.manifests[digest_of(body)] = body
            if not reference.startswith("sha256:"):
                registry.tags.setdefault(name, {})[reference] = digest_of(body)
            return 201, {"Location": self.path}, b""
        digest = registry.tags.get(name, {}).get(reference, reference)
        data = registry.manifests.get(digest)
        return (404, {}, b"") if data is None else (200, {"Docker-Content-Digest": digest}, data)

    def _tags(self, name: str, last: str) -> tuple[int, dict[str, str], bytes]:
        registry = self.served
        if name not in registry.tags:
            return 404, {}, b""
        tags = [tag for tag in sorted(registry.tags[name]) if tag > last or registry.loops]
        page = tags[: registry.page]
        more = registry.loops or len(tags) > len(page)
        link = {"Link": f'</v2/{name}/tags/list?n=1&last={page[-1]}>; rel="next"'} if more else {}
        return 200, link, json.dumps({"name": name, "tags": page}).encode()

    def _blob(
        self, name: str, rest: str, query: dict[str, list[str]], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        registry = self.served
        if self.command == "POST":
            session = f"/v2/{name}/blobs/uploads/{len(registry.uploads)}"
            registry.uploads.add(session)
            return 202, {"Location": f"{session}?state=1"}, b""
        if self.command == "PUT":
            wanted, session = query.get("digest", [""])[0], f"/v2/{name}/blobs/{rest}"
            if session not in registry.uploads or digest_of(body) != wanted:
                return 400, {}, b""
            registry.add(body)
            return 201, {}, b""
        if rest not in registry.blobs:
            return 404, {}, b""
        if registry.storage:
            return 307, {"Location": f"{registry.storage}/v2/{name}/blobs/{rest}"}, b""
        return 200, {}, registry.blobs[rest]
