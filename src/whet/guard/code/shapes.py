"""The shapes by which programs of many languages are read: assignments, loops, functions, and what calls do."""

from __future__ import annotations

import re

NAME = re.compile(r"[A-Za-z_]\w{0,60}")
STRING = re.compile(r"\"(?:[^\"\\\n]|\\.){0,600}\"|'(?:[^'\\\n]|\\.){0,600}'|`[^`]{0,600}`")
ASSIGNED = re.compile(
    r"^[\s{}]{0,200}(?:(?:let|var|val|const|my|our|local|final|auto|mut|static|set|string|byte\[\]|char|async"
    r"|return)\s{1,9}){0,3}"
    r"(?:[A-Z][\w.]{0,40}(?:<[^=>\n]{0,60}>)?(?:\[\]){0,2}\s{1,4})?"
    r"([($@%*&]{0,2}[A-Za-z_][\w.\[\]\"'$:]{0,60}(?:\s{0,4},\s{0,4}[$@%*&]{0,2}[A-Za-z_][\w.]{0,60}){0,5})\)?"
    r"(?:\s{0,4}:\s{0,4}[\w<>:&\[\](), ]{1,60})?\s{0,4}(?::=|\+=|\.=|<<|\|\|=|=(?![=~>])|\bto\b)(.{0,2000})$",
    re.DOTALL,
)
LOOPED = re.compile(
    r"\bfor\s{0,4}\(?\s{0,4}(?:var|let|auto|final"
    r"|my)?\s{0,4}(?:[\w<>:]{1,40}\s{1,4})?([$\w]{1,60}(?:\s{0,4},\s{0,4}[$\w]{1,60})?)\s{1,4}"
    r"(?:in|:=\s{0,4}range|:)\s{1,4}|\bforeach\s{0,4}\(?\s{0,4}(?:my|var|string)?\s{0,4}([$\w]{0,60})"
    r"|\bas\s{1,4}([$\w]{1,60})\s{0,4}\)"
    r"|(?:do|\{)\s{0,4}\|([^|\n]{1,80})\||\brepeat\s{1,4}with\s{1,4}(\w{1,40})\s{1,4}in"
)
DEFINED = re.compile(
    r"\b(?:func|function|def|fn|sub)\s{1,9}(?:\([^)\n]{0,80}\)\s{0,4})?([A-Za-z_]\w{0,60}[!?]?)\s{0,4}(?:<[^>\n]{0,60}>)?\s{0,4}\(?([^){\n]{0,300})"
    r"|(?:static|public|private|protected"
    r"|void)\s{1,4}(?:[\w<>\[\],]{1,60}\s{1,4}){1,4}([A-Za-z_]\w{0,60})\s{0,4}\(([^){\n]{0,300})"
)
ASKED = re.compile(r"^\s{0,200}(?:\}\s{0,4}else\s{1,4})?(?:if|unless|next|when|while)\b")
LOOKED_AT = re.compile(
    r"[( !]([a-z_]\w{0,40})\s{0,4}(?=,\s{0,4}[\"'`]|\.(?:include\?|end_with\?|match|ends_with|EndsWith|Contains)\b)"
)
"""A name that is compared with a text."""
BEGINNING = re.compile(r"\.ssh[\\/]{1,2}(?:id_)?[\"'`*]")
"""A text that paths of keys begin with."""
RETURNED = re.compile(r"^\s{0,200}return\b(.{0,2000})$", re.DOTALL)
CALLED_ON = re.compile(r"^[\s{}]{0,200}[$@]?([A-Za-z_]\w{0,60})(?:\.|->|::)\w")

