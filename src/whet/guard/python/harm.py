"""Other harm: deleting and encrypting what is a person's, staying on the machine, raw memory, shells over sockets."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from whet.guard.places import places
from whet.guard.python.files import is_home
from whet.guard.python.values import NOTHING, Value, strings, words
from whet.guard.tables import api

if TYPE_CHECKING:
    from whet.guard.finding import Severity
    from whet.guard.python.calls import Call
    from whet.guard.python.reader import Reader

_REMOVE = api("python", "remove")
_MEMORY = re.compile(
    r"\.(?:VirtualAlloc(?:Ex)?|RtlMoveMemory|CreateRemoteThread|WriteProcessMemory|CreateThread|mprotect|VirtualProtect)$"
)
_NOTE = re.compile(
    r"(?:your|all)\s.{0,30}files\s.{0,30}(?:have been|are|were)\s.{0,12}encrypted"
    r"|(?:send|pay|transfer)\s.{0,40}(?:bitcoin|btc|monero|xmr)\s.{0,60}"
    r"(?:decrypt|recover|unlock|key)",
    re.IGNORECASE | re.DOTALL,
)
_STRAY = re.compile(
    r"[\\/](?:public|temp|tmp|programdata|downloads)[\\/]|%(?:temp|public)%|powershell|mshta|wscript", re.IGNORECASE
)
_MINER = re.compile(
    r"mining\.(?:subscribe|authorize)|stratum\+(?:tcp|ssl)://|\bxmrig\b|--donate-level|\bminerd\b.{0,60}-o\s",
    re.IGNORECASE,
)
_ENCRYPT = words(
    "cryptography.fernet.Fernet.encrypt Crypto.Cipher.AES.new.encrypt Cryptodome.Cipher.AES.new.encrypt"
    " nacl.secret.SecretBox.encrypt pyAesCrypt.encryptFile pyaes.AESModeOfOperationCTR.encrypt"
)


def harm(reader: Reader, this: Call) -> Value | None:
    """Judge what is left."""
    name, node = this.name, this.node
    if name in _REMOVE:
        return _removed(reader, this)
    if name == "os.dup2":
        number = node.args[0] if node.args else None
        handle = (
            isinstance(number, ast.Call) and isinstance(number.func, ast.Attribute) and number.func.attr == "fileno"
        )
        if this.arg(0).name.startswith("socket.") or (handle and "connects" in reader.did):
            reader.hit("shell-handed-over", node)
        return NOTHING
    if name.startswith("ctypes.") or ".windll." in name:
        return _memory(reader, this)
    if name in _ENCRYPT:
        reader.did.setdefault("encrypts", node.lineno)
        if any(mark.kind == "secret" and mark.subject in ("~", "~/") for value in this.every() for mark in value.marks):
            reader.did.setdefault("encrypts home", node.lineno)
        return None
    if name in _CLIPBOARD:
        return _clipboard(reader, this)
    if name in ("winreg.SetValueEx", "_winreg.SetValueEx", "winreg.SetValue"):
        _registry(reader, this)
        return NOTHING
    if name in ("winreg.OpenKey", "winreg.CreateKey", "winreg.CreateKeyEx", "_winreg.OpenKey", "winreg.OpenKeyEx"):
        return Value(this.arg(1, "sub_key").const, "winreg.key")
    if name in ("ssl._create_unverified_context", "urllib3.disable_warnings"):
        reader.hit("tls-unverified", node)
        return NOTHING
    if name in ("sys.addaudithook", "sys.settrace", "sys.setprofile"):
        reader.hit("hooks-interpreter", node, "info")
        return NOTHING
    return None


def _removed(reader: Reader, this: Call) -> Value:
    target = this.owner if this.name.startswith("pathlib.") else this.arg(0, "path")
    if any(place.what == "shell history" for text in strings(target.const, 5) for place in places(text)):
        reader.hit("hide-traces", this.node, "critical", target.text(), "It removes the history of the shell")
    if is_home(target):
        whole = this.name == "shutil.rmtree" or any(mark.subject == "~" for mark in target.marks)
        if whole:
            reader.hit("wipe-home", this.node, None, target.text()[:80])
    if any(mark.kind in ("place", "folder") and mark.subject in ("~", "~/") for mark in target.marks):
        reader.did.setdefault("removes", this.node.lineno)
    return NOTHING


_CLIPBOARD = words("pyperclip.copy clipboard.copy win32clipboard.SetClipboardText win32clipboard.SetClipboardData")
_WALLET = re.compile(
    r"^(?:bc1[a-z0-9]{25,60}|[13][a-km-zA-HJ-NP-Z1-9]{25,34}|0x[a-fA-F0-9]{40}|T[1-9A-HJ-NP-Za-km-z]{33}"
    r"|4[0-9AB][1-9A-HJ-NP-Za-km-z]{93}|[LM][a-km-zA-HJ-NP-Z1-9]{26,33})$"
)
_WALLET_PATTERN = re.compile(r"0x\[|\bbc1[\[|)]|\[13\]\[|\b4\[0-9AB\]")


def _clipboard(reader: Reader, this: Call) -> Value:
    """Something is put into the clipboard."""
    reader.did.setdefault("copies", this.node.lineno)
    if any(map(_WALLET.match, strings(this.arg(0).const, 20))):
        reader.did.setdefault("wallet", this.node.lineno)
    return NOTHING


def _swaps(reader: Reader, tree: ast.Module, did: dict[str, int]) -> None:
    """A clipboard that is watched for addresses of wallets and given another one."""
    if "wallet" in did or any(_WALLET_PATTERN.search(text[:400]) for _, text in _constants(tree)):
        reader.hit("swaps-clipboard", _at(did["copies"]))


def _forks(reader: Reader, tree: ast.Module) -> None:
    """An endless loop of nothing but new processes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and len(node.body) < 3:
            calls = [inner for inner in ast.walk(node) if isinstance(inner, ast.Call)]
            if calls and all(isinstance(one.func, ast.Attribute) and one.func.attr == "fork" for one in calls):
                reader.hit("fork-bomb", node)


