"""Prerequisites that are the attack: "install this first", from a place nobody would install from.

Most malicious skills in public registries hold no code at all. They say that a program must be there before the skill
works, and where to get it: a release of a stranger, a page to copy a command from, an archive with a password. No
single sign is enough, since honest skills have prerequisites too; the signs of one section are added up.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.finding import Hit
from whet.guard.hosts import URL, host_of, is_installer, odd_top
from whet.guard.patterns import shorten
from whet.guard.prose_context import MENTIONING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.guard.finding import Severity
    from whet.guard.markdown import Block
    from whet.guard.patterns import Rows

_MANDATORY = re.compile(
    r"\b(?:(?:must|has\s+to|needs?\s+to|have\s+to|should|is\s+required\s+to)\s+(?:first\s+)?(?:be\s+)?(?:installed|running|downloaded|present|install|download|run|set\s+up)|required\s+(?:before|for|to|by|in\s+order|component|dependency|utility|tool)|"
    r"mandatory|(?:will|does|can)\s*(?:not|n['’]t)\s+(?:work|function|run|operate|start|load)\s+(?:without|until|unless|if)|(?:won['’]t|cannot|can['’]t)\s+(?:work|function|run|operate|proceed|be\s+used)\s*(?:without|until|unless)?|"
    r"before\s+(?:you\s+)?(?:using|us(?:e|ing)\s+this|running|start\w*|proceed\w*|any\s+of)|without\s+(?:it|this|the\s+\S+|\S+\s+(?:installed|running))\b|do\s+not\s+(?:proceed|continue|skip)|requires?\s+the\s+\S+|depends\s+on\s+the|"
    r"critical\s*:|important\s*:|doit\s+[êe]tre|sinon\b|必须先?安装|否则|必須|インストールが|не\s+запустится|до\s+первого|no\s+funciona\s+sin|arbeitet\s+nur|ohne\s+das|n[ãa]o\s+(?:abre|funciona)\s+sem|obrigat[óo]rio|there\s+is\s+no\s+(?:fallback|way|other\s+way)|refuses\s+to|nothing\s+further|(?:stays?|remains?|leaves)\s+(?:empty|locked|blind|the\s+agent)|stops\s+with|cannot\s+be\s+reached|update\s+is\s+required|too\s+old|prerequisites?|obligatorio|muss\s+(?:zuerst\s+)?installiert|erforderlich|obligatoire|necess[áa]rio|requerido)",
    re.IGNORECASE,
)
_STRICT = re.compile(
    r"\b(?:must\s+(?:first\s+)?(?:be\s+)?(?:installed|running|downloaded|install|download)|(?:will|does|can)\s*(?:not|n['’]t)\s+(?:work|function|run|operate)\s+(?:correctly\s+|properly\s+)?(?:without|until|unless)|(?:won['’]t|cannot|can['’]t)\s+(?:work|function|run|operate|proceed)|"
    r"before\s+(?:using|you\s+(?:can\s+)?use|running|proceed\w*)|without\s+(?:it|this|the\s+\S+)\s*(?:installed|running|utility|tool|,|\.)|do\s+not\s+(?:proceed|continue|skip)|mandatory|required\s+(?:before|component|utility))",
    re.IGNORECASE,
)
_BRAND = re.compile(
    r"\b(?:open-?claw|clawd(?:bot)?|molt(?:bot|book)|clawhub|claude|codex|gemini|hermes|agent|skills?|mcp|ai|assistant)[ _-]?(?:provider|core|cli|agent|utility|tools?|helper|driver|runtime|bridge|connector|auth\w*|companion|client|desktop|engine|service|daemon|launcher|setup|kit|"
    r"updater|package|plugin|module|loader|manager|wrapper|host|node|gateway|executor|runner)\b|\bauth-?tool\b",
    re.IGNORECASE,
)
_FETCH = re.compile(
    r"\b(?:download|install|get|grab|extract|unzip|unpack|visit|open|go\s+to|navigate|obtain|available|fetch|head\s+to|descarg\w*|instal\w*|herunterlad\w*|t[ée]l[ée]charg\w*|baix\w*|scarica\w*|visita\w*)\b|下载|安装|ダウンロード|インストール|скача\w*|установ\w*",
    re.IGNORECASE,
)
_PROGRAM = re.compile(
    r"load\s+unpacked|rename[^\n]{0,60}\.(?:exe|scr|bat|cmd|msi)\b|(?:type|enter|input)\s+(?:the|your)\s+(?:mac|login|computer|admin\w*|system|laptop)(?:['’]s)?\s+password|開机密码|script\s+editor|run\s+as\s+administrator|双击运行|запустите|lancez|ejecuta\s+el|実行してください|\.lnk\b|\.scpt\b|\b(?:run|execute|launch|open|double-?click|start)\w*\s+(?:the\s+|it|this\s+)?(?:\w+\s+){0,3}(?:installer|executable|setup|binary|program|\.?exe|application|app|file|utility)\b|\.(?:exe|msi|dmg|pkg|scr|bat|command|apk)\b",
    re.IGNORECASE,
)
_BARE_HOST = re.compile(
    r"(?<![\w./@-])(?:cdn\.discordapp\.com|drive\.google\.com|mega\.nz|mediafire\.com|dropbox\.com|gofile\.io|[\w-]{1,40}\.(?:vercel|netlify|pages)\.(?:app|dev))\b[^\s`)\"']{0,200}"
)
_BRANDED = re.compile(r"claw|claude|codex|gemini|agent|skill|mcp|molt|openai|anthropic|hermes")
_ASSET = re.compile(
    r"\.(?:scpt|lnk|crx|jar|vbs|hta|zip|exe|msi|dmg|pkg|rar|7z|scr|bat|ps1|command|apk|iso|tar\.gz|tgz)(?:[?#/]|$)|/releases?/(?:download|latest|tag)",
    re.IGNORECASE,
)
_EXECUTABLE = re.compile(
    r"[\w-]\.(?:exe|msi|dmg|pkg|scr|lnk|scpt|command|apk|crx)\b|load\s+unpacked|rename[^\n]{0,60}\.(?:exe|scr|bat|cmd|msi)\b|(?:type|enter|input)\s+(?:the|your)\s+(?:mac|login|computer|admin\w*|system)(?:['’]s)?\s+password",
    re.IGNORECASE,
)
_WINDOWS = re.compile(r"\bwindows\b", re.IGNORECASE)
_MAC = re.compile(r"\bmac\s?os\b|\bmac\b|\blinux\b", re.IGNORECASE)
_PASSWORD = re.compile(
    r"(?:\b(?:extract|unzip|unpack|decompress|archive|zip|rar|7z|7-zip|unlock|open\s+(?:it|the)|protected|installer|file)\w*\b[^\n]{0,140}?\b(?:password|passcode|passphrase|pass(?=\s*[:=])|pwd|pw(?=\s*[:=])|using(?=\s*:)|contrase[ñn]a|passwort|kennwort|mot\s+de\s+passe|senha)\b|(?:解压|压缩包)[^\n]{0,30}密码|パスワード)"
    r"\s*(?:is|are|with|ist|es|est|[ée]|为|是|は)?\s*[:=：—–-]?\s*[`\"'“*(【「]{0,4}(?P<word>[^\s`\"'”*)<>{}$】」]{2,40})",
    re.IGNORECASE,
)
_PASSWORD_FIRST = re.compile(
    r"\b(?:password|passcode|pass(?:phrase)?|pwd|pw)\b\s*(?:is|[:=])?\s*[`\"'“*(]{1,4}(?P<word>[^\s`\"'”*)<>{}$]{2,40})[`\"'”*)]{1,4}[^\n]{0,100}\b(?:extract|unzip|unpack|archive|zip|rar|7z|unlock)",
    re.IGNORECASE,
)
_UNLOCK = re.compile(
    r"\b(?:unlock\w*|archive\s+key|locked|protected|asks\s+for\s+a\s+code|пароль\s+к\s+архиву|d[ée]compress\w+|entpack\w+)\b[^\n]{0,80}?[`*\"“「](?P<word>[\w@#!.-]{3,30})[`*\"”」]|use\s+[`*\"“](?P<other>[\w@#!.-]{3,30})[`*\"”]\s+to\s+unlock",
    re.IGNORECASE,
)
_ARCHIVE = re.compile(r"\.(?:zip|rar|7z|iso)\b|\b(?:archive|zip|rar|kit)\b|压缩|解压", re.IGNORECASE)
_OWN_PASSWORD = re.compile(
    r"\b(?:your|their|user['’]?s?|own|from\s+the\s+user|ask|prompt\w*|provided|chosen|parameter|argument|option|flag|optional|none|null|string|protected|protection|manager|hash\w*|field|if|when|for|to|and|or|required|the|a|using|in|of|reset|policy|"
    r"strength|length|str|bool|via|based|authentication|encrypted|encryption|pdf|with|is|not|from|your_\w+|xxx+|example|env\w*|secret|must|can|will|should|needed|set|file|removal|cracking|incorrect|wrong|hint)\b",
    re.IGNORECASE,
)
_ONE_PASS = re.compile(r"file\b.*\b(?:pass|using)\s*:", re.IGNORECASE | re.DOTALL)
_COPY = re.compile(
    r"\b(?:cop(?:y|ies|ied)|grab|take|get|paste|retrieve)\b[^\n]{0,100}\b(?:command|script|code|snippet|line|one-?liner|installer|text|it)\b|\bcop(?:ia|ie|iez)\b|kopier\w*|复制|コピー|скопир\w*",
    re.IGNORECASE,
)
_INTO_TERMINAL = re.compile(
    r"\b(?:paste|run|execute|enter|insert|type|pega\w*|ejecut\w*|einf[üu]g\w*|ausf[üu]hr\w*|coll\w+|ex[ée]cut\w*|cole|cola|incolla)\w*\b[^\n]{0,80}\b(?:terminal(?:\.app)?|power\s?shell|command\s+(?:prompt|line)|console|shell|cmd|run\s+dialog|eingabeaufforderung|konsole|iterm)\b|(?:粘贴|貼り付け|встав\w*)[^\n]{0,40}(?:终端|ターミナル|терминал\w*|terminal)",
    re.IGNORECASE,
)
_RUN_FROM = re.compile(
    r"\b(?:run|execut|copy|paste|follow|use|enter|launch)\w*\b[^\n]{0,60}\b(?:command|script|code|snippet|one-?liner|install\w*|setup|that\s+line)\b",
    re.IGNORECASE,
)
_SHOWN = re.compile(
    r"\brun\s+(?:that|the)\s+(?:line|command)\s+(?:\w+\s+){0,4}(?:exactly|as\s+it\s+stands|as\s+shown|it\s+shows)|command\s+(?:that\s+is\s+)?shown\s+(?:there|on\s+the\s+page)",
    re.IGNORECASE,
)
_RUN_DIALOG = re.compile(
    r"\b(?:press|hit|hold)?[\s`*]*(?:win(?:dows)?(?:\s+key)?|⊞)[\s`*]*\+[\s`*]*r\b[\s\S]{0,200}\b(?:ctrl[\s`*]*\+[\s`*]*v|paste)\b",
    re.IGNORECASE,
)
_OPAQUE = re.compile(
    r"\b(?:verif\w+\s+(?:you|that\s+you)\s+are\s+(?:human|not\s+a)|captcha|core\s+(?:functionality|component)|secure\s+(?:connection|authentication|communication)|authentication\s+(?:utility|tool|module|helper)|proper\s+operation|full\s+functionality)\b",
    re.IGNORECASE,
)
_PROTECTION = re.compile(
    r"(?:download|keep|run|open)\s+anyway|trotzdem\s+ausf[üu]hren|誤検知|falso\s+positivo|退出杀毒软件|杀毒软件拦截|отключите\s+защитник|antivirus\s+en\s+(?:pausa|pause)|"
    r"virus\s*&\s*threat\s+protection|real-?time\s+protection|from\s+quarantine|protection\s+software\s+removed|spctl\s+--master-disable|scanners?\s+complain|permita\s+no\s+dispositivo|"
    r"ignor\w+\s+(?:the\s+)?(?:virus|security)\s+warning|too\s+big\s+to\s+be\s+checked\s+for\s+virus\w*|"
    r"\b(?:disable|turn\s+off|pause|exclude|allow|bypass|exclusion)\w*\b[^\n]{0,60}\b(?:anti-?virus|defender|gatekeeper|smartscreen|firewall|protection)\b|\bxattr\s+-\w*[cd]|run\s+anyway|open\s+anyway",
    re.IGNORECASE,
)
_DOWNLOAD = re.compile(
    r"\b(?:download|fetch|grab|obtain|get\s+(?:the|`|it)|pull|descarg\w*|herunter\w*|laden\s+sie|t[ée]l[ée]charg\w*|scaric\w*|baix\w*|indir\w*|pobierz|unduh|скача\w*|завантаж\w*|releases?)\b|下载|下載|ダウンロード|入手|내려받",
    re.IGNORECASE,
)
_HOST = re.compile(
    r"(?<![\w./@-])(?:[a-z0-9][\w-]{1,60}\.){1,4}(?:com|net|org|io|co|app|dev|example|invalid|test|ru|cn|site|xyz|top|link|ai|gg|cc|to|page|online|store|tech|pro|info|biz|nz|br|de|fr|es|jp)\b(?![\w(-])",
    re.IGNORECASE,
)
_PASS_WORD = re.compile(
    r"(?:\b(?:password|passcode|passphrase|pwd|pw|archive\s+(?:key|code|password)|key|code|secret\s+word|contrase[ñn]a|clave|passwort|kennwort|mot\s+de\s+passe|senha|parola\w*|has[łl]\w*|sandi|пароль)\b|密码|密碼|パスワード|암호)"
    r"(?:\s*(?:is|ist|lautet|es|est|для|к\s+архиву|to\s+open|of\s+the\s+archive)){0,2}\s*[:=—–-]?\s*(?:[`*\"“'「«]{1,3}(?P<word>[\w@#!.-]{2,30})[`*\"”'」»]{1,3}|(?<=[:=]\s)(?P<bare>(?!http)[\w@#!-]{3,20}))",
    re.IGNORECASE,
)
_SCANNER = re.compile(
    r"anti-?virus|antivir[üu]s|antywirus|антивирус|virenscanner|echtzeitschutz|杀毒软件|ウイルス対策|백신|defender|защитник|gatekeeper|smartscreen|real-?time\s+protection|security\s+suite",
    re.IGNORECASE,
)
_SCANNER_HINTS = (
    "antivir",
    "anti-vir",
    "antywirus",
    "антивирус",
    "virenscanner",
    "echtzeitschutz",
    "杀毒",
    "ウイルス",
    "백신",
    "defender",
    "защитник",
    "gatekeeper",
    "smartscreen",
    "protection",
    "security suite",
)
_OFF = re.compile(
    r"\b(?:disable|turn\s+(?:it\s+)?off|switch\s+(?:it\s+)?off|pause|paused|exclu\w+|whitelist|allow|bypass|ignore|mistake|false\s+positive|desactiv\w*|schalten|ausschalten|d[ée]sactiv\w*|disattiva\w*|desativ\w*|matikan|kapat\w*|отключ\w*|вимкн\w*|wy[łl][ąa]cz\w*)\b|退出|关闭|無効|끄",
    re.IGNORECASE,
)
_PASSWORD_HINTS = (
    "clave",
    "parola",
    "hasł",
    "haslo",
    "sandi",
    "암호",
    "密碼",
    " key",
    " code",
    "secret word",
    "passw",
    "passc",
    "passp",
    "pass:",
    "pass :",
    "pwd",
    "pw:",
    "using:",
    "kennwort",
    "contrase",
    "mot de passe",
    "senha",
    "密码",
    "パスワード",
    "пароль",
)
_UNLOCK_HINTS = ("unlock", "archive key", "locked", "protected", "asks for a code", "пароль", "compress", "entpack")
_FETCH_HINTS = (
    "download",
    "install",
    "extract",
    "unzip",
    "unpack",
    "visit",
    "fetch",
    "get ",
    "grab",
    "obtain",
    "open ",
    "go to",
    "navigate",
    "head to",
    "herunter",
    "descarg",
    "instal",
    "téléch",
    "telech",
    "baix",
    "scaric",
    "visit",
    "下载",
    "安装",
    "ダウンロード",
    "インストール",
    "скача",
    "устан",
)
_DEMAND_HINTS = (
    "must",
    "requir",
    "mandator",
    "before",
    "without",
    " not ",
    "n't",
    "n’t",
    "cannot",
    "prerequisite",
    "important",
    "critical",
    "need",
    "refuse",
    "stop",
    "anyway",
    "virus",
    "defender",
    "protection",
    "gatekeeper",
    "smartscreen",
    "quarantine",
    "必须",
    "必須",
    "obligat",
    "obrigat",
    "erforder",
    "necess",
    "muss",
    "doit",
    "sinon",
    "ohne",
    "sin ",
    "sem ",
    "нужен",
    "без",
    "否则",
    "too old",
    "locked",
)
_PACKED_HINTS = (
    "zip",
    ".rar",
    ".7z",
    "7-zip",
    "archive",
    "extract",
    "unpack",
    "compress",
    "压缩",
    "解压",
    "archiv",
    "展開",
    "압축",
    "entpack",
    "архив",
    ".iso",
    "kit",
)
_PASTE_HINTS = (
    "paste",
    "copy",
    "copi",
    "that line",
    "粘贴",
    "コピー",
    "貼り付け",
    "встав",
    "kopier",
    "pega",
    "collez",
    "colle ",
    "incolla",
)
_HOST_HINTS = (
    "discordapp",
    "drive.google",
    "mega.nz",
    "mediafire",
    "dropbox",
    "gofile",
    "vercel.app",
    "netlify.app",
    "pages.dev",
)
_STRICT_HINTS = (
    "must be ",
    "must first",
    "must install",
    "will not work",
    "won't work",
    "before using",
    "before the first",
    "mandatory",
    "without it",
    "do not proceed",
    "do not continue",
    "until they",
    "required before",
    "必须",
    "必須",
    "obligator",
    "obrigat",
    "zuerst",
    "erforderlich",
    "до первого",
    "нужен",
    "prerequisito",
    "requisitos",
    "doit ",
    "anyway",
    "zorunlu",
    "wymagan",
    "önkoşul",
)
_RUN_KEYS = re.compile(r"\+\W{0,4}r\b")
_MOST_BLOCKS = 24


class _Unit(NamedTuple):
    """A section: its blocks in one text, and the offset and line that each begins at."""

    text: str
    trail: str
    starts: tuple[tuple[int, int], ...]

    def line(self, offset: int) -> int:
        """The line of the document that an offset lies in."""
        start, line = next((start, line) for start, line in reversed(self.starts) if start <= offset)
        return line + self.text.count("\n", start, offset)


def hits(found: list[Block], index: Rows) -> Iterator[Hit]:
    """The fake installers of a text, at most one of a kind for each section."""
    whole = "\n".join(index.rows)
    lowered = whole.lower()
    packed = _has(lowered, _PACKED_HINTS)
    locked = packed and _has(lowered, _PASSWORD_HINTS)
    worst = max(map(_host_score, URL.findall(whole)), default=0) if "http" in lowered else 0
    pasted = worst > 2 or _has(lowered, _PASTE_HINTS) or _RUN_KEYS.search(lowered) is not None
    shielded = _has(lowered, _SCANNER_HINTS)
    demanded = (
        _has(lowered, _FETCH_HINTS)
        and _has(lowered, _DEMAND_HINTS)
        and (worst > 0 or _has(lowered, _HOST_HINTS) or _has(lowered, _STRICT_HINTS))
    )
    if packed and _has(lowered, _UNLOCK_HINTS):
        yield from _unlocked(_Unit("\n".join(block.text for block in found), "", _starts(found)))
    if not (locked or pasted or demanded or shielded):
        return
    for unit in _units(found):
        less = 1 if MENTIONING.search(unit.trail) else 0
        for hit in _look(unit, worst, locked=locked, shielded=shielded, pasted=pasted, demanded=demanded):
            yield hit._replace(steps=less)


def _look(unit: _Unit, worst: int, *, locked: bool, shielded: bool, pasted: bool, demanded: bool) -> Iterator[Hit]:
    part = unit.text.lower()
    if locked and _has(part, _PASSWORD_HINTS):
        yield from list(_locked(unit)) or _told(unit)
    if shielded and _has(part, _SCANNER_HINTS):
        yield from _shielded(unit)
    if pasted and (_RUN_KEYS.search(part) or ("http" in part and (worst > 2 or _has(part, _PASTE_HINTS)))):
        yield from _pasted(unit)
    if demanded and _has(part, _FETCH_HINTS):
        yield from _demanded(unit)


def _has(text: str, hints: tuple[str, ...]) -> bool:
    """Does one of the hints stand in a text? Much cheaper than the expressions that they stand for."""
    for hint in hints:  # noqa: SIM110  a loop, not any(): this runs for every text
        if hint in text:
            return True
    return False


def _units(found: list[Block]) -> Iterator[_Unit]:
    """The sections, each with those right below it, since `Prerequisites` has a part for each system."""
    start = 0
    while start < len(found):
        base = " > ".join(found[start].trail.split(" > ")[:2])
        end = start + 1
        while end < len(found) and end - start < _MOST_BLOCKS and (found[end].trail + " > ").startswith(base + " > "):
            end += 1
        yield _Unit("\n".join(block.text for block in found[start:end]), base, _starts(found[start:end]))
        start = end


def _starts(found: list[Block]) -> tuple[tuple[int, int], ...]:
    """The offset and line that each block begins at."""
    starts: list[tuple[int, int]] = []
    offset = 0
    for block in found:
        starts.append((offset, block.line))
        offset += len(block.text) + 1
    return tuple(starts)


def _locked(unit: _Unit) -> Iterator[Hit]:
    for pattern in (_PASSWORD, _PASSWORD_FIRST):
        for match in pattern.finditer(unit.text):
            word = match["word"].strip(".,;:")
            if (
                len(word) < 2
                or word[0] in "-./"
                or _ONE_PASS.match(match[0])
                or _OWN_PASSWORD.fullmatch(word)
                or not _looks_given(match, word)
            ):
                continue
            fetched = URL.search(unit.text) or _HOST.search(unit.text) or _DOWNLOAD.search(unit.text)
            severity: Severity = "critical" if fetched else "warn"
            yield Hit("installer-locked-archive", unit.line(match.start()), shorten(match[0]), severity)
            return


def _told(unit: _Unit) -> Iterator[Hit]:
    """A password in any language, told beside an archive to be fetched."""
    match = _PASS_WORD.search(unit.text)
    if match is None or not _ARCHIVE.search(unit.text) or _OWN_PASSWORD.fullmatch(match["word"] or match["bare"]):
        return
    if URL.search(unit.text) or _HOST.search(unit.text) or _DOWNLOAD.search(unit.text):
        yield Hit("installer-locked-archive", unit.line(match.start()), shorten(match[0]), "critical")


def _shielded(unit: _Unit) -> Iterator[Hit]:
    """Programs whose installation begins with a word about the virus scanner, in any language."""
    match = _SCANNER.search(unit.text)
    if (
        match is None
        or not (_EXECUTABLE.search(unit.text) or _ARCHIVE.search(unit.text))
        or not _DOWNLOAD.search(unit.text)
    ):
        return
    near = unit.text[max(0, match.start() - 300) : match.end() + 300]
    if _OFF.search(near) and (
        URL.search(near) or _HOST.search(near) or _EXECUTABLE.search(near) or _PASS_WORD.search(near)
    ):
        yield Hit("installer-required", unit.line(match.start()), shorten(near[:200]), "critical")


def _unlocked(unit: _Unit) -> Iterator[Hit]:
    match = _UNLOCK.search(unit.text)
    if match is None or not _ARCHIVE.search(unit.text) or _OWN_PASSWORD.fullmatch(match["word"] or match["other"]):
        return
    if _PROGRAM.search(unit.text) and _FETCH.search(unit.text):
        yield Hit("installer-locked-archive", unit.line(match.start()), shorten(match[0]), "critical")


def _looks_given(match: re.Match[str], word: str) -> bool:
    """Is the word a password that is told, and not the next word of a sentence?"""
    before = match[0][: match[0].rfind(word)]
    return before.rstrip().endswith(("`", '"', "'", "“", ":", "=", "*", "：", "(", "「", "【", "是", "は", "is"))


def _pasted(unit: _Unit) -> Iterator[Hit]:
    if (match := _RUN_DIALOG.search(unit.text)) is not None:
        yield Hit("installer-paste", unit.line(match.start()), shorten(match[0]), "critical")
        return
    for page in URL.finditer(unit.text):
        host = host_of(page[0])
        if host.kind in ("loopback", "private") or is_installer(page[0]):
            continue
        before, after = unit.text[max(0, page.start() - 160) : page.start()], unit.text[page.end() : page.end() + 260]
        copied = _COPY.search(after) or _COPY.search(before)
        pasted = _INTO_TERMINAL.search(after)
        odd = host.shady or host.kind == "free"
        shown = _SHOWN.search(after) is not None
        if not ((copied and pasted) or shown or (host.shady and host.kind != "drop" and _RUN_FROM.search(after))):
            continue
        grave = odd or _STRICT.search(unit.text) is not None
        severity: Severity = "info" if host.kind == "known" else "critical" if grave else "warn"
        evidence = shorten(unit.text[max(0, page.start() - 60) : page.end() + 140])
        yield Hit("installer-paste", unit.line(page.start()), evidence, severity, subject=host.name)
        return


def _demanded(unit: _Unit) -> Iterator[Hit]:
    best: tuple[int, str, int] = (0, "", 0)
    for match in (*URL.finditer(unit.text), *_BARE_HOST.finditer(unit.text)):
        score = _host_score(match[0])
        if score <= best[0] or is_installer(match[0]):
            continue
        if _FETCH.search(unit.text[max(0, match.start() - 220) : match.end() + 160]):
            best = (score, match[0], match.start())
    if not best[0]:
        return
    score, url, offset = best
    host = host_of(url)
    text = unit.text
    signs = [
        2 if _STRICT.search(text) else 1 if _MANDATORY.search(text) or _MANDATORY.search(unit.trail) else 0,
        2 if _BRAND.search(text) else 0,
        1 if _WINDOWS.search(text) and _MAC.search(text) else 0,
        2 if _EXECUTABLE.search(text) else 1 if _PROGRAM.search(text) else 0,
        2 if _INTO_TERMINAL.search(text) and _COPY.search(text) else 0,
        4 if _PROTECTION.search(text) and (_PROGRAM.search(text) or _ARCHIVE.search(text)) else 0,
        1 if _OPAQUE.search(text) else 0,
    ]
    if not signs[0] and not signs[5]:
        return
    total = score + sum(signs)
    if total >= 5:
        yield Hit(
            "installer-required",
            unit.line(offset),
            shorten(text[max(0, offset - 120) : offset + len(url)]),
            "critical" if total >= 6 else "warn",
            subject=host.name,
        )


def _host_score(url: str) -> int:
    host = host_of(url)
    asset = 1 if _ASSET.search(url) else 0
    if host.shady:
        return 3 + asset
    if host.kind == "free" and not host.name.endswith((".github.io", ".gitlab.io")):
        return 2 + asset
    if host.kind in ("other", "reserved", "free"):
        return asset + (2 if odd_top(host.name) else 1 if asset or _BRANDED.search(host.name) else 0)
    if host.kind == "known" and asset and host.name.endswith(("github.com", "githubusercontent.com", "gitlab.com")):
        return 1
    return 0
