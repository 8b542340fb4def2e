"""What is known of the hosts that skills talk to: whose installers people pipe into a shell, and where loot goes.

The lists are small on purpose. Being on none of them says nothing about a host.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from typing import Literal, NamedTuple

Kind = Literal[
    "loopback", "private", "address", "paste", "drop", "tunnel", "shortener", "free", "reserved", "known", "other"
]

URL = re.compile(r"(?:https?|ftp|wss?)://[^\s\"'`<>()\[\]{}|\\^]{1,2000}", re.IGNORECASE)
_AUTHORITY = re.compile(r"^[a-z][a-z0-9+.-]*://(?:[^/@\s]*@)?(\[[0-9a-f:.]+\]|[^/:?#\s]+)", re.IGNORECASE)

INSTALLERS = (
    "fluxcd.io/",
    "elastic.co/",
    "rclone.org/",
    "get.sdkman.io",
    "kind.sigs.k8s.io/",
    "istio.io/",
    "linkerd.io/",
    "run.linkerd.io/",
    "get.okteto.com",
    "cli.doppler.com/",
    "doppler.com/",
    "downloads.hashicorp.com/",
    "apt.releases.hashicorp.com/",
    "releases.hashicorp.com/",
    "teleport.sh/",
    "goteleport.com/",
    "get.k0s.sh",
    "get.rke2.io",
    "install.meteor.com/",
    "get.nexte.st/",
    "embedded.cockroachlabs.com/",
    "clickhouse.com/",
    "install.duckdb.org",
    "duckdb.org/",
    "questdb.io/",
    "get.surrealdb.com/",
    "surrealdb.com/",
    "planetscale.com/",
    "neon.tech/",
    "neon.com/",
    "turso.tech/",
    "fnm.vercel.app/",
    "n8n.io/",
    "get.activestate.com/",
    "cloud.google.com/",
    "get.gitpod.io/",
    "cli.codecov.io/",
    "uploader.codecov.io/",
    "codecov.io/",
    "snyk.io/",
    "static.snyk.io/",
    "get.anchore.io/",
    "get.opentofu.org/",
    "tflint.sh/",
    "cursor.sh/",
    "ampcode.com/",
    "factory.ai/",
    "app.factory.ai/",
    "antigravity.google/",
    "pixi.sh/",
    "prefix.dev/",
    "micro.mamba.pm/",
    "repo.anaconda.com/",
    "get.jenv.be",
    "git.io/",
    "zed.dev/",
    "get.starship.rs/",
    "install.speedtest.net/",
    "packagecloud.io/",
    "repo.mongodb.org/",
    "pgp.mongodb.com/",
    "dl.yarnpkg.com/",
    "yarnpkg.com/",
    "bazel.build/",
    "get.nextflow.io",
    "nextflow.io/",
    "install.sandstorm.io",
    "gum.sh/",
    "charm.sh/",
    "porter.sh/",
    "cdn.porter.sh/",
    "get.svc.ws/",
    "get.glide.sh/",
    "cht.sh/",
    "wttr.in/",
    "dotnet.microsoft.com/",
    "builds.dotnet.microsoft.com/",
    "download.visualstudio.microsoft.com/",
    "huggingface.co/",
    "hf.co/",
    "get.gravitational.com/",
    "smithery.ai/",
    "composio.dev/",
    "e2b.dev/",
    "replicate.com/",
    "lightning.ai/",
    "together.ai/",
    "groq.com/",
    "browserbase.com/",
    "stripe.com/",
    "twilio.com/",
    "heroku.com/",
    "cli-assets.heroku.com/",
    "netlify.com/",
    "cloudflare.com/",
    "deno.com/",
    "astral.sh/",
    "sh.rustup.rs",
    "rustup.rs",
    "static.rust-lang.org/",
    "raw.githubusercontent.com/homebrew/",
    "get.docker.com",
    "deno.land/",
    "bun.sh/",
    "bun.com/",
    "deb.nodesource.com/",
    "rpm.nodesource.com/",
    "raw.githubusercontent.com/nvm-sh/",
    "ollama.com/",
    "ollama.ai/",
    "foundry.paradigm.xyz",
    "tailscale.com/",
    "get.k3s.io",
    "raw.githubusercontent.com/helm/",
    "get.helm.sh/",
    "fly.io/",
    "starship.rs/",
    "install.python-poetry.org",
    "pyenv.run",
    "get.pnpm.io/",
    "get.volta.sh",
    "claude.ai/",
    "opencode.ai/",
    "cli.github.com/",
    "sdk.cloud.google.com",
    "packages.cloud.google.com/",
    "download.docker.com/",
    "get.sdkman.io",
    "mise.run",
    "mise.jdx.dev/",
    "get.pulumi.com",
    "nixos.org/",
    "install.determinate.systems/",
    "bootstrap.pypa.io/",
    "dl.google.com/",
    "packages.microsoft.com/",
    "aka.ms/",
    "dot.net/",
    "get.haskellup.org",
    "get-ghcup.haskell.org",
    "install.julialang.org",
    "sh.brew.sh",
    "cursor.com/",
    "vercel.com/",
    "supabase.com/",
    "railway.app/",
    "railway.com/",
    "cli.sentry.dev/",
    "sentry.io/",
    "release.solana.com/",
    "release.anza.xyz/",
    "docs.anza.xyz/",
    "tea.xyz/",
    "asdf-vm.com/",
    "get.rvm.io",
    "rvm.io/",
    "get.sdkman.io/",
    "dl.k8s.io/",
    "get.acme.sh",
    "community.chocolatey.org/",
    "chocolatey.org/",
    "get.scoop.sh",
    "raw.githubusercontent.com/scoopinstaller/",
    "just.systems/",
    "raw.githubusercontent.com/ohmyzsh/",
    "get.tur.so/",
    "convex.dev/",
    "apt.llvm.org/",
    "temporal.download/",
    "get.modal.com/",
    "wasmtime.dev/",
    "raw.githubusercontent.com/golangci/",
    "golangci-lint.run/",
    "raw.githubusercontent.com/anchore/",
    "raw.githubusercontent.com/aquasecurity/",
    "raw.githubusercontent.com/rancher/",
    "raw.githubusercontent.com/k3d-io/",
    "raw.githubusercontent.com/trufflesecurity/",
    "semgrep.dev/",
    "raw.githubusercontent.com/microsoft/",
    "dagger.io/",
    "dl.dagger.io/",
    "getcomposer.org/",
    "get.jetify.com/",
    "app.warp.dev/",
    "moonrepo.dev/",
)
"""Where well-known tools tell people to pipe an installer from."""

_KNOWN = (
    "github.com",
    "githubusercontent.com",
    "gitlab.com",
    "bitbucket.org",
    "pypi.org",
    "pythonhosted.org",
    "npmjs.com",
    "npmjs.org",
    "crates.io",
    "anthropic.com",
    "claude.ai",
    "claude.com",
    "openai.com",
    "googleapis.com",
    "google.com",
    "microsoft.com",
    "azure.com",
    "windows.net",
    "amazonaws.com",
    "aws.amazon.com",
    "cloudflare.com",
    "docker.com",
    "docker.io",
    "debian.org",
    "ubuntu.com",
    "apple.com",
    "python.org",
    "nodejs.org",
    "huggingface.co",
    "atlassian.net",
    "slack.com",
    "notion.com",
    "stripe.com",
    "shopify.com",
    "linear.app",
    "figma.com",
    "agentskills.io",
)
_PASTE = (
    "pastebin.com",
    "glot.io",
    "rentry.co",
    "rentry.org",
    "hastebin.com",
    "paste.ee",
    "dpaste.org",
    "dpaste.com",
    "ghostbin.com",
    "controlc.com",
    "privatebin.net",
    "ix.io",
    "sprunge.us",
    "termbin.com",
    "0bin.net",
    "justpaste.it",
    "write.as",
    "telegra.ph",
    "paste.rs",
    "pastes.io",
    "bpa.st",
)
_DROP = (
    "webhook.site",
    "requestbin.com",
    "requestbin.net",
    "pipedream.net",
    "beeceptor.com",
    "requestcatcher.com",
    "hookbin.com",
    "mockbin.org",
    "interact.sh",
    "oast.fun",
    "oast.live",
    "oast.me",
    "oast.online",
    "oast.pro",
    "oast.site",
    "burpcollaborator.net",
    "oastify.com",
    "canarytokens.com",
    "dnslog.cn",
    "ceye.io",
    "transfer.sh",
    "file.io",
    "0x0.st",
    "anonfiles.com",
    "gofile.io",
    "catbox.moe",
    "temp.sh",
    "bashupload.com",
    "tmpfiles.org",
    "webhook.cool",
    "webhook.online",
    "hooks.zapier.com",
    "discord.com/api/webhooks",
    "discordapp.com/api/webhooks",
    "api.telegram.org/bot",
    "postb.in",
)
_TUNNEL = (
    "ngrok.io",
    "ngrok.app",
    "ngrok-free.app",
    "ngrok-free.dev",
    "trycloudflare.com",
    "loca.lt",
    "localtunnel.me",
    "serveo.net",
    "localhost.run",
    "lhr.life",
    "pagekite.me",
    "tunnelmole.net",
    "bore.pub",
    "duckdns.org",
    "no-ip.org",
    "ddns.net",
    "hopto.org",
    "zapto.org",
    "sytes.net",
)
_SHORTENERS = (
    "bit.ly",
    "tinyurl.com",
    "t.co",
    "goo.gl",
    "is.gd",
    "v.gd",
    "ow.ly",
    "cutt.ly",
    "rb.gy",
    "shorturl.at",
    "t.ly",
    "tiny.cc",
    "s.id",
    "rebrand.ly",
    "buff.ly",
)
_FREE = (
    "vercel.app",
    "netlify.app",
    "pages.dev",
    "workers.dev",
    "github.io",
    "gitlab.io",
    "web.app",
    "firebaseapp.com",
    "herokuapp.com",
    "onrender.com",
    "glitch.me",
    "repl.co",
    "replit.app",
    "replit.dev",
    "surge.sh",
    "fly.dev",
    "railway.app",
    "up.railway.app",
    "deno.dev",
    "weebly.com",
    "wixsite.com",
    "blogspot.com",
    "000webhostapp.com",
    "infinityfreeapp.com",
    "mediafire.com",
    "mega.nz",
    "dropbox.com",
    "drive.google.com",
    "cdn.discordapp.com",
    "wetransfer.com",
)
_RESERVED = ("example.com", "example.org", "example.net", "example", "invalid", "test", "localhost")
_TELLING = re.compile(
    r"(?:^|[.-])(?:evil|attackers?|malicious|malware|exfil\w{0,12}|c2|hackers?|phish\w{0,6}|backdoor|steal\w{0,4}|botnet|badguys?|pwned|dropper)(?:[.-]|\d|$)"
)
"""Names that say what they are for; examples of attacks are full of them."""
_TOP = re.compile(
    r"\.(?:zip|mov|tk|ml|ga|cf|gq|top|xyz|icu|buzz|rest|click|monster|quest|cyou|sbs|cfd|su|lol|bond|beauty)$"
)


class Host(NamedTuple):
    """A host as it stands in a URL, and what is known of it."""

    name: str
    kind: Kind

    @property
    def shady(self) -> bool:
        """Nobody serves an installer or an API of good name from here."""
        return self.kind in ("address", "paste", "drop", "tunnel", "shortener")


@lru_cache(maxsize=4096)
def host_of(url: str) -> Host:
    """The host of a URL (or a bare `host/path`)."""
    found = _AUTHORITY.match(url)
    name = (found[1] if found else url.partition("/")[0].partition(":")[0]).lower().rstrip(".")
    return Host(name, _kind(name, url.lower()))


def is_installer(url: str) -> bool:
    """Is this where a well-known tool keeps its installer, over TLS?"""
    lowered = url.lower()
    bare = lowered.removeprefix("https://").removeprefix("www.").partition("?")[0]
    return not lowered.startswith("http://") and f"{bare}/".startswith(_INSTALLER_PATHS)


def serves_installers(name: str) -> bool:
    """Does a well-known tool keep its installer on this host?"""
    return any(entry.partition("/")[0] == name for entry in INSTALLERS)


def odd_top(name: str) -> bool:
    """Is the host's last label one that campaigns like and companies seldom have?"""
    return _TOP.search(name) is not None