def _memory(reader: Reader, this: Call) -> Value | None:
    if _MEMORY.search(this.name):
        verb = this.verb
        reader.did.setdefault("allocates" if "Alloc" in verb or "rotect" in verb else "starts", this.node.lineno)
        if verb in ("CreateRemoteThread", "WriteProcessMemory"):
            reader.hit("runs-machine-code", this.node)
    return None


def _registry(reader: Reader, this: Call) -> None:
    key = this.arg(0)
    for place in places(key.text().replace("\\\\", "\\")):
        if place.kind == "start":
            program = next((value.text() for value in reversed(this.args) if value.text()), "")
            severity: Severity = "critical" if _STRAY.search(program) else "warn"
            reader.hit("writes-start-file", this.node, severity, key.text(), "It makes a program start with Windows")


def together(reader: Reader, tree: ast.Module, text: str) -> None:
    """What means something only together, looked at when the whole file is read."""
    did = reader.did
    if "spawns" in did and "connects" in did:
        reader.hit("shell-handed-over", _at(did["spawns"]))
    if "allocates" in did and "starts" in did:
        reader.hit("runs-machine-code", _at(did["starts"]))
    if ("encrypts" in did and "removes" in did) or ("encrypts home" in did and "overwrites" in did):
        reader.hit("encrypts-files", _at(did["encrypts"]))
    if "pastes" in did and "copies" in did:
        _swaps(reader, tree, did)
    if "logs away" in did and "logs secrets" in did:
        reader.hit("secret-sent", _at(did["logs secrets"]), None, "", "It logs secrets, and sends its log away")
    if "fork" in text:
        _forks(reader, tree)
    lowered = text.lower()
    if "encrypted" in lowered or "bitcoin" in lowered or "btc" in lowered or "monero" in lowered:
        _notes(reader, tree, did)
    if "stratum+" in lowered or "xmrig" in lowered or "minerd" in lowered or "mining." in lowered:
        _miners(reader, tree)


def _notes(reader: Reader, tree: ast.Module, did: dict[str, int]) -> None:
    for node, value in _constants(tree):
        if len(value) > 20 and _NOTE.search(value[:4000]):
            reader.hit("ransom-note", node, None if "encrypts" in did or "removes" in did else "warn")


def _miners(reader: Reader, tree: ast.Module) -> None:
    running = any(fact.kind in ("execute", "sink") for fact in reader.facts.values())
    for node, value in _constants(tree):
        if _MINER.search(value[:4000]) and running:
            reader.hit("miner", node)
            return


def _constants(tree: ast.Module) -> list[tuple[ast.expr, str]]:
    return [
        (node, node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def _at(line: int) -> ast.AST:
    node = ast.Pass()
    node.lineno = line
    return node
