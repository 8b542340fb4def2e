"""Rules for JavaScript and TypeScript, and the patterns for the languages that have no reader of their own."""

from __future__ import annotations

from whet.guard.finding import Rule
from whet.guard.patterns import Pattern

_SEND = ("OWASP AST01", "CWE-200")
_RUN = ("OWASP AST01", "CWE-494")
_HIDE = ("OWASP AST01", "CWE-506")

RULES: tuple[Rule, ...] = (
    Rule(
        "js-secret-exfiltration", "critical", "exfiltration",
        "The script sends keys, tokens or wallets over the network.",
        "Private keys and credential stores are read and leave the machine; no task of a skill needs that.",
        "Remove it. Use a key only in the header of the API it was made for.", _SEND,
    ),
    Rule(
        "js-environment-exfiltration", "critical", "exfiltration",
        "The script sends the whole environment over the network.",
        "The environment holds the tokens of every tool on the machine; an honest script names the variable it needs.",
        "Read the one variable the service needs, and send nothing else.", _SEND,
    ),
    Rule(
        "js-private-data-sent", "warn", "exfiltration",
        "The script sends cookies, the clipboard or an environment file over the network.",
        "These hold what the user did not mean to share.",
        "Send only what the user asked to send.", _SEND,
    ),
    Rule(
        "js-remote-code", "critical", "remote-execution",
        "The script runs code or commands that it fetched.",
        "Whoever controls the address decides what runs, and can change it after the review.",
        "Ship the code in the package, or install a pinned package.", _RUN,
    ),
    Rule(
        "js-decoded-code", "critical", "hiding",
        "The script runs code that it decodes first.",
        "Code that has to be decoded to run is hidden from whoever reads the package.",
        "Write the code as it is.", _HIDE,
    ),
    Rule(
        "js-download-execute", "critical", "remote-execution",
        "The script writes a file it fetched or decoded, and starts it.",
        "The program that runs is not in the package and cannot be reviewed.",
        "Install a pinned release from the vendor and check its digest.", _RUN,
    ),
    Rule(
        "js-reverse-shell", "critical", "remote-execution",
        "The script gives a shell on this machine to whoever is at the other end of a connection.",
        "A shell or its commands are tied to a network connection.",
        "Remove it.", ("OWASP AST01", "CWE-506"),
    ),
    Rule(
        "js-hidden-names", "warn", "hiding",
        "The script puts the name of a powerful function together from pieces.",
        "Names such as child_process or eval are split only to hide them from readers and scanners.",
        "Write the name as it is.", _HIDE,
    ),
    Rule(
        "js-keylogger", "critical", "credential-access",
        "The script records what the user types.",
        "Passwords and everything else that is typed on the machine go to a file or over the network.",
        "Remove it.", ("OWASP AST01", "CWE-506"),
    ),
    Rule(
        "js-clipboard-watch", "critical", "credential-access",
        "The script watches the clipboard to send or replace what is copied.",
        "Passwords are copied, and addresses for payments are swapped on the way.",
        "Read the clipboard once, when the user asks for it.", ("OWASP AST01", "CWE-506"),
    ),
    Rule(
        "js-ransom", "critical", "destruction",
        "The script encrypts the files of the home directory.",
        "The originals are removed or a note asks for money.",
        "Remove it.", ("OWASP AST01",),
    ),
    Rule(
        "js-partly-analysed", "info", "unreadable",
        "The script is so large that only parts of it were read as a program.",
        "Around powerful words it was followed; the rest only met patterns.",
        "Ship the source instead of a bundle.", ("OWASP AST08",), mention=False,
    ),
    Rule(
        "js-dynamic-code", "info", "dynamic-code",
        "The script runs text as code.",
        "What eval runs is not what a reader sees.",
        "Use JSON.parse or a function instead.", ("CWE-95",),
    ),
    Rule(
        "obfuscated-javascript", "critical", "hiding",
        "The script is obfuscated.",
        "Nobody can review it, and honest skills ship readable code.",
        "Ship the source.", _HIDE, mention=False,
    ),
    Rule(
        "minified-javascript", "info", "hiding",
        "The script is minified.",
        "It is hard to review, though common for bundles.",
        "Ship the source beside it.", mention=False,
    ),
    Rule(
        "js-persistence", "critical", "persistence",
        "The script writes to a place from which programs start by themselves.",
        "What is written there runs again at every login, long after the task.",
        "Tell the user what to add, and let them do it.", ("OWASP AST01", "CWE-506"),
    ),
    Rule(
        "js-agent-tampering", "warn", "agent-tampering",
        "The script writes the agent's own settings or instructions.",
        "That changes what every later session may do.",
        "Describe the setting, and let the user make it.", ("OWASP AST01",),
    ),
    Rule(
        "js-destruction", "critical", "destruction",
        "The script removes the home directory or the system.",
        "The user's files are gone afterwards.",
        "Remove only directories that the script made itself.", ("OWASP AST01",),
    ),
    Rule(
        "js-mining", "critical", "destruction",
        "The script mines a currency on the user's machine.",
        "It connects to a mining pool or starts a miner.",
        "Remove it.", ("OWASP AST01", "CWE-400"),
    ),
    Rule(
        "code-reverse-shell", "critical", "remote-execution",
        "The program gives a shell on this machine to whoever is at the other end of a connection.",
        "A shell is tied to a network connection.",
        "Remove it.", ("OWASP AST01", "CWE-506"),
    ),
    Rule(
        "code-remote-execution", "critical", "remote-execution",
        "The program fetches code and runs it.",
        "Whoever controls the address decides what runs.",
        "Ship the code in the package, or install a pinned package.", _RUN,
    ),
    Rule(
        "code-decoded-execution", "critical", "hiding",
        "The program runs code that it decodes first.",
        "Code that has to be decoded to run is hidden from whoever reads the package.",
        "Write the code as it is.", _HIDE,
    ),
    Rule(
        "code-secret-exfiltration", "critical", "exfiltration",
        "The program reads keys or wallets and sends them.",
        "Private keys and credential stores leave the machine.",
        "Remove it.", _SEND,
    ),
    Rule(
        "code-environment-exfiltration", "critical", "exfiltration",
        "The program sends the whole environment over the network.",
        "The environment holds the tokens of every tool on the machine; an honest program names the variable it needs.",
        "Read the one variable the service needs, and send nothing else.", _SEND,
    ),
    Rule(
        "code-partly-analysed", "info", "unreadable",
        "The program is so large that only its beginning was followed.",
        "The rest only met patterns.",
        "Split it into files.", ("OWASP AST08",), mention=False,
    ),
    Rule(
        "password-dialog", "critical", "credential-access",
        "A dialog of its own asks the user for the password.",
        "The system asks for passwords itself; a script that does it keeps them.",
        "Let sudo or the system ask.", ("OWASP AST01", "CWE-522"),
    ),
    Rule(
        "code-destruction", "critical", "destruction",
        "The program removes the home directory or the system.",
        "The user's files are gone afterwards.",
        "Remove only directories that the program made itself.", ("OWASP AST01",),
    ),
)  # fmt: skip