ENVIRONMENT = re.compile(
    r"\bENV\.(?:to_h|to_a|each|map|inspect|to_json|sort|select|dup)\b|\bos\.Environ\s{0,4}\(|%ENV\b"
    r"|\benv::vars\s{0,4}\("
    r"|\bSystem\.getenv\s{0,4}\(\s{0,4}\)|\bGetEnvironmentVariables\s{0,4}\(|\bgetenv\s{0,4}\(\s{0,4}\)|\$_ENV\b(?!\[)"
    r"|\$_SERVER\b(?!\[)|do\s{1,4}shell\s{1,4}script\s{1,4}\"(?:env|printenv)\"|\bio\.popen\s{0,4}\(\s{0,4}\"(?:env"
    r"|printenv)\""
)
DECODES = re.compile(
    r"\b(?:Base64\.(?:strict_|urlsafe_)?decode64|base64_decode|decode_base64|DecodeString|FromBase64String"
    r"|from_base64|hex2bin"
    r"|gzinflate|gzuncompress|str_rot13|unpack1?\s{0,4}\(?\s{0,4}[\"'][mH]|getDecoder\(\)|base64::decode"
    r"|\.decode\s{0,4}\(\s{0,4}[\"'][A-Za-z0-9+/=]{24}"
    r"|Inflater?|inflate|pack\s{0,4}\(?\s{0,4}[\"']H)",
)
FETCHES = re.compile(
    r"\bhttp\.(?:Get|NewRequest)\b|\bNet::HTTP\b|\bURI\.open\b|\bURI\([^\n]{0,200}\)\.(?:open|read)\b|\bopen-uri\b"
    r"|\bHTTParty\.|\bFaraday\."
    r"|\bfile_get_contents\s{0,4}\(\s{0,4}[\"']https?:|\bcurl_exec\b|\bLWP::Simple\b|\bgetstore\b"
    r"|\bLWP::UserAgent\b|\bHTTP::Tiny\b"
    r"|\breqwest::|\bureq::|\bHttpClient\b|\bURL\s{0,4}\(\s{0,4}[\"']https?:|\bWebClient\b|\bDownload(?:String|Data"
    r"|File)(?:Async|TaskAsync)?\b"
    r"|\bGetStringAsync\b|\bGetByteArrayAsync\b|\bhttp\.request\s{0,4}\(|\bget\s{0,4}\(\s{0,4}[\"']https?:"
    r"|\bcopy\s{0,4}\(\s{0,4}[\"']https?:"
)
SENDS = re.compile(
    r"\bhttp\.(?:Post|PostForm|NewRequest)\b|\bNet::HTTP(?:\.post|::Post|::Put)|\.post_form\b|\bHTTParty\.post"
    r"|\bFaraday\.post|\bRestClient\.post"
    r"|\bTyphoeus\.post|\bcurl_exec\b|\bCURLOPT_POSTFIELDS\b|\bHTTP::Request\b|(?:->|\.)post\s{0,4}\(|\breqwest::"
    r"|\bureq::|\.body\s{0,4}\("
    r"|\bHttpPost\b|\bBodyPublishers\b|\bgetOutputStream\b|\bPostAsync\b|\bUpload(?:String|Data|File"
    r"|Values)\w{0,12}\b|\bhttp\.request\s{0,4}[({]"
    r"|\bfsockopen\b|\bfwrite\s{0,4}\(\s{0,4}\$(?:fp|sock|socket|conn)|\bTCPSocket\b|\bUDPSocket\b"
    r"|\bnet\.Dial\w{0,8}\b|\bconn\.Write\b|\bTcpStream\b"
    r"|\bnew\s{1,4}Socket\b|\bTcpClient\b|\bSmtpClient\b|\bmail\s{0,4}\(|\bstream_context_create\b"
    r"|\bio\.Copy\s{0,4}\(\s{0,4}(?:conn|c|sock)\b"
    r"|\b(?:LookupHost|LookupTXT|LookupIP|gethostbyname|Resolv\.getaddress|dns_get_record|GetHostEntry)\b"
    r"|\bstream_socket_client\b"
    r"|\.PutObject\b|\.put_object\b|\bURLRequest\b|\bhttpBody\b|\bdataTask\b"
)
RUNS = re.compile(
    r"\bexec\.Command(?:Context)?\s{0,4}\(|\bCommand::new\s{0,4}\(|\bProcessBuilder\s{0,4}\("
    r"|getRuntime\(\)\.exec\s{0,4}\(|\bProcess\.Start\s{0,4}\("
    r"|\bsystem\s{0,4}[( ]|\bexec\s{0,4}[( ]|\bspawn\s{0,4}[( ]|\bpopen\s{0,4}[( ]|\bIO\.popen\s{0,4}[( ]"
    r"|\bos\.execute\s{0,4}[( ]|\bio\.popen\s{0,4}[( ]"
    r"|\bOpen3\.\w{1,20}\s{0,4}[( ]|\bshell_exec\s{0,4}\(|\bpassthru\s{0,4}\(|\bproc_open\s{0,4}\("
    r"|\bdo\s{1,4}shell\s{1,4}script\s|\bsyscall\.Exec\s{0,4}\("
    r"|\bNSTask\b|\blaunchPath\b|%x[({\[]"
)
EVALUATES = re.compile(
    r"\b(?:eval|instance_eval|class_eval)\s{0,4}[( ](?!\s{0,4}\{)|\b(?:loadstring|load|dostring|create_function"
    r"|assert)\s{0,4}\("
    r"|\bAssembly\.Load\s{0,4}\(|\bdefineClass\s{0,4}\(|\brun\s{1,4}script\s|\bCSharpScript\.|\bplugin\.Open\s{0,4}\("
)
WRITES = re.compile(
    r"\bos\.(?:Create|WriteFile|OpenFile)\b|\bioutil\.WriteFile\b|\bio\.Copy\b|\bFile\.(?:open|write|binwrite"
    r"|WriteAll\w{1,10}|AppendAll\w{1,10})\b"
    r"|\bIO\.(?:copy_stream|binwrite|write)\b|\bfile_put_contents\b|\bfs::write\b|\bFile::create\b"
    r"|\bFiles\.(?:write|copy|writeString)\b|\bFileOutputStream\b"
    r"|\bwrite(?:Bytes|Text|_all)\b|\bDownloadFile\w{0,10}\b|\bgetstore\b|\bcopy\s{0,4}\(\s{0,4}[\"']https?:"
    r"|\bio\.open\s{0,4}\(|\bfwrite\b|\bopen\s{0,4}\(\s{0,4}(?:my\s)?\S{1,20}\s{0,4},\s{0,4}[\"']>"
)
OPENED = re.compile(
    r"\b(?:File|FileWriter|FileOutputStream|os\.Create|os\.OpenFile|File::create|fopen|io\.open|File\.open)\s{0,4}\("
)
HANDLE = re.compile(r"\bopen\s{0,4}\(?\s{0,4}(?:my\s{0,4})?\$?(\w{1,40})\s{0,4},")
MANUAL = re.compile(r"=(?:pod|head\d|over|item|begin|encoding)\b")
SYNTAX = re.compile(r"\\[bswdnt]|\{\d+,?\d*\}|\?[:!=<]")


