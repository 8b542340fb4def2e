"""Media types of the files that skills have, told from their names alone, the same on every machine."""

from __future__ import annotations

import posixpath

MARKDOWN = "text/markdown"
JSON = "application/json"
TEXT = "text/plain"
BINARY = "application/octet-stream"
DIRECTORY = "inode/directory"

_BY_EXTENSION = {
    "bash": "application/x-sh",
    "bat": TEXT,
    "bmp": "image/bmp",
    "c": "text/x-c",
    "cfg": TEXT,
    "cpp": "text/x-c",
    "cs": "text/x-csharp",
    "css": "text/css",
    "csv": "text/csv",
    "diff": "text/x-diff",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "gif": "image/gif",
    "go": "text/x-go",
    "gz": "application/gzip",
    "h": "text/x-c",
    "htm": "text/html",
    "html": "text/html",
    "ini": TEXT,
    "ipynb": "application/x-ipynb+json",
    "java": "text/x-java",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "js": "text/javascript",
    "json": JSON,
    "jsonl": "application/jsonl",
    "jsx": "text/javascript",
    "kt": "text/x-kotlin",
    "log": TEXT,
    "lua": "text/x-lua",
    "md": MARKDOWN,
    "markdown": MARKDOWN,
    "mdx": MARKDOWN,
    "mjs": "text/javascript",
    "mp3": "audio/mpeg",
    "mp4": "video/mp4",
    "otf": "font/otf",
    "patch": "text/x-diff",
    "pdf": "application/pdf",
    "php": "text/x-php",
    "png": "image/png",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "ps1": TEXT,
    "py": "text/x-python",
    "r": "text/x-r",
    "rb": "text/x-ruby",
    "rs": "text/x-rust",
    "rst": "text/x-rst",
    "sh": "application/x-sh",
    "skill": "application/zip",
    "sql": "application/sql",
    "svg": "image/svg+xml",
    "swift": "text/x-swift",
    "tar": "application/x-tar",
    "tex": "text/x-tex",
    "tmpl": TEXT,
    "toml": "application/toml",
    "ts": "text/x-typescript",
    "tsv": "text/tab-separated-values",
    "tsx": "text/x-typescript",
    "ttf": "font/ttf",
    "txt": TEXT,
    "wasm": "application/wasm",
    "wav": "audio/wav",
    "webp": "image/webp",
    "woff": "font/woff",
    "woff2": "font/woff2",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "xml": "application/xml",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "zip": "application/zip",
    "zsh": "application/x-sh",
}
_TEXT_NAMES = frozenset(("authors", "changelog", "dockerfile", "license", "makefile", "notice", "readme", "version"))


def media_type(path: str) -> str:
    """The media type of a file of that name; `application/octet-stream` where the name does not tell."""
    name = posixpath.basename(path).lower()
    stem, dot, extension = name.rpartition(".")
    if dot and stem:
        return _BY_EXTENSION.get(extension, BINARY)
    return TEXT if name in _TEXT_NAMES else BINARY
