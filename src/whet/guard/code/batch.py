"""Scripts of cmd as shell scripts in the same lines, and programs of Windows as those of a shell that do the same."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.tables import load_toml, words
from whet.guard.taint.secret import secret_key

if TYPE_CHECKING:
    from collections.abc import Sequence

Part = int | str | tuple[int, int]
"""A word of a program: one of the old words by its number, a new one, or a directory and a file in it."""

_LABEL = expression(r"[ \t]{0,40}:(?!:)[ \t]{0,9}([\w.-]{1,80})")
_CALLED = expression(r"\b(?:call[ \t]{1,9}:|goto[ \t]{1,9}:?[ \t]{0,9})(?!eof\b)([\w.-]{1,80})", re.IGNORECASE)
_COMMENT = expression(r"[ \t]{0,40}@?[ \t]{0,9}(?:rem\b|::)", re.IGNORECASE)
_VALUES = expression(
    r"%%(?:~[a-z]{0,9}(?=[a-z]))?(?P<item>[a-z])(?![a-z])|(?P<folder>%~[a-z]{0,4}[dp]{1,2}0)|%~?(?:[a-z]{0,9}(?=\d))?(?P<given>\d)|%(?P<all>\*)"
    r"|!(?:%%~?(?P<named>[a-z])|(?P<late>[a-z_]\w{0,60})(?::[^!\n]{0,100})?)!|%(?P<name>\w{1,60})(?::[^%\n]{0,100})?%",
    re.IGNORECASE,
)
_IF = expression(
    r"if[ \t]{1,9}(?:/i[ \t]{1,9})?(?:not[ \t]{1,9})?(?:exist[ \t]{1,9}(?:\"[^\"\n]{0,300}\"|[^\s()]{1,300})|defined[ \t]{1,9}\S{1,80}|errorlevel[ \t]{1,9}\d{1,5}"
    r"|(?:\"[^\"\n]{0,300}\"|[^\s=()]{1,300}?)[ \t]{0,9}(?:==|equ\b|neq\b|lss\b|leq\b|gtr\b|geq\b)[ \t]{0,9}(?:\"[^\"\n]{0,300}\"|[^\s()]{1,300}))[ \t]{0,9}",
    re.IGNORECASE,
)
_ELSE = expression(r"else\b[ \t]{0,9}(?!if\b)", re.IGNORECASE)
_FOR = expression(
    r"for[ \t]{1,9}(?P<way>/[a-z])?[ \t]{0,9}(?:(?P<how>\"[^\"\n]{0,300}\"|[^\s%$(]{1,300})[ \t]{1,9})?\$\{(?P<name>[a-z])\}[ \t]{1,9}in[ \t]{0,9}"
    r"\((?P<what>(?:\"[^\"\n]{0,1000}\"|'[^'\n]{0,1000}'|[^)\"'\n]){0,1000})\)[ \t]{0,9}do[ \t]{0,9}",
    re.IGNORECASE,
)
_SET = expression(r"(?:/a[ \t]{1,9})?\"?(\w{1,60})[ \t]{0,4}[-+*/]?=([^\n]{0,4000})", re.IGNORECASE)
_READ = expression(r"/p[ \t]{1,9}\"?(\w{1,60})=[^<\n]{0,300}(<[^\n]{1,300})?", re.IGNORECASE)
_OPTION = expression(r"(?:-|//?)[a-z][\w+-]{0,30}(?::.*)?$", re.IGNORECASE)
_STARTED = expression(
    r"(?:[ \t]{0,9}(?:\"[^\"\n]{0,200}\"(?=[ \t]{1,9}[\"/\w.$])|/(?:b|wait|min|max|d[ \t]{1,9}\S{1,200}|i|high|low)\b)){0,6}[ \t]{0,9}",
    re.IGNORECASE,
)
_PIECE = expression(r"\"[^\"\n]{0,4000}\"?|&&|\|\||[&|()]|(?:\^.|[^\"&|()\n^])+|\^")
_WORD = expression(r"(?:\"[^\"\n]{0,2000}\"?|[^\s\"]){1,200}")
_MERGED = expression(r"[12]?>&[12]")
_REDIRECT = expression(
    r"(?P<quoted>\"[^\"\n]{0,4000}\")|(?:(?<![\w$}])(?P<number>[12]))?(?P<sign>>>?)[ \t]{0,4}(?P<place>&[12]|(?:\"[^\"\n]{0,300}\"|[^\s\"]){1,300})"
)
_GREATER = "\ue000"
"""Stands for `>` after a caret, which is none of a redirection."""
_SETS = expression(
    r"(?<![\w%./\\-])set[ \t]{1,9}(?:\"(\w{1,60})=([^\"\n]{0,1000})\"|(?:/[pa][ \t]{1,9}\"?)?(\w{1,60})=([^&|\n)]{0,1000}))",
    re.IGNORECASE,
)
_USES = expression(r"([%!])(\w{1,60})(?::(?:~(-?\d{1,4})(?:,(-?\d{1,4}))?|([^=%!\n]{1,60})=([^%!\n]{0,60})))?\1")
_LISTED = expression(
    r"for[ \t]{1,9}%%(?P<name>[a-z])[ \t]{1,9}in[ \t]{0,9}\((?P<what>[^()%!*?\"'/\n]{1,200})\)[ \t]{0,9}do[ \t]{1,9}(?!\()(?P<body>[^\n]{1,1000})$",
    re.IGNORECASE,
)
_UNKNOWN = expression(r"%%|!|%\d|%\*")
"""What is only known when a script runs."""
_GROWTH = 1
"""How much longer a script may become by the values that are written into it: so many times its length, and a little more."""


def expanded(text: str, *, sure: bool = False) -> str:
    """Return a script of cmd with the known values of its variables, and with loops over fixed words written out.

    A variable has the value that is set last above a line, although the script may jump; with `sure`, only variables that are
    set once, and that are no secrets of the environment, have a value.
    """
    values: dict[str, str] = {}
    names = [(found[1] or found[3]).lower() for found in _SETS.finditer(text)] if sure else []
    several = {name for name in names if names.count(name) > 1 or len(names) > _MOST_NAMES or secret_key(name.upper())}
    room = _GROWTH * len(text) + 10_000

    def value(found: re.Match[str]) -> str:
        known = values.get(found[2].lower())
        if known is None or found[2].lower() in several:
            return found[0]
        if found[3]:
            start, length = int(found[3]), int(found[4]) if found[4] else None
            known = known[start:]
            return known if length is None else known[:length]
        if found[5]:
            return re.sub(re.escape(found[5]), lambda _: found[6], known, flags=re.IGNORECASE)
        return known

    rows: list[str] = []
    for row in text.split("\n"):
        new = _USES.sub(value, row) if room > 0 and values and ("%" in row or "!" in row) else row
        if (loop := _LISTED.search(new)) is not None and room > 0:
            named = re.compile(rf"%%~?{loop['name']}", re.IGNORECASE)
            bodies = [named.sub(lambda _, word=word: word, loop["body"]) for word in loop["what"].split()[:_MOST_WORDS]]
            new = new[: loop.start()] + " & ".join(bodies)
        room -= len(new) - len(row)
        for found in _SETS.finditer(new) if not _COMMENT.match(new) else ():
            name, said = (found[1] or found[3]).lower(), (found[2] if found[1] else found[4]).strip()
            if _UNKNOWN.search(said) or "/" in found[0].partition("=")[0]:
                values.pop(name, None)
            else:
                values[name] = said[:1000]
        rows.append(new)
    return "\n".join(rows)


_MOST_WORDS, _MOST_NAMES = 12, 500


def as_shell(text: str) -> str:
    """Return a script of cmd as a shell script in the same lines."""
    return _Script(frozenset(name.lower() for name in _CALLED.findall(text))).translate(text)


class _Script:
    """The state of translating one script."""

    def __init__(self, called: frozenset[str]) -> None:
        self.called = called
        """The labels that the script calls or goes to, which are functions."""
        self.open: list[str] = []
        """What each open bracket ends with in a shell."""
        self.inside = False
        """Whether the line is in a function."""
        self.shares: dict[str, str] = {}
        """The shares of other machines, by the drive or variable that stands for them."""

    def translate(self, text: str) -> str:
        """Return the script as a shell script."""
        rows: list[str] = []
        for row in re.sub(r"\^\n", f" {_CUT}", text.replace(_CUT, " ")).split("\n"):
            rows += (self.row(row.replace(_CUT, "")), *[""] * row.count(_CUT))
        return "\n".join(rows) + " ; }" * self.inside

    def row(self, row: str) -> str:
        """Return a line as a line of a shell."""
        if _COMMENT.match(row):
            return ""
        if (label := _LABEL.match(row)) is not None:
            if label[1].lower() not in self.called:
                return ""
            begin = "} ; " if self.inside else ""
            self.inside = True
            return f"{begin}{_function(label[1])}() {{"
        row = _VALUES.sub(_value, _MERGED.sub("", row.replace("\\", "/")))
        for name, share in self.shares.items():
            row = row.replace(name, share)
        return self.commands(row)

    def commands(self, row: str) -> str:
        """Return the commands of a line."""
        done: list[str] = []
        left, loops = row.strip().lstrip("@ \t"), 0
        while left:
            if (found := _IF.match(left) or _ELSE.match(left)) is not None:
                left = left[found.end() :]
                done.append("if true; then" if left.startswith("(") else "true &&")
                if left.startswith("("):
                    self.open.append("fi")
                    left = left[1:]
            elif (found := _FOR.match(left)) is not None:
                done.append(self.loop(found))
                left = left[found.end() :]
                if left.startswith("("):
                    self.open.append("done")
                    left = left[1:]
                else:
                    loops += 1
            elif left[0] in "()":
                if left[0] == "(":
                    self.open.append("")
                elif self.open:
                    done.append(self.open.pop())
                left = left[1:]
            else:
                command, sign, left = self.command(left)
                done.append(command)
                done += (sign,) if sign in ("|", "&&", "||") else ()
            left = left.lstrip(" \t@")
        done += ["done"] * loops
        line = ""
        for one in filter(None, done):
            glue = (
                ""
                if not line
                else " "
                if one in ("|", "&&", "||") or line.endswith(("|", "&&", "do", "then"))
                else " ; "
            )
            line += glue + one
        return line

    def command(self, text: str) -> tuple[str, str, str]:
        """Return the first command of a text, the sign after it, and the rest."""
        said, at, sign = "", 0, ""
        while at < len(text) and (found := _PIECE.match(text, at)) is not None:
            at = found.end()
            if found[0] in ("&", "&&", "|", "||") or (found[0] == ")" and self.open and "(" not in said):
                sign = found[0]
                at -= sign == ")"
                break
            plain = found[0].replace("^>", _GREATER)
            said += re.sub(r"\^(.)", r"\1", plain) if found[0][0] != '"' else found[0]
        else:
            at = max(at, 1)
        return self.simple(said.strip()), "" if sign == ")" else sign, text[at:]

    def simple(self, text: str) -> str:
        """Return one command as a command of a shell."""
        redirects = [
            (found["number"] or "", found["sign"], "/dev/null" if found["place"].lower() == "nul" else found["place"])
            for found in _REDIRECT.finditer(text)
            if not found["quoted"]
        ]
        bare = _REDIRECT.sub(lambda found: found["quoted"] or "", text).strip().replace(_GREATER, ">")
        ends = "".join(f" {number}{sign} {place}" for number, sign, place in redirects)
        name, _, rest = bare.partition(" ")
        name, rest = name.strip('"').lower().removesuffix(".exe"), rest.strip()
        if name in ("call", "goto") and (label := rest.lstrip(": ").partition(" ")[0].lower()) in self.called:
            return self.simple(f"{_function(label)} {rest.lstrip(': ')[len(label) :]}{ends}")
        if not name or name in words("powershell", "silent"):
            return ":" if not ends else f":{ends}"
        if name == "set":
            return self.assignment(rest) + (ends if "=" not in rest else "")
        if name == "call":
            return self.simple(rest + ends)
        if name == "start":
            return self.simple(_STARTED.sub("", rest, count=1) + ends)
        if name.startswith("echo"):
            said = re.sub(r'(["`])', r"\\\1", f"{name[5:]} {rest}".strip())
            return f'echo "{said}"{ends}'
        if (
            name == "net"
            and (drive := re.match(r"use[ \t]{1,9}(\w:|\*)?[ \t]{0,9}\"?(//[^\s\"]{3,200})", rest, re.IGNORECASE))
            is not None
            and drive[1]
        ):
            self.shares[drive[1]] = drive[2]
        given = _WORD.findall(bare)
        given[0] = name if given[0].isascii() and not set(given[0]) & {"/", "$", '"'} else given[0]
        commands = [
            " ".join(_spelled(part, given) for part in one) for one in rearranged([one.strip('"') for one in given])
        ]
        return " ; ".join(commands or [" ".join(given)]) + ends

    def loop(self, found: re.Match[str]) -> str:
        """Return the head of a loop, whose items may be several parts of a line."""
        what, name, how = found["what"].strip(), found["name"], (found["how"] or "").lower()
        if (found["way"] or "").lower() == "/f":
            command = what[:1] == "'" if "usebackq" not in how else what[:1] == "`"
            text = what[:1] == '"' if "usebackq" not in how else what[:1] == "'"
            if command:
                inner = " | ".join(self.simple(one.strip()) for one in what[1:-1].replace("^", "").split("|"))
                what = f"$({inner})"
            else:
                what = what if text else f"$(cat {what})"
        more = " ; ".join(f'{chr(ord(name) + step)}="${{{name}}}"' for step in (1, 2) if _SEVERAL.search(how))
        return f"for {name} in {what}; do {more}".rstrip()

    def assignment(self, text: str) -> str:
        """Return an assignment, or the command that shows variables."""
        if "=" not in text:
            return f"env | grep {text}" if text else "env"
        if (read := _READ.match(text)) is not None:
            return f"read {read[1]} {read[2] or ''}"
        found = _SET.match(text)
        if found is None:
            return ":"
        value = found[2].strip().removesuffix('"') if text.lstrip().startswith('"') else found[2].strip()
        if value.startswith("//"):
            self.shares[f"${{{found[1]}}}"] = value
        return '{}="{}"'.format(found[1], value.replace('"', '\\"'))


_CUT = "\v"
_SEVERAL = expression(r"tokens=\S{0,20}[,*-]")


def _function(label: str) -> str:
    return f"to_{label.lower()}"


def _value(found: re.Match[str]) -> str:
    """Return how a shell writes a value."""
    if found["folder"]:
        return "./"
    name = found["item"] or found["given"] or found["late"] or found["name"]
    if found["named"]:
        return f"${{!{found['named']}}}"
    if found["name"] and (text := load_toml("keys")["homes"].get(name.upper())) is not None:
        return str(text).replace("~", "${HOME}")
    return f"${{{name}}}" if name else "$@"


def _spelled(part: Part, given: Sequence[str]) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, int):
        return given[part]
    return '"{}/{}"'.format(*(given[one].strip('"') for one in part))


_SAME: dict[str, list[Part]] = {
    "type": ["cat"], "cd": ["cd"], "chdir": ["cd"], "pushd": ["cd"], "md": ["mkdir", "-p"], "mkdir": ["mkdir", "-p"],
}  # fmt: skip
"""Programs that differ from those of a shell by their names only."""


def rearranged(given: Sequence[str]) -> list[list[Part]]:
    """Return the commands of a shell that do what a program of Windows does; nothing if it is not known."""
    name = given[0].lower().rpartition("/")[2].removesuffix(".exe")
    flags = {one.lower().lstrip("-/").partition(":")[0] for one in given[1:] if _OPTION.match(one)}
    at: list[int] = []
    for number, one in enumerate(given):
        if number and one.lower() in ("/xd", "/xf"):
            break
        if number and not _OPTION.match(one):
            at.append(number)
    match name:
        case "certutil" if "urlcache" in flags and at:
            return [["curl", "-o", at[-1], at[0]] if len(at) > 1 else ["curl", "-O", at[0]]]
        case "certutil" if flags & {"decode", "decodehex", "encode"} and len(at) > 1:
            way: list[Part] = [] if "encode" in flags else ["-d"]
            return [["openssl", "base64", *way, "-in", at[0], "-out", at[1]]]
        case "bitsadmin" if "transfer" in flags and len(at) > 1:
            return [["curl", "-T" if "upload" in flags else "-o", at[-1], at[-2]]]
        case "robocopy" | "xcopy" | "copy" | "move" if len(at) > 1:
            return _copied(name, given, flags, at)
        case "del" | "erase" | "rd" | "rmdir" if at:
            return [["rm", "-rf" if "s" in flags else "-f", *at]]
        case _ if name in _SAME and at:
            return [[*_SAME[name], *at]]
        case "dir" if at and "s" in flags:
            places = [(folder or ".", name or "*") for folder, _, name in (given[one].rpartition("/") for one in at)]
            return [["find", f'"{folder}"', "-name", f'"{name}"'] for folder, name in places]
        case "ftp" if "s" in flags:
            scripts = [one[3:].strip('"') for one in given[1:] if one[1:3].lower() == "s:"]
            return [["ftp", "-n", *at, "<", f'"{one}"'] for one in scripts]
        case "msiexec" | "regsvr32" | "wscript" | "cscript" | "mshta" | "installutil" | "rundll32" if (
            at and "://" not in given[at[0]]
        ):
            return [["sh", at[0]]]
        case _:
            return []


def _copied(name: str, given: Sequence[str], flags: set[str], at: list[int]) -> list[list[Part]]:
    """Return the commands that copy files, perhaps to another machine."""
    source, target, *files = at
    if "+" in given[source] and name == "copy":
        return [["cat", *given[source].split("+"), ">", target]]
    several: list[Part] = [(source, one) for one in files] if name == "robocopy" and files else [source]
    found: list[list[Part]] = [
        ["mv" if name == "move" else "cp", *([] if name in ("copy", "move") else ["-r"]), *several, target]
    ]
    return [["rm", "-rf", target], *found] if flags & {"mir", "purge"} else found
