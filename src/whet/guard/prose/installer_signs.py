"""The signs of fake installers: expressions for what they say.

Cheap hints that stand for the expressions are in `data/words.json`.
"""

from __future__ import annotations

import re

MANDATORY = re.compile(
    r"\b(?:(?:must|has\s+to|needs?\s+to|have\s+to|should|is\s+required\s+to)\s+(?:first\s+)?(?:be\s+)?(?:installed|running|downloaded|present|install|download|run|set\s+up)|required\s+(?:before|for|to|by|in\s+order|component|dependency|utility|tool)|"
    r"mandatory|(?:will|does|can)\s*(?:not|n['’]t)\s+(?:work|function|run|operate|start|load)\s+(?:without|until|unless|if)|(?:won['’]t|cannot|can['’]t)\s+(?:work|function|run|operate|proceed|be\s+used)\s*(?:without|until|unless)?|"
    r"before\s+(?:you\s+)?(?:using|us(?:e|ing)\s+this|running|start\w*|proceed\w*|any\s+of)|without\s+(?:it|this|the\s+\S+|\S+\s+(?:installed|running))\b|do\s+not\s+(?:proceed|continue|skip)|requires?\s+the\s+\S+|depends\s+on\s+the|"
    r"critical\s*:|important\s*:|doit\s+[êe]tre|sinon\b|必须先?安装|否则|必須|インストールが|не\s+запустится|до\s+первого|no\s+funciona\s+sin|arbeitet\s+nur|ohne\s+das|n[ãa]o\s+(?:abre|funciona)\s+sem|obrigat[óo]rio|there\s+is\s+no\s+(?:fallback|way|other\s+way)|refuses\s+to|nothing\s+further|(?:stays?|remains?|leaves)\s+(?:empty|locked|blind|the\s+agent)|stops\s+with|cannot\s+be\s+reached|update\s+is\s+required|too\s+old|prerequisites?|obligatorio|muss\s+(?:zuerst\s+)?installiert|erforderlich|obligatoire|necess[áa]rio|requerido)",
    re.IGNORECASE,
)
STRICT = re.compile(
    r"\b(?:must\s+(?:first\s+)?(?:be\s+)?(?:installed|running|downloaded|install|download)|(?:will|does|can)\s*(?:not|n['’]t)\s+(?:work|function|run|operate)\s+(?:correctly\s+|properly\s+)?(?:without|until|unless)|(?:won['’]t|cannot|can['’]t)\s+(?:work|function|run|operate|proceed)|"
    r"before\s+(?:using|you\s+(?:can\s+)?use|running|proceed\w*)|without\s+(?:it|this|the\s+\S+)\s*(?:installed|running|utility|tool|,|\.)|do\s+not\s+(?:proceed|continue|skip)|mandatory|required\s+(?:before|component|utility))",
    re.IGNORECASE,
)
BRAND = re.compile(
    r"\b(?:open-?claw|clawd(?:bot)?|molt(?:bot|book)|clawhub|claude|codex|gemini|hermes|agent|skills?|mcp|ai|assistant)[ _-]?(?:provider|core|cli|agent|utility|tools?|helper|driver|runtime|bridge|connector|auth\w*|companion|client|desktop|engine|service|daemon|launcher|setup|kit|"
    r"updater|package|plugin|module|loader|manager|wrapper|host|node|gateway|executor|runner)\b|\bauth-?tool\b",
    re.IGNORECASE,
)
FETCH = re.compile(
    r"\b(?:download|install|get|grab|extract|unzip|unpack|visit|open|go\s+to|navigate|obtain|available|fetch|head\s+to|descarg\w*|instal\w*|herunterlad\w*|t[ée]l[ée]charg\w*|baix\w*|scarica\w*|visita\w*)\b|下载|安装|ダウンロード|インストール|скача\w*|установ\w*",
    re.IGNORECASE,
)
PROGRAM = re.compile(
    r"load\s+unpacked|rename[^\n]{0,60}\.(?:exe|scr|bat|cmd|msi)\b|(?:type|enter|input)\s+(?:the|your)\s+(?:mac|login|computer|admin\w*|system|laptop)(?:['’]s)?\s+password|開机密码|script\s+editor|run\s+as\s+administrator|双击运行|запустите|lancez|ejecuta\s+el|実行してください|\.lnk\b|\.scpt\b|\b(?:run|execute|launch|open|double-?click|start)\w*\s+(?:the\s+|it|this\s+)?(?:\w+\s+){0,3}(?:installer|executable|setup|binary|program|\.?exe|application|app|file|utility)\b|\.(?:exe|msi|dmg|pkg|scr|bat|command|apk)\b",
    re.IGNORECASE,
)
BARE_HOST = re.compile(
    r"(?<![\w./@-])(?:cdn\.discordapp\.com|drive\.google\.com|mega\.nz|mediafire\.com|dropbox\.com|gofile\.io|[\w-]{1,40}\.(?:vercel|netlify|pages)\.(?:app|dev))\b[^\s`)\"']{0,200}"
)
BRANDED = re.compile(r"claw|claude|codex|gemini|agent|skill|mcp|molt|openai|anthropic|hermes")
ASSET = re.compile(
    r"\.(?:scpt|lnk|crx|jar|vbs|hta|zip|exe|msi|dmg|pkg|rar|7z|scr|bat|ps1|command|apk|iso|tar\.gz|tgz)(?:[?#/]|$)|/releases?/(?:download|latest|tag)",
    re.IGNORECASE,
)
EXECUTABLE = re.compile(
    r"[\w-]\.(?:exe|msi|dmg|pkg|scr|lnk|scpt|command|apk|crx)\b|load\s+unpacked|rename[^\n]{0,60}\.(?:exe|scr|bat|cmd|msi)\b|(?:type|enter|input)\s+(?:the|your)\s+(?:mac|login|computer|admin\w*|system)(?:['’]s)?\s+password",
    re.IGNORECASE,
)
WINDOWS = re.compile(r"\bwindows\b", re.IGNORECASE)
MAC = re.compile(r"\bmac\s?os\b|\bmac\b|\blinux\b", re.IGNORECASE)
PASSWORD = re.compile(
    r"(?:\b(?:extract|unzip|unpack|decompress|archive|zip|rar|7z|7-zip|unlock|open\s+(?:it|the)|protected|installer|file)\w*\b[^\n]{0,140}?\b(?:password|passcode|passphrase|pass(?=\s*[:=])|pwd|pw(?=\s*[:=])|using(?=\s*:)|contrase[ñn]a|passwort|kennwort|mot\s+de\s+passe|senha)\b|(?:解压|压缩包)[^\n]{0,30}密码|パスワード)"
    r"\s{0,4}(?:is|are|with|ist|es|est|[ée]|为|是|は)?\s{0,4}[:=：—–-]?\s{0,4}[`\"'“*(【「]{0,4}(?P<word>[^\s`\"'”*)<>{}$】」]{2,40})",
    re.IGNORECASE,
)
PASSWORD_FIRST = re.compile(
    r"\b(?:password|passcode|pass(?:phrase)?|pwd|pw)\b\s{0,4}(?:is|[:=])?\s{0,4}[`\"'“*(]{1,4}(?P<word>[^\s`\"'”*)<>{}$]{2,40})[`\"'”*)]{1,4}[^\n]{0,100}\b(?:extract|unzip|unpack|archive|zip|rar|7z|unlock)",
    re.IGNORECASE,
)
UNLOCK = re.compile(
    r"\b(?:unlock\w*|archive\s+key|locked|protected|asks\s+for\s+a\s+code|пароль\s+к\s+архиву|d[ée]compress\w+|entpack\w+)\b[^\n]{0,80}?[`*\"“「](?P<word>[\w@#!.-]{3,30})[`*\"”」]|use\s+[`*\"“](?P<other>[\w@#!.-]{3,30})[`*\"”]\s+to\s+unlock",
    re.IGNORECASE,
)
ARCHIVE = re.compile(r"\.(?:zip|rar|7z|iso)\b|\b(?:archive|zip|rar|kit)\b|压缩|解压", re.IGNORECASE)
PACKED = re.compile(
    r"\.(?:zip|rar|7z|iso)\b|\b(?:archive|zip|rar|7z|extract\w*|unzip\w*|unpack\w*|decompress\w*|unlock\w*|descompri\w*|entpack\w*|d[ée]compress\w*|extra[ií]\w*|arquivo\s+compactado)\b|压缩|解压|解凍|展開|архив\w*|압축",
    re.IGNORECASE,
)
"""An archive, or taking things out of one."""
OWN_PASSWORD = re.compile(
    r"\b(?:your|their|user['’]?s?|own|from\s+the\s+user|ask|prompt\w*|provided|chosen|parameter|argument|option|flag|optional|none|null|string|protected|protection|manager|hash\w*|field|if|when|for|to|and|or|required|the|a|using|in|of|reset|policy|"
    r"strength|length|str|bool|via|based|authentication|encrypted|encryption|pdf|with|is|not|from|your_\w+|xxx+|example|env\w*|secret|must|can|will|should|needed|set|file|removal|cracking|incorrect|wrong|hint)\b",
    re.IGNORECASE,
)
ONE_PASS = re.compile(r"file\b.*\b(?:pass|using)\s*:", re.IGNORECASE | re.DOTALL)
COPY = re.compile(
    r"\b(?:cop(?:y|ies|ied)|grab|take|get|paste|retrieve)\b[^\n]{0,100}\b(?:command|script|code|snippet|line|one-?liner|installer|text|it)\b|\bcop(?:ia|ie|iez)\b|kopier\w*|复制|コピー|скопир\w*",
    re.IGNORECASE,
)
INTO_TERMINAL = re.compile(
    r"\b(?:paste|run|execute|enter|insert|type|pega|ejecut|einf[üu]g|ausf[üu]hr|coll|ex[ée]cut|cole|cola|incolla)\w*\b[^\n]{0,80}\b(?:terminal(?:\.app)?|power\s?shell|command\s+(?:prompt|line)|console|shell|cmd|run\s+dialog|eingabeaufforderung|konsole|iterm)\b|(?:粘贴|貼り付け|встав\w*)[^\n]{0,40}(?:终端|ターミナル|терминал\w*|terminal)",
    re.IGNORECASE,
)
RUN_FROM = re.compile(
    r"\b(?:run|execut|copy|paste|follow|use|enter|launch)\w*\b[^\n]{0,60}\b(?:command|script|code|snippet|one-?liner|install\w*|setup|that\s+line)\b",
    re.IGNORECASE,
)
SHOWN = re.compile(
    r"\brun\s+(?:that|the)\s+(?:line|command)\s+(?:\w+\s+){0,4}(?:exactly|as\s+it\s+stands|as\s+shown|it\s+shows)|command\s+(?:that\s+is\s+)?shown\s+(?:there|on\s+the\s+page)",
    re.IGNORECASE,
)
RUN_DIALOG = re.compile(
    r"\b(?:press|hit|hold)?[\s`*]*(?:win(?:dows)?(?:\s+key)?|⊞)[\s`*]*\+[\s`*]*r\b[\s\S]{0,200}\b(?:ctrl[\s`*]*\+[\s`*]*v|paste)\b",
    re.IGNORECASE,
)
OPAQUE = re.compile(
    r"\b(?:verif\w+\s+(?:you|that\s+you)\s+are\s+(?:human|not\s+a)|captcha|core\s+(?:functionality|component)|secure\s+(?:connection|authentication|communication)|authentication\s+(?:utility|tool|module|helper)|proper\s+operation|full\s+functionality)\b",
    re.IGNORECASE,
)
PROTECTION = re.compile(
    r"(?:download|keep|run|open)\s+anyway|trotzdem\s+ausf[üu]hren|誤検知|falso\s+positivo|退出杀毒软件|杀毒软件拦截|отключите\s+защитник|antivirus\s+en\s+(?:pausa|pause)|"
    r"virus\s*&\s*threat\s+protection|real-?time\s+protection|from\s+quarantine|protection\s+software\s+removed|spctl\s+--master-disable|scanners?\s+complain|permita\s+no\s+dispositivo|"
    r"ignor\w+\s+(?:the\s+)?(?:virus|security)\s+warning|too\s+big\s+to\s+be\s+checked\s+for\s+virus\w*|"
    r"\b(?:disable|turn\s+off|pause|exclude|allow|bypass|exclusion)\w*\b[^\n]{0,60}\b(?:anti-?virus|defender|gatekeeper|smartscreen|firewall|protection)\b|\bxattr\s+-\w*[cd]|run\s+anyway|open\s+anyway",
    re.IGNORECASE,
)
DOWNLOAD = re.compile(
    r"\b(?:download|fetch|grab|obtain|get\s+(?:the|`|it)|pull|descarg\w*|herunter\w*|laden\s+sie|t[ée]l[ée]charg\w*|scaric\w*|baix\w*|indir\w*|pobierz|unduh|скача\w*|завантаж\w*|releases?)\b|下载|下載|ダウンロード|入手|내려받",
    re.IGNORECASE,
)
HOST = re.compile(
    r"(?<![\w./@-])(?:[a-z0-9][\w-]{1,60}\.){1,4}(?:com|net|org|io|co|app|dev|example|invalid|test|ru|cn|site|xyz|top|link|ai|gg|cc|to|page|online|store|tech|pro|info|biz|nz|br|de|fr|es|jp)\b(?![\w(-])",
    re.IGNORECASE,
)
PASS_WORD = re.compile(
    r"(?:\b(?:password|passcode|passphrase|pwd|pw|archive\s+(?:key|code|password)|key|code|secret\s+word|contrase[ñn]a|clave|passwort|kennwort|mot\s+de\s+passe|senha|parola\w*|has[łl]\w*|sandi|пароль)\b|密码|密碼|パスワード|암호)"
    r"(?:\s{0,4}(?:is|ist|lautet|es|est|для|к\s+архиву|to\s+open|of\s+the\s+archive)){0,2}\s{0,4}[:=—–-]?\s{0,4}(?:[`*\"“'「«]{1,3}(?P<word>[\w@#!.-]{2,30})[`*\"”'」»]{1,3}|(?<=[:=]\s)(?P<bare>(?!http)[\w@#!-]{3,20}))",
    re.IGNORECASE,
)
SCANNER = re.compile(
    r"anti-?virus|antivir[üu]s|antywirus|антивирус|virenscanner|echtzeitschutz|杀毒软件|ウイルス対策|백신|defender|защитник|gatekeeper|smartscreen|real-?time\s+protection|security\s+suite",
    re.IGNORECASE,
)
OFF = re.compile(
    r"\b(?:disable|turn\s+(?:it\s+)?off|switch\s+(?:it\s+)?off|pause|paused|exclu\w+|whitelist|allow|bypass|ignore|mistake|false\s+positive|desactiv\w*|schalten|ausschalten|d[ée]sactiv\w*|disattiva\w*|desativ\w*|matikan|kapat\w*|отключ\w*|вимкн\w*|wy[łl][ąa]cz\w*)\b|退出|关闭|無効|끄",
    re.IGNORECASE,
)
RUN_KEYS = re.compile(r"\+\W{0,4}r\b")
