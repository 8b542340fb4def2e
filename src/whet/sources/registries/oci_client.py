"""A repository of an OCI registry, by the OCI Distribution API, and the login for it.

A registry answers 401 with a challenge: it wants a name and a password, or a token that another server gives for them.
Credentials belong to exactly one host: `WHET_OCI` names the registry of `WHET_OCI_USER` and `WHET_OCI_PASSWORD`,
`auths` in Docker's config.json names each of its own. They are sent only to that registry and to its token server,
which must use https; the token is sent only to the registry, not to the storage that it redirects to.
"""

from __future__ import annotations

import base64
import json
import os
import re
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from urllib.parse import urlencode

from whet.errors import NotFoundError, RefusedError
from whet.sources.registries.registry import Answer, bad_response, get_origin, parse_json, resolve_address
from whet.sources.web.addresses import read_address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from whet.library.roots import Place
    from whet.sources.web.client import Web
    from whet.sources.web.request import Response

T = TypeVar("T")
HOME, USER, PASSWORD = "WHET_OCI", "WHET_OCI_USER", "WHET_OCI_PASSWORD"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
SKILL = "application/vnd.agentskills.skill.v1"
COLLECTION = "application/vnd.agentskills.collection.v1"
SKILL_CONFIG = "application/vnd.agentskills.skill.config.v1+json"
SKILL_LAYER = "application/vnd.agentskills.skill.content.v1.tar+gzip"
MANIFEST_BYTES = 4 * 1024 * 1024
"""Largest manifest in bytes, as the OCI specification requires of a registry."""
TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
MOST_TAGS = 10_000
_MOST_PAGES = 50
_MOST_CONFIG = 1024 * 1024
_TOKEN_BYTES = 256 * 1024
_PARAMETER = re.compile(r'([a-z_]+)="([^"\\]{0,2000})"')
_NEXT = re.compile(r'<([^<>]{1,2000})>\s*;\s*rel="?next"?')


class Login(NamedTuple):
    """A name and a password for one registry."""

    user: str
    password: str

    @property
    def header(self) -> str:
        """Value of the Authorization header."""
        return f"Basic {base64.b64encode(f'{self.user}:{self.password}'.encode()).decode()}"


