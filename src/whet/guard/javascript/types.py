"""TypeScript without its types: annotations become blanks, so that the rest reads as JavaScript on the same lines."""

from __future__ import annotations

import re

_NAME = r"(?:string|number|boolean|any|unknown|void|never|object|undefined|null|[A-Z]\w{0,60}(?:\.[A-Z]\w{0,60}){0,3})"
_GENERIC = r"(?:<[^<>()=;]{0,120}(?:<[^<>()=;]{0,80}>[^<>()=;]{0,40}){0,3}>)?"
_TYPE = rf"{_NAME}{_GENERIC}(?:\[\]){{0,3}}"
_UNION = rf"{_TYPE}(?:\s{{0,4}}[|&]\s{{0,4}}{_TYPE}){{0,8}}"
_DECLARED = re.compile(r"(\b(?:const|let|var)\s{1,9}[\w$]{1,80})(\s{0,4}:[^=;\n]{1,200}?)(?=\s{0,4}=[^=>])")
_PARAMETER = re.compile(rf"([(,]\s{{0,40}}(?:\.\.\.)?[\w$]{{1,80}})(\??\s{{0,4}}:\s{{0,4}}{_UNION})(?=\s{{0,4}}[,)=])")
_RESULT = re.compile(rf"(\))(\s{{0,4}}:\s{{0,4}}{_UNION})(?=\s{{0,4}}(?:=>|\{{))")
_CAST = re.compile(rf"()(\s(?:as|satisfies)\s{{1,4}}(?:const\b|{_UNION}))")
_APPLIED = re.compile(rf"(\w)(<{_UNION}>)(?=\()")
_OPTIONAL = re.compile(r"([\w)\]])(!)(?=[.;,)\[])")


_SHAPE = re.compile(
    r"()(^[ \t]{0,20}(?:export\s{1,4})?(?:declare\s{1,4})?interface\s{1,4}[\w$]{1,80}[^{\n]{0,200}"
    r"\{(?:[^{}]|\{[^{}]{0,1000}\}){0,2000}\})",
    re.MULTILINE,
)
_ALIAS = re.compile(
    r"()(^[ \t]{0,20}(?:export\s{1,4})?(?:declare\s{1,4})?type\s{1,4}[\w$]{1,80}[^=\n]{0,80}=[^;{}]{1,400};)",
    re.MULTILINE,
)
_TYPE_IMPORT = re.compile(r"()(^import\s{1,4}type\s[^;\n]{1,300};?)", re.MULTILINE)
_MODIFIER = re.compile(
    r"([\s(,;{}])((?:public|private|protected|readonly|override|abstract|declare)\s{1,4}"
    r"(?:(?:static|readonly|async)\s{1,4})?)(?=[\w$#]{1,80}\s{0,4}[(?!:=;,)<])"
)
_FIELD = re.compile(
    rf"(^[ \t]{{2,20}}(?:static\s{{1,4}})?[\w$#]{{1,80}})([?!]?\s{{0,4}}:\s{{0,4}}{_UNION})(?=\s{{0,4}}(?:;|=[^>]))",
    re.MULTILINE,
)
_IMPLEMENTS = re.compile(r"(\bclass\s[^{\n]{1,120}?)(\simplements\s[^{\n]{1,200})(?=\{)")
_PARAMETERS = re.compile(r"(\b(?:function|class)\s{0,4}[\w$]{0,80})(<[^<>(){}]{1,120}>)(?=[\s({])")


def untyped(text: str) -> str:
    """The text with what looks like types blanked out; lines and columns stay."""
    for shape in (_TYPE_IMPORT, _SHAPE, _ALIAS, _MODIFIER, _MODIFIER, _FIELD, _IMPLEMENTS, _PARAMETERS):
        text = shape.sub(_blank, text)
    for shape in (_APPLIED, _CAST, _DECLARED, _PARAMETER, _PARAMETER, _RESULT, _OPTIONAL):
        text = shape.sub(_blank, text)
    return text


def _blank(found: re.Match[str]) -> str:
    return found[1] + re.sub(r"[^\n]", " ", found[2])
