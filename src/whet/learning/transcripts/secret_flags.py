"""Secrets on command lines and in calls, where no name says so: `mysql -pX`, `zip -P X`, `echo X | sudo -S`.

Every rule has a word that must be there, so that most texts cost one look for each, and what stands before the secret.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_MORE = r"[^\n|;&]{0,200}?\s"
"""What may stand between a program and its flag."""
_QUOTED = r"\\{0,3}\"(?P<double>[^\"\\\n]{3,200})|\\{0,3}'(?P<single>[^'\\\n]{3,200})"
_VALUE = rf"(?:{_QUOTED}|(?P<bare>[^\s\"'`$<{{\\-][^\s\"'`|;&)\\]{{2,200}}))"
_PIPED = (
    r"(?=\\{0,3}[\"']?\s{0,3}\|\s{0,3}[^\n|;&]{0,120}"
    r"(?:\bsudo\b[^\n|;&]{0,40}\s-S|--password-stdin|--with-token|--passphrase-fd|--stdin(?![\w-])|\bchpasswd))"
)


class Rule(NamedTuple):
    """Where a secret stands."""

    mark: str
    """A piece of text that is always there."""
    before: str
    kind: str = "password"
    """After `password` any value is one; anything else has to look random."""
    behind: str = ""


RULES: tuple[Rule, ...] = (
    Rule("mysql", rf"\bmysql(?:dump|admin|import)?\b{_MORE}-p"),
    Rule("mariadb", rf"\bmariadb(?:-dump|-admin)?\b{_MORE}-p"),
    Rule("sshpass", rf"\bsshpass\b{_MORE}-p ?"),
    Rule("sshpass", r"\bsshpass -p ?"),
    Rule("redis-cli", rf"\bredis-cli\b{_MORE}-a "),
    Rule(" login", rf"\b(?:docker|podman|buildah|helm registry|az|oc) login\b{_MORE}-p ?"),
    Rule("zip", rf"\b(?:un)?zip\b{_MORE}-P ?"),
    Rule("7z", rf"\b7z[az]?\b{_MORE}-p"),
    Rule("ldap", rf"\bldap\w{{1,12}}\b{_MORE}-w "),
    Rule("sqlcmd", rf"\bsqlcmd\b{_MORE}-P ?"),
    Rule("mongo", rf"\bmongo\w{{0,8}}\b{_MORE}-p "),
    Rule("smbclient", rf"\bsmbclient\b{_MORE}-U ?[\"']?[^\s%\"']{{1,80}}%"),
    Rule("htpasswd", r"\bhtpasswd -\w{0,4}b\w{0,4} \S{1,200} \S{1,80} "),
    Rule("openssl", rf"\bopenssl\b{_MORE}(?:-k |-pass(?:in|out)? ?[\"']?pass:)"),
    Rule("curl", rf"\bcurl\b{_MORE}-u[^\s:\"'/]{{1,80}}:"),
    Rule("curl", rf"\bcurl\b{_MORE}(?:-b|--cookie)[ =]?[\"']?[\w.-]{{1,60}}=", "cookie"),
    Rule("net use", r"\bnet use\b[^\n|;&]{0,200}?/user:\S{1,80} "),
    Rule("/pass:", r"/pass:"),
    Rule("echo", r"\b(?:echo|printf)(?: -n)? ", "password", _PIPED),
    Rule(" set ", r"\bconfig(?:ure)? set [\w./:@-]{0,120}(?:secret|token|password|key)\w{0,20} ", "token"),
    Rule("--from-literal", r"--from-literal[= ][\"']?[\w.-]{1,80}=", "secret"),
    Rule("SecureString", r"ConvertTo-SecureString (?:-String )?"),
    Rule("Auth(", r"\bHTTP(?:Basic|Digest)Auth\(\s?[\"'][^\"'\n]{1,80}[\"'],\s?"),
    Rule("auth=(", r"\bauth=\(\s?[\"'][^\"'\n]{1,80}[\"'],\s?"),
)


@lru_cache(maxsize=64)
def pattern(rule: Rule) -> re.Pattern[str]:
    """The rule as a pattern: what stands before is its first group, and its last group is the secret."""
    return re.compile(f"({rule.before}){_VALUE}{rule.behind}")
