"""Write what the expressions of the guard need into `src/whet/guard/data/literals.json`; run it after changing one."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from whet.guard.literals import key_of

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from guard.expressions import searched
from guard.needs import derive

TABLE = Path(__file__).parent.parent / "src" / "whet" / "guard" / "data" / "literals.json"


def main() -> int:
    """Derive the needs of every expression that is looked for by them."""
    table = {key_of(regex): [[sorted(need) for need in way] for way in derive(regex)] for regex in searched()}
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(table[key], ensure_ascii=False)}" for key in sorted(table))
    TABLE.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    print(f"{len(table)} expressions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