class Repository:
    """A repository of a registry. Thread-safe."""

    def __init__(self, location: str, web: Web, place: Place) -> None:
        self.location = location
        self._web = web
        self._place = place
        address = read_address(location)
        self.name = address.target.strip("/")
        self.host = address.netloc
        self._base = f"{location.removesuffix(self.name)}v2/{self.name}"
        self._authorization = ""

    def manifest_url(self, reference: str) -> str:
        """Return the address of the manifest of a tag or a digest."""
        return f"{self._base}/manifests/{reference}"

    def blob_url(self, sha256: str) -> str:
        """Return the address of the blob with this hash."""
        return f"{self._base}/blobs/sha256:{sha256}"

    def authorized(self, call: Callable[[Mapping[str, str]], T]) -> T:
        """Call `call` with headers; repeat it with credentials if the registry asks for them."""
        try:
            return call(self._headers)
        except RefusedError as error:
            challenge = str(error.details.get("challenge", ""))
            if error.details.get("status") != 401 or not challenge:
                raise
        self._authorization = self._answer(challenge)
        try:
            return call(self._headers)
        except RefusedError as error:
            if error.code != "source-denied":
                raise
            hint = f"Set {HOME} to {self.host} and {USER} and {PASSWORD} to your credentials, or use `docker login`."
            raise RefusedError("source-denied", error.message, hint=hint, status=error.details.get("status")) from None

    def list_tags(self) -> list[str]:
        """Return the tags of the repository, up to a limit."""
        tags: dict[str, None] = {}
        url, seen = f"{self._base}/tags/list?n=1000", set[str]()
        while url and url not in seen and len(seen) < _MOST_PAGES and len(tags) < MOST_TAGS:
            seen.add(url)
            response = self._get(url, MANIFEST_BYTES)
            answer = Answer(parse_json(response.body, response.url), "the list of tags", response.url)
            listed = answer.items("tags") if "tags" in answer else []
            tags.update((tag, None) for tag in listed if isinstance(tag, str) and TAG.fullmatch(tag))
            url = self._next_page(response)
        return [*tags][:MOST_TAGS]

    def has_blob(self, sha256: str) -> bool:
        """Return whether the repository has a blob."""
        try:
            self.authorized(lambda headers: self._web.head(self.blob_url(sha256), headers=headers))
        except NotFoundError:
            return False
        return True

    def push_blob(self, data: bytes, sha256: str) -> None:
        """Upload a blob."""
        begun = self._send(f"{self._base}/blobs/uploads/", b"", "application/octet-stream", "POST")
        if begun.status == 201:
            return
        target = resolve_address(begun.url, begun.headers.get("location", ""))
        if not begun.headers.get("location") or get_origin(target) != get_origin(self.location):
            raise bad_response(f"{self.host} does not say where to upload to, or names another server.")
        mark = "&" if "?" in target else "?"
        self._send(f"{target}{mark}digest=sha256%3A{sha256}", data, "application/octet-stream", "PUT")

    def push_manifest(self, data: bytes, reference: str, media_type: str = MANIFEST) -> None:
        """Upload a manifest or an index under a tag or its digest."""
        self._send(self.manifest_url(reference), data, media_type, "PUT")

    def _get(self, url: str, limit: int) -> Response:
        return self.authorized(lambda headers: self._web.get(url, limit=limit, headers=headers))

    def _send(self, url: str, body: bytes, content_type: str, method: str) -> Response:
        return self.authorized(
            lambda headers: self._web.send(url, body=body, content_type=content_type, method=method, headers=headers)
        )

    def _next_page(self, response: Response) -> str:
        found = _NEXT.search(response.headers.get("link", ""))
        target = resolve_address(response.url, found[1]) if found else ""
        return target if get_origin(target) == get_origin(self.location) else ""

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": self._authorization} if self._authorization else {}

    def _answer(self, challenge: str) -> str:
        """Return the header that a challenge asks for; "" if there are no credentials."""
        login = find_login(self.host, self._place)
        scheme, _, rest = challenge.strip().partition(" ")
        if scheme.lower() == "basic":
            return login.header if login else ""
        if scheme.lower() != "bearer":
            raise bad_response(f"{self.host} asks for credentials of a kind that Whet does not know.")
        asked = dict(_PARAMETER.findall(rest))
        realm = resolve_address(self.location, asked.get("realm", ""))
        if not realm.startswith("https:") and get_origin(realm) != get_origin(self.location):
            raise bad_response(f"{self.host} names a server for tokens that does not use https.")
        query = {"scope": asked.get("scope") or f"repository:{self.name}:pull"}
        query |= {"service": asked["service"]} if "service" in asked else {}
        url = f"{realm}{'&' if '?' in realm else '?'}{urlencode(query)}"
        headers = {"Authorization": login.header} if login else {}
        response = self._web.get(url, limit=_TOKEN_BYTES, headers=headers)
        answer = Answer(parse_json(response.body, response.url), "the answer with a token", response.url)
        token = answer.text("token" if "token" in answer else "access_token")
        if not (token.isascii() and token.isprintable()) or " " in token:
            raise bad_response("The answer has no valid token.")
        return f"Bearer {token}"


def find_login(host: str, place: Place) -> Login | None:
    """Return the credentials for exactly this host, from the environment or Docker's configuration."""
    env = place.env
    if env.get(HOME, "") == host and env.get(USER) and env.get(PASSWORD):
        return Login(env[USER], env[PASSWORD])
    return next((login for known, login in _read_docker(place) if known == host), None)


def _read_docker(place: Place) -> Iterator[tuple[str, Login]]:
    """Yield the logins in Docker's file; credential helpers are not used."""
    directory = place.env.get("DOCKER_CONFIG") or os.path.join(place.home, ".docker")
    try:
        with open(os.path.join(directory, "config.json"), "rb") as file:
            auths = json.loads(file.read(_MOST_CONFIG))["auths"]
        for name, value in auths.items():
            user, colon, password = base64.b64decode(value.get("auth", ""), validate=True).decode().partition(":")
            if user and colon:
                yield name.removeprefix("https://").partition("/")[0], Login(user, password)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return  # another program's file is damaged: continue without credentials
