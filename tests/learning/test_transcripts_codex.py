"""Patches of Codex: the change of one file is an edit with its lines, like the edits of other clients."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from whet.learning.transcripts.reader import read_transcript

if TYPE_CHECKING:
    from pathlib import Path

ONE = """*** Begin Patch
*** Update File: app/queue.py
@@ class Queue:
 def drain(self):
-    while self.items:
+    with self._lock:
+        while self.items:
@@
-Lock()
+RLock()
*** End Patch"""
LINES = {
    "path": "app/queue.py",
    "old": "    while self.items:\n…\nLock()",
    "new": "    with self._lock:\n        while self.items:\n…\nRLock()",
}
TWO = ONE.replace("*** End Patch", "*** Delete File: app/old.py\n*** End Patch")
ADDED = "*** Begin Patch\n*** Add File: a.txt\n+one\n+two\n*** End Patch"
GONE = "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch"


@pytest.mark.parametrize(
    ("patch", "tool", "given"),
    [
        (ONE, "Edit", LINES),
        (ONE.replace("\n", "\r\n"), "Edit", LINES),
        (TWO, "Edit", {"path": "app/queue.py", "paths": ["app/queue.py", "app/old.py"], "patch": TWO}),
        (ADDED, "Write", {"path": "a.txt", "content": "one\ntwo\n"}),
        (GONE, "Edit", {"path": "a.txt", "paths": ["a.txt"], "patch": GONE}),
        ("no patch at all", "Edit", {"patch": "no patch at all"}),
    ],
)
def test_a_patch_is_read_as_what_it_does(tmp_path: Path, patch: str, tool: str, given: dict[str, Any]) -> None:
    assert read(tmp_path, type="custom_tool_call", name="apply_patch", call_id="c", input=patch) == (tool, given)


def test_a_patch_in_the_arguments_of_a_function_is_the_same(tmp_path: Path) -> None:
    arguments = json.dumps({"input": ONE})
    assert read(tmp_path, type="function_call", name="apply_patch", call_id="c", arguments=arguments) == ("Edit", LINES)


def read(place: Path, **item: Any) -> tuple[str, dict[str, Any]]:
    """The only call of a session that has this item."""
    records = [
        {"type": "session_meta", "payload": {"id": "s", "cwd": "/srv/app"}},
        {"type": "response_item", "payload": {"type": "message", "role": "user", "content": "Mend the queue."}},
        {"type": "response_item", "payload": item},
    ]
    file = place / "rollout.jsonl"
    file.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    (call,) = (event for event in read_transcript(str(file), client="codex").events if event.kind == "call")
    return call.tool, dict(call.given)
