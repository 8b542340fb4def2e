"""What a written file is shown as: code as it is, data by its shape only, since data is what differs the next time."""

from __future__ import annotations

import re
from typing import Any

_CODE = {
    "py": "python", "sh": "bash", "bash": "bash", "js": "javascript", "mjs": "javascript", "ts": "typescript",
    "tsx": "tsx", "jsx": "jsx", "sql": "sql", "rb": "ruby", "go": "go", "rs": "rust", "java": "java", "kt": "kotlin",
    "c": "c", "cpp": "cpp", "h": "c", "cs": "csharp", "php": "php", "r": "r", "jl": "julia", "lua": "lua",
    "ps1": "powershell", "yaml": "yaml", "yml": "yaml", "toml": "toml", "tf": "hcl", "css": "css", "scss": "scss",
    "html": "html", "vue": "vue", "svelte": "svelte", "proto": "protobuf", "ini": "ini", "cfg": "ini", "diff": "diff",
    "patch": "diff", "swift": "swift", "scala": "scala", "pl": "perl", "dockerfile": "dockerfile", "makefile": "make",
}  # fmt: skip
_WHOLE = 60
"""Lines of a file that are shown as they are."""
_SIGNATURE = re.compile(
    r"\s{0,8}(?:@\w|(?:export |pub(?:\(\w+\))? |public |private |protected |static |async |abstract |final |default )*"
    r"(?:def|class|func|function|fn|interface|type|struct|enum|trait|impl|module|package|resource|CREATE|ALTER"
    r"|describe|it|test)\b)"
)
_DEPTH = 4
_KEYS = 24


def language_of(path: str) -> str:
    """What a file is written in, for the fence around it; empty for data and prose."""
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    return _CODE.get(name.rpartition(".")[2], "")


def outline(path: str, content: str) -> tuple[str, str]:
    """What to show of a file that was written, and its language."""
    language = language_of(path)
    if language:
        return content.strip("\n"), language
    end = path.rpartition(".")[2].lower()
    if end in ("json", "jsonl", "ipynb") and len(content) < 200_000:
        shape = _json_shape(content.split("\n", maxsplit=1)[0] if end == "jsonl" else content)
        return (shape, "json") if shape else ("", "")
    if end in ("csv", "tsv"):
        header = content.split("\n", maxsplit=1)[0]
        return (header[:500], "") if re.search(r"[A-Za-z]{2}", header) else ("", "")
    if end in ("md", "rst"):
        headings = [line for line in content.split("\n") if re.match(r"#{1,3} \S", line)]
        return "\n".join(headings[:20]), ""
    return "", ""


def signatures(text: str) -> str:
    """Of a long file what it defines; of one that defines nothing the beginning."""
    lines = text.split("\n")
    if len(lines) <= _WHOLE:
        return text
    told = [line for line in lines if _SIGNATURE.match(line)][:_WHOLE]
    return "\n".join(told if len(told) > 1 else [*lines[: _WHOLE // 4], "…"])


def _json_shape(content: str) -> str:
    import json

    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    return json.dumps(_shape(value, 0), indent=1, ensure_ascii=False) if isinstance(value, dict | list) else ""


def _shape(value: Any, depth: int) -> Any:
    """The keys of a value, with what sort of thing each holds."""
    if isinstance(value, dict):
        return (
            {str(key)[:60]: _shape(one, depth + 1) for key, one in list(value.items())[:_KEYS]}
            if depth < _DEPTH
            else "…"
        )
    if isinstance(value, list):
        return [_shape(value[0], depth + 1), "…"][: len(value)] if value and depth < _DEPTH else []
    if isinstance(value, bool) or value is None:
        return value
    return 0 if isinstance(value, int | float) else "…"