def _kind(name: str, url: str) -> Kind:
    if (address := _address(name)) is not None:
        if address.is_loopback or address.is_unspecified:
            return "loopback"
        return "private" if _is_private(address) else "address"
    if name == "localhost" or name.endswith(".localhost"):
        return "loopback"
    if name.endswith((".local", ".internal", ".lan")) or "." not in name:
        return "private"
    if _TELLING.search(name):
        return "drop"
    bare = url.partition("://")[2] or url
    if bare.startswith(_DROP_PATHS):
        return "drop"
    labels = name.split(".")
    for start in range(len(labels)):
        if (kind := _BY_NAME.get(".".join(labels[start:]))) is not None:
            return kind
    return "other"


_INSTALLER_PATHS = tuple(f"{entry.rstrip('/')}/" for entry in INSTALLERS)
_DROP_PATHS = tuple(entry for entry in _DROP if "/" in entry)
_BY_NAME: dict[str, Kind] = {
    **dict.fromkeys(_KNOWN, "known"),
    **dict.fromkeys(_RESERVED, "reserved"),
    **dict.fromkeys(_FREE, "free"),
    **dict.fromkeys(_SHORTENERS, "shortener"),
    **dict.fromkeys(_TUNNEL, "tunnel"),
    **dict.fromkeys(_PASTE, "paste"),
    **dict.fromkeys(_DROP, "drop"),
}
_DOCUMENTATION = tuple(
    map(ipaddress.ip_network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32"))
)
"""Addresses that belong to nobody count as public ones: examples of attacks are written with them."""


def _is_private(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return address.is_private and not any(
        address in network for network in _DOCUMENTATION if network.version == address.version
    )


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address, also one written as a single number, in hex or in octal as browsers and curl take it."""
    bare = name.strip("[]")
    if not bare or not (bare[0].isdigit() or ":" in bare):
        return None
    try:
        return ipaddress.ip_address(bare)
    except ValueError:
        pass
    parts = bare.split(".")
    try:
        numbers = [
            int(part, 16 if part.startswith("0x") else 8 if part.startswith("0") and part != "0" else 10)
            for part in parts
        ]
    except ValueError:
        return None
    if len(numbers) > 4 or any(number < 0 for number in numbers) or (len(numbers) == 1 and numbers[0] < 1 << 24):
        return None
    total = 0
    for number in numbers[:-1]:
        if number > 255:
            return None
        total = total << 8 | number
    total = total << 8 * (5 - len(numbers)) | numbers[-1]
    return ipaddress.IPv4Address(total) if total < 1 << 32 else None
