"""Other harm: deleting and encrypting what is a person's, staying on the machine, raw memory, shells over sockets."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.places import places
from whet.guard.python.values import words
from whet.guard.tables import api
from whet.guard.taint.harm import is_ransom_note, is_wallet, judge_removed, judge_together, names_miner, names_wallet
from whet.guard.taint.value import NOTHING, Value, strings

if TYPE_CHECKING:
    from whet.guard.finding import Severity
    from whet.guard.python.calls import Call
    from whet.guard.python.reader import Reader

_REMOVE = api("python", "remove")
_MEMORY = expression(
    r"\.(?:VirtualAlloc(?:Ex)?|RtlMoveMemory|CreateRemoteThread|WriteProcessMemory|CreateThread|mprotect|VirtualProtect)$"
)
_STRAY = expression(
    r"[\\/](?:public|temp|tmp|programdata|downloads)[\\/]|%(?:temp|public)%|powershell|mshta|wscript", re.IGNORECASE
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
            reader.hit("shell-handed-over")
        return NOTHING
    if name.startswith("ctypes.") or ".windll." in name:
        return _memory(reader, this)
    if name in _ENCRYPT:
        reader.note("encrypts")
        if any(mark.kind == "secret" and mark.subject in ("~", "~/") for value in this.every() for mark in value.marks):
            reader.note("encrypts home")
        return None
    if name in _CLIPBOARD:
        return _clipboard(reader, this)
    if name in ("winreg.SetValueEx", "_winreg.SetValueEx", "winreg.SetValue"):
        _registry(reader, this)
        return NOTHING
    if name in ("winreg.OpenKey", "winreg.CreateKey", "winreg.CreateKeyEx", "_winreg.OpenKey", "winreg.OpenKeyEx"):
        return Value(this.arg(1, "sub_key").const, "winreg.key")
    if name in ("ssl._create_unverified_context", "urllib3.disable_warnings"):
        reader.hit("tls-unverified")
        return NOTHING
    if name in ("sys.addaudithook", "sys.settrace", "sys.setprofile"):
        reader.hit("hooks-interpreter", "info")
        return NOTHING
    return None


def _removed(reader: Reader, this: Call) -> Value:
    target = this.owner if this.name.startswith("pathlib.") else this.arg(0, "path")
    reader.report(judge_removed(strings(target.const, 5), whole=this.name == "shutil.rmtree"))
    if any(mark.kind == "place" and mark.subject == "~" for mark in target.marks):
        reader.hit("wipe-home", None, target.said[:80])
    if any(mark.kind in ("place", "folder") and mark.subject in ("~", "~/") for mark in target.marks):
        reader.note("removes at home")
    return NOTHING


_CLIPBOARD = words("pyperclip.copy clipboard.copy win32clipboard.SetClipboardText win32clipboard.SetClipboardData")


def _clipboard(reader: Reader, this: Call) -> Value:
    """Something is put into the clipboard."""
    reader.note("copies")
    if any(map(is_wallet, strings(this.arg(0).const, 20))):
        reader.note("wallet")
    return NOTHING


def _forks(reader: Reader, tree: ast.Module) -> None:
    """An endless loop of nothing but new processes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and len(node.body) < 3:
            calls = [inner for inner in ast.walk(node) if isinstance(inner, ast.Call)]
            if calls and all(isinstance(one.func, ast.Attribute) and one.func.attr == "fork" for one in calls):
                reader.line = node.lineno
                reader.hit("fork-bomb")


def _memory(reader: Reader, this: Call) -> Value | None:
    if _MEMORY.search(this.name):
        verb = this.verb
        reader.note("allocates" if "Alloc" in verb or "rotect" in verb else "starts")
        if verb in ("CreateRemoteThread", "WriteProcessMemory"):
            reader.hit("runs-machine-code")
    return None


def _registry(reader: Reader, this: Call) -> None:
    key = this.arg(0)
    for place in places(key.said.replace("\\\\", "\\")):
        if place.kind == "start":
            program = next((value.said for value in reversed(this.args) if value.said), "")
            severity: Severity = "critical" if _STRAY.search(program) else "warn"
            reader.hit("writes-start-file", severity, key.said, "It registers a program to start with Windows")


def together(reader: Reader, tree: ast.Module, text: str) -> None:
    """What means something only together, looked at when the whole file is read."""
    did = reader.did
    if "pastes" in did and "copies" in did and any(names_wallet(said[:400]) for _, said in _constants(tree)):
        did.setdefault("wallet", did["copies"])
    for reader.line, one in judge_together(did):
        reader.report([one])
    if "fork" in text:
        _forks(reader, tree)
    lowered = text.lower()
    if "encrypt" in lowered or "bitcoin" in lowered or "btc" in lowered or "monero" in lowered:
        for reader.line, said in _constants(tree):
            if is_ransom_note(said):
                reader.hit("ransom-note", None if "encrypts" in did or "removes at home" in did else "warn")
    if any(word in lowered for word in ("stratum", "miner", "xmrig", "mining.")):
        running = any(fact.kind in ("execute", "sink") for fact in reader.facts.values()) or "connects" in did
        for reader.line, said in _constants(tree) if running else ():
            if names_miner(said):
                reader.hit("miner")
                return


def _constants(tree: ast.Module) -> list[tuple[int, str]]:
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
