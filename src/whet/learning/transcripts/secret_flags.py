"""Secrets on command lines and in calls, where no name says so: `mysql -pX`, `zip -P X`, `echo X | sudo -S`.

Every rule has a word that must be there, so that most texts cost one look for each, and what stands before the secret.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from whet.learning.transcripts.secret_values import LITERAL

_MORE = r"[^\n|;&]{0,200}?\s"
"""What may stand between a program and its flag."""
_QUOTED = r"\\{0,3}\"(?P<double>[^\"\\\n]{3,200})|\\{0,3}'(?P<single>[^'\\\n]{3,200})"
_VALUE = rf"(?:{_QUOTED}|(?P<bare>[^\s\"'`$<({{\\-][^\s\"'`|;&)\\]{{2,200}}))"
_FROM_STDIN = (
    r"(?:\bsudo\b[^\n|;&]{0,40}\s-S|--password-stdin|--with-token|--passphrase-fd|--stdin(?![\w-])|\bchpasswd|\bkinit\b"
    r"|\bpasswd\b|--data-file=-|\bsecrets? (?:set|put)\b|\bvault login -)"
)
"""Commands that read a secret from standard input."""
_PIPED = rf"(?=\\{{0,3}}[\"']?\s{{0,3}}\|\s{{0,3}}[^\n|;&]{{0,120}}{_FROM_STDIN})"
_OTHER_P = re.compile(
    r"\b(?:mkdir|cp|install|ssh|scp|docker|podman|compose|pytest|rsync|nmap|tar|patch|python\d?|node|perl|sudo|mysql\w*"
    r"|mariadb[\w-]*|psql|pg_\w+|ps|lsof|git|screen)(?= )"
)
"""Programs whose `-p` takes no password, also where a user is named before it."""
_COMMAND = re.compile(r"[|;&\n(`]|[\"'](?=\w+ )")
"""Where a command begins within a text."""
_USER = r"(?<![\w-])(?:-[uU]|--user(?:name)?|--login)[ =][\"']?"
_PORT = r"(?!\d{1,5}(?:[:/\s\"']|\Z)|[\d.]{7,15}:\d|(?:emerg|alert|crit|err|warning|notice|info|debug)\b)"
"""No port, no mapping of ports, and no priority of a journal."""
_PUBLIC = r"(?![\"']?\w{0,20}(?:user|host|port|name|region|email|level|database|url|mode)\w{0,10}=)"
"""Fields of a secret that are none themselves."""


class Rule(NamedTuple):
    """Where a secret stands."""

    mark: str
    """A piece of text that is always there."""
    before: str
    kind: str = "password"
    behind: str = ""
    proof: str = ""
    """How much it takes to be one, where it is not as for others of its kind."""
    unless: re.Pattern[str] | None = None
    """What must not stand in the command before it."""

    def holds(self, found: re.Match[str]) -> bool:
        """Is it this command?"""
        if self.unless is None:
            return True
        before = found.string[max(0, found.start() - 200) : found.end(1)]
        return self.unless.search(_COMMAND.split(before)[-1]) is None


RULES: tuple[Rule, ...] = (
    Rule("mysql", rf"\bmysql(?:dump|admin|import|sh|check)?\b{_MORE}-p"),
    Rule("mariadb", rf"\bmariadb(?:-dump|-admin)?\b{_MORE}-p"),
    Rule("sshpass", rf"\bsshpass\b{_MORE}-p ?"),
    Rule("sshpass", r"\bsshpass -p ?"),
    Rule("redis-cli", rf"\bredis-cli\b{_MORE}-a "),
    Rule("login", rf"\b(?:docker|podman|buildah|helm registry|az|oc|cf|argocd|nerdctl|skopeo) login\b{_MORE}-p ?"),
    Rule("twine", rf"\btwine\b{_MORE}-p ?"),
    Rule(" -", rf"{_USER}(?!\w{{1,20}}://)[^\s\"'|;&-][^\s\"'|;&]{{0,79}}(?<!\.py)(?<!\.js)(?<!\.sh)"
         rf"[^\n|;&]{{0,160}}?\s-[pP](?: |=){_PORT}", unless=_OTHER_P),
    Rule("cqlsh", rf"\bcqlsh\b{_MORE}-p "),
    Rule("beeline", rf"\bbeeline\b{_MORE}-p "),
    Rule("rabbitmqadmin", rf"\brabbitmqadmin\b{_MORE}-p "),
    Rule("mosquitto_", rf"\bmosquitto_\w{{2,6}}\b{_MORE}-P "),
    Rule("ipmitool", rf"\bipmitool\b{_MORE}-P "),
    Rule("-winrm", rf"\bevil-winrm\b{_MORE}-p "),
    Rule("-pw ", rf"\b(?:plink|pscp|psftp|putty)(?:\.exe)?\b{_MORE}-pw "),
    Rule("zip", rf"\b(?:un)?zip\b{_MORE}-P ?"),
    Rule("7z", rf"\b7z[az]?\b{_MORE}-p"),
    Rule("rar", rf"\b(?:un)?rar\b{_MORE}-h?p"),
    Rule("ldap", rf"\bldap\w{{1,12}}\b{_MORE}-w "),
    Rule("sqlcmd", rf"\bsqlcmd\b{_MORE}-P ?"),
    Rule("bcp", rf"\bbcp\b{_MORE}-P ?"),
    Rule("sqlplus", r"\bsqlplus\b(?: -\w{1,4}){0,3} [\"']?\w{1,40}/"),
    Rule("mongo", rf"\bmongo\w{{0,8}}\b{_MORE}-p "),
    Rule("smbclient", rf"\bsmbclient\b{_MORE}-U ?[\"']?[^\s%\"']{{1,80}}%"),
    Rule("htpasswd", r"\bhtpasswd -\w{0,4}n\w{0,2}b\w{0,2} \S{1,80} "),
    Rule("htpasswd", r"\bhtpasswd -\w{0,4}b\w{0,4} \S{1,200} \S{1,80} "),
    Rule("openssl", rf"\bopenssl\b{_MORE}(?:-k |-pass(?:in|out)? ?[\"']?pass:)"),
    Rule("pass", r"\s-(?:src|dest)?(?:store|key)pass(?:word)?[ =]"),
    Rule("requirepass", r"\brequirepass "),
    Rule("ssh-keygen", rf"\bssh-keygen\b{_MORE}-N "),
    Rule("security", rf"\bsecurity (?:add|set|unlock)-[\w-]{{1,40}}\b{_MORE}-[wp] "),
    Rule("curl", rf"\bcurl\b{_MORE}-u[^\s:\"'/]{{1,80}}:"),
    Rule("curl", rf"\bcurl\b{_MORE}(?:-b|--cookie)[ =]?[\"']?[\w.-]{{1,60}}=", "cookie"),
    Rule("http", r"\bhttps? (?:[^\n|;&]{0,200}?\s)?-a [\"']?[^\s:\"'/]{1,80}:"),
    Rule("=", r"(?<![\w-])-[DP][\w.]{0,40}(?:token|secret|key)=", "token", proof=LITERAL),
    Rule("--oauth2-bearer", r"--oauth2-bearer[ =]", "authorization", proof=LITERAL),
    Rule("xfreerdp", rf"\bxfreerdp\b{_MORE}/p:"),
    Rule("net use", r"\bnet use\b[^\n|;&]{0,200}?/user:\S{1,80} "),
    Rule("/pass:", r"/pass:"),
    Rule("echo", r"\b(?:echo|printf)(?: -n)? ", "password", _PIPED),
    Rule("<<<", rf"{_FROM_STDIN}[^\n|;&<]{{0,80}}<<<\s?"),
    Rule("login", r"\b(?:vault|wandb|cargo|bw) login (?:-\w+=token )?(?:[\w.+-]{1,40}@[\w.-]{1,60} )?", "token",
         proof=LITERAL),
    Rule("auth", r"\b(?:snyk auth|ngrok (?:config add-)?authtoken|doctl auth init -t) ", "token", proof=LITERAL),
    Rule("bw unlock", r"\bbw unlock ", proof=LITERAL),
    Rule(" set ", r"\bconfig(?:ure)? set [\w./:@-]{0,120}(?:secret|token|password|key)\w{0,20} ", "token",
         proof=LITERAL),
    Rule("secret", r"\bsecrets? set\b[^\n|;&]{0,120}?\s(?:-b|--body)[ =]", "secret", proof=LITERAL),
    Rule("secrets", rf"\bsecrets set\b[^\n|;&]{{0,120}}?\s{_PUBLIC}[A-Z][A-Z0-9_]{{2,60}}=", "secret", proof=LITERAL),
    Rule("create secret", rf"--from-literal[= ]{_PUBLIC}[\"']?[\w.-]{{1,80}}=", "secret", proof="password"),
    Rule("--from-literal", r"--from-literal[= ][\"']?[\w.-]{1,80}=", "secret"),
    Rule("IDENTIFIED BY", r"\bIDENTIFIED BY (?:PASSWORD )?(?=[\"'])"),
    Rule("identified by", r"\bidentified by (?:password )?(?=[\"'])"),
    Rule("PASSWORD", r"\bPASSWORD(?: FOR \S{1,60})?(?: =)? (?=')"),
    Rule("SecureString", r"ConvertTo-SecureString (?:-String )?"),
    Rule("Auth(", r"\bHTTP(?:Basic|Digest)Auth\(\s?[\"'][^\"'\n]{1,80}[\"'],\s?"),
    Rule("auth=(", r"\bauth=\(\s?[\"'][^\"'\n]{1,80}[\"'],\s?"),
    Rule(".login(", r"\.login\(\s?[\"'][^\"'\n]{1,80}[\"'],\s?", proof=LITERAL),
    Rule("hooks.slack", r"\bhooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/(?:[\w-]{1,40}/){0,4}",
         "webhook", proof=LITERAL),
    Rule("/api/webhooks/", r"\bdiscord(?:app)?\.com/api/webhooks/\d{1,24}/", "webhook", proof=LITERAL),
    Rule(".office", r"\.office(?:365)?\.com/webhook\w{0,3}/[^\s\"'/]{1,100}/IncomingWebhook/", "webhook",
         proof=LITERAL),
    Rule("hooks.zapier", r"\bhooks\.zapier\.com/hooks/catch/\d{1,12}/", "webhook", proof=LITERAL),
    Rule("api.telegram", r"\bapi\.telegram\.org/bot\d{1,14}:", "token", proof=LITERAL),
)  # fmt: skip


@lru_cache(maxsize=128)
def pattern(rule: Rule) -> re.Pattern[str]:
    """The rule as a pattern: what stands before is its first group, and its last group is the secret."""
    return re.compile(f"({rule.before}){_VALUE}{rule.behind}")