PATTERNS: tuple[Pattern, ...] = (
    Pattern("js-mining", "stratum", r"[\"'`]stratum(?:\+(?:tcp|ssl|tls))?://[^\s\"'`]{4,200}"),
    Pattern("js-mining", "coinhive|cryptoloot|coinimp|xmrig",
            r"new\s{1,9}(?:CoinHive|CryptoLoot|CoinImp)[.\w]{0,40}\s{0,9}\(|(?:spawn"
            r"|exec)\w{0,8}\([^\n]{0,120}\bxmrig\b"),
)  # fmt: skip
"""Whole-text patterns of JavaScript."""

CODE: tuple[Pattern, ...] = (
    # Ruby
    Pattern("code-reverse-shell", "tcpsocket",
            r"TCPSocket\.(?:new|open)[^\n]{0,160}(?:exec|spawn|IO\.popen|/bin/(?:ba)?sh)"),
    Pattern("code-reverse-shell", "tcpsocket popen|exec|spawn",
            r"TCPSocket\.(?:new|open)\b[\s\S]{0,400}?(?:IO\.popen\(\s{0,9}(?:cmd|c|line)|/bin/(?:ba)?sh\b)"),
    Pattern("code-remote-execution", "eval|system|exec open|net|uri|http",
            r"\b(?:eval|instance_eval|system|exec)[ (]{1,4}(?:URI\.open|open|Net::HTTP\.get|HTTParty\.get"
            r"|Faraday\.get)\s{0,4}\(?\s{0,4}(?:URI|[\"']https?:)"),
    Pattern("code-decoded-execution", "eval base64|unpack|unpack1",
            r"\beval[ (]{1,4}(?:Base64\.(?:strict_|urlsafe_)?decode64|[\"'][A-Za-z0-9+/=]{24,4000}[\"']\.unpack1?)"),
    # Perl
    Pattern("code-reverse-shell", "socket stdin exec",
            r"open\s{0,4}\(\s{0,4}STDIN\s{0,4},\s{0,4}[\"']>&[\s\S]{0,300}?\bexec\b"),
    Pattern("code-reverse-shell", "inet",
            r"IO::Socket::INET[\s\S]{0,400}?(?:exec\s{0,4}[({]?\s{0,4}[\"']/bin/(?:ba)?sh|open"
            r"\s{0,4}\(?\s{0,4}STDIN)"),
    Pattern("code-remote-execution", "eval get|lwp",
            r"\beval[ (]{1,4}(?:LWP::Simple::)?get\s{0,4}\(?\s{0,4}[\"']https?:"),
    Pattern("code-decoded-execution", "eval decode|pack",
            r"\beval[ (]{1,4}(?:MIME::Base64::)?(?:decode_base64|pack\s{0,4}\(?\s{0,4}[\"']H\*)"),
    # PHP
    Pattern("code-decoded-execution", "eval|assert base64|gzinflate|rot13|gzuncompress",
            r"\b(?:eval|assert|create_function)\s{0,4}\(\s{0,4}@?(?:base64_decode|gzinflate|gzuncompress"
            r"|str_rot13|strrev|hex2bin)\s{0,4}\("),
    Pattern("code-remote-execution", "eval|system|exec|passthru file|curl",
            r"\b(?:eval|system|exec|passthru|shell_exec|include|require)\s{0,4}\(\s{0,4}[\"'?>. ]{0,8}"
            r"(?:file_get_contents|curl_exec)\s{0,4}\(\s{0,4}[\"']https?:"),
    Pattern("code-remote-execution", "system|exec|passthru|eval|assert get|post|request|cookie",
            r"\b(?:eval|system|passthru|shell_exec|assert)\s{0,4}\(\s{0,4}@?\$_(?:GET|POST|REQUEST|COOKIE)\["),
    Pattern("code-reverse-shell", "fsockopen",
            r"fsockopen\s{0,4}\([\s\S]{0,300}?(?:proc_open|shell_exec|exec|popen)"
            r"\s{0,4}\(\s{0,4}[\"'][^\n]{0,30}(?:/bin/)?(?:ba)?sh\b"),
    # Lua
    Pattern("code-remote-execution", "load|loadstring http|game|request",
            r"\bload(?:string)?\s{0,4}\(\s{0,4}(?:game:HttpGet|http\.request|request)\s{0,4}\(\s{0,4}[\"']https?:"),
    Pattern("code-reverse-shell", "socket connect popen",
            r"\breceive\s{0,4}\([\s\S]{0,200}?io\.popen\s{0,4}\(\s{0,4}[a-z_]{1,20}\b"),
    # AppleScript
    Pattern("password-dialog", "dialog hidden",
            r"display\s{1,4}dialog\b[^\n]{0,150}?\bpass(?:word|code|phrase)\b[^\n]{0,150}?\bhidden\s{1,4}answer\b"),
    Pattern("password-dialog", "dialog hidden",
            r"display\s{1,4}dialog\b[^\n]{0,150}?\bhidden\s{1,4}answer\b[^\n]{0,200}?\bpassword\b"),
    Pattern("code-remote-execution", "shell script curl|wget",
            r"do\s{1,4}shell\s{1,4}script\s{1,4}[\"'][^\n]{0,300}?\b(?:curl|wget)\b[^\n]{0,300}?\|\s{0,4}(?:ba"
            r"|z)?sh\b"),
    Pattern("code-decoded-execution", "shell script base64",
            r"do\s{1,4}shell\s{1,4}script\s{1,4}[\"'][^\n]{0,400}?base64\s{1,4}(?:-d|-D|--decode)[^\n]{0,60}?"
            r"\|\s{0,4}(?:ba|z)?sh\b"),
    # Go, Rust, Java, C#
    Pattern("code-reverse-shell", "dial command",
            r"exec\.Command\s{0,4}\(\s{0,4}[\"'](?:/bin/)?(?:(?:ba)?sh|cmd(?:\.exe)?|powershell)[\"']"
            r"[\s\S]{0,300}?\.Std(?:in|out)\b[^\n=]{0,60}=\s{0,4}(?:c|conn|connection|s|sock|socket)\b"),
    Pattern("code-reverse-shell", "tcpstream command",
            r"Command::new\s{0,4}\(\s{0,4}[\"'](?:/bin/)?(?:(?:ba)?sh|cmd)[\"']"
            r"[\s\S]{0,300}?(?:from_raw_fd|stdin\s{0,4}\(\s{0,4}(?:s|stream|sock|socket|conn|tcp)\b)"),
    Pattern("code-reverse-shell", "socket processbuilder|runtime",
            r"(?:ProcessBuilder|getRuntime\(\)\.exec)\s{0,4}\(\s{0,4}[\"'](?:/bin/)?(?:(?:ba)?sh|cmd"
            r"(?:\.exe)?)[\"'][\s\S]{0,300}?new\s{1,4}Socket\s{0,4}\(\s{0,4}[\"'\w]"),
    Pattern("code-reverse-shell", "tcpclient process redirectstandardinput|redirectstandardoutput",
            r"new\s{1,4}TcpClient\s{0,4}\([\s\S]{0,600}?(?:cmd\.exe|powershell|/bin/(?:ba)?sh)"),
    Pattern("code-remote-execution", "command http|curl",
            r"(?:exec\.Command|Command::new|getRuntime\(\)\.exec|Process\.Start|os\.execute|IO\.popen)"
            r"\s{0,4}\([^\n]{0,160}?\b(?:curl|wget|iwr|DownloadString)\b[^\n]{0,200}?(?:\|\s{0,4}(?:ba|z)?sh\b"
            r"|\biex\b|Invoke-Expression)"),
    Pattern("code-remote-execution", "downloadfile start",
            r"DownloadFile\s{0,4}\(\s{0,4}[\"']http://[\s\S]{0,400}?Process\.Start\s{0,4}\("),
    Pattern("code-remote-execution", "assembly load downloaddata",
            r"Assembly\.Load\s{0,4}\([^\n]{0,120}?DownloadData\s{0,4}\("),
    Pattern("code-remote-execution", "urlclassloader",
            r"new\s{1,4}URLClassLoader\s{0,4}\([^\n]{0,120}?new\s{1,4}URL\s{0,4}\(\s{0,4}[\"']http://"),
    Pattern("code-decoded-execution", "assembly load frombase64string",
            r"Assembly\.Load\s{0,4}\([^\n]{0,120}?FromBase64String\s{0,4}\("),
    # Any of them
    Pattern("code-secret-exfiltration", "id|credentials|wallet http|https|post|send",
            r"(?:File\.read|file_get_contents|os\.ReadFile|ioutil\.ReadFile|read_to_string|readAllBytes"
            r"|ReadAllText|io\.open|open)\s{0,4}\([^\n]{0,120}?(?:\.ssh/id_\w{1,12}|\.aws/credentials|wallet\.dat"
            r"|Login Data)[\s\S]{0,600}?(?:Net::HTTP\.post|http\.Post\b|curl_exec|\.post\(|HttpPost|PostAsync"
            r"|UploadString|http\.request|HTTP::Request)"),
    Pattern("code-destruction", "rm|remove|removeall|delete home|homedir|dir",
            r"(?:FileUtils\.rm_rf|os\.RemoveAll|remove_dir_all)\s{0,4}\(?\s{0,4}(?:Dir\.home"
            r"|ENV\[[\"']HOME[\"']\]|os\.Getenv\(\s{0,4}[\"']HOME[\"']\s{0,4}\)|[\"'](?:/|~)[\"']"
            r"|dirs::home_dir\(\)[^\n)]{0,20})\s{0,4}\)?\s{0,4}[;)]{0,3}\s{0,4}$"),
)  # fmt: skip
"""Patterns of Ruby, Perl, PHP, Lua, AppleScript, Go, Rust, Java and C#."""