def _names(*shapes: re.Pattern[str], more: str = "") -> frozenset[str]:
    """The names of which one stands in everything that a shape matches."""
    return frozenset(NAME.findall(" ".join((more, *(SYNTAX.sub(" ", shape.pattern) for shape in shapes)))))


TAKING_NAMES = _names(ENVIRONMENT, DECODES, FETCHES, more="unpack Inflate DownloadFile DownloadString DownloadData")
SENDING_NAMES = _names(SENDS, more="UploadString UploadData UploadFile UploadValues UploadStringAsync UploadFileAsync")
RUNNING_NAMES = _names(RUNS, EVALUATES, more="x")
WRITING_NAMES = _names(WRITES, more="writeBytes writeText write_all DownloadFileAsync DownloadFileTaskAsync")
SECRET_MARKS = (
    ".ssh", "id_rsa", "id_ed25519", ".aws", ".kube", ".netrc", ".npmrc", ".pypirc", ".gnupg", ".docker",
    ".git-credentials", "gcloud", ".azure", "keychain", "login data", "cookies", "wallet", ".ethereum", ".electrum",
    ".bitcoin", "solana", "exodus", "metamask", "/etc/shadow", "_history", "tdata", "leveldb", "local state",
    "key4.db", "logins.json", "keystore", ".claude", ".codex", ".password-store", "kdbx", "keyrings", "hosts.yml",
    "serviceaccount", "-password",
)  # fmt: skip


SHELL = re.compile(
    r"[\"'](?:/bin/|/usr/bin/)?(?:ba|z|da)?sh[\"']|[\"'](?:cmd(?:\.exe)?|powershell(?:\.exe)?|python3?|node)[\"']"
)
PROGRAM = re.compile(r"[\"'](?:chmod|sudo|open|nohup|start)[\"']")
