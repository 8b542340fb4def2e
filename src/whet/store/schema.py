"""The tables of `state.db` and `cache.db`: a list of numbered migrations each, to which every room contributes.

A released migration is never edited; a change is a new one at the end. The number of the last migration of a file is
its version.
"""

from __future__ import annotations

from whet.records import NamedTuple
from whet.store.database import Schema
from whet.store.home import LOGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable


class Migration(NamedTuple):
    """A step from an older to a newer file."""

    number: int
    room: str
    """The room that owns the tables."""
    sql: str
    convert: Callable[[sqlite3.Connection, str], None] | None = None
    """Changes existing rows where SQL alone cannot; in the same transaction."""


def _adopt(connection: sqlite3.Connection, directory: str, number: int) -> list[str]:
    from whet.store.former import adopt

    return adopt(connection, directory, number)


def _convert_ledger(connection: sqlite3.Connection, _directory: str) -> None:
    from whet.store.former import convert_ledger

    convert_ledger(connection)


def _convert_trees(connection: sqlite3.Connection, directory: str) -> None:
    from whet.store.former import convert_trees

    convert_trees(connection, directory)


def _write_logs(connection: sqlite3.Connection, directory: str) -> None:
    from whet.store.former import write_logs

    write_logs(connection, directory)


def _drop_caches(_connection: sqlite3.Connection, directory: str, _number: int) -> list[str]:
    from whet.store.former import drop_caches

    drop_caches(directory)
    return []


STATE_MIGRATIONS = (
    Migration(
        1,
        "library",
        """
        CREATE TABLE trusted (identity TEXT PRIMARY KEY, path TEXT NOT NULL, since INTEGER NOT NULL);
        CREATE TABLE disabled (
            name TEXT NOT NULL, surface TEXT NOT NULL, since INTEGER NOT NULL, PRIMARY KEY (name, surface));
        """,
    ),
    Migration(
        2,
        "learning",
        """
        CREATE TABLE pins (name TEXT PRIMARY KEY, reason TEXT NOT NULL, since INTEGER NOT NULL);
        CREATE TABLE lifecycle (path TEXT PRIMARY KEY, state TEXT NOT NULL, since INTEGER NOT NULL);
        CREATE TABLE curator (key TEXT PRIMARY KEY, value TEXT NOT NULL);
        """,
    ),
    Migration(
        3,
        "library",
        """
        CREATE TABLE blocked (path TEXT PRIMARY KEY, reason TEXT NOT NULL, since INTEGER NOT NULL);
        """,
    ),
    Migration(
        4,
        "authoring",
        """
        CREATE TABLE trees (digest TEXT PRIMARY KEY, manifest TEXT NOT NULL, kept INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE journal (
            id INTEGER PRIMARY KEY, time INTEGER NOT NULL, actor TEXT NOT NULL, origin TEXT NOT NULL,
            action TEXT NOT NULL, skill TEXT NOT NULL, path TEXT NOT NULL, reason TEXT NOT NULL, before TEXT NOT NULL,
            after TEXT NOT NULL, checked TEXT NOT NULL, run TEXT NOT NULL, lineage TEXT NOT NULL,
            previous TEXT NOT NULL, hash TEXT NOT NULL UNIQUE
        );
        CREATE INDEX journal_by_path ON journal (path, id);
        CREATE INDEX journal_by_skill ON journal (skill, id);
        CREATE INDEX journal_by_run ON journal (run, id);
        CREATE TABLE intents (id TEXT PRIMARY KEY, time INTEGER NOT NULL, changes TEXT NOT NULL) WITHOUT ROWID;
        CREATE TABLE proposals (
            id INTEGER PRIMARY KEY, time INTEGER NOT NULL, actor TEXT NOT NULL, origin TEXT NOT NULL,
            reason TEXT NOT NULL, cause TEXT NOT NULL, changes TEXT NOT NULL, state TEXT NOT NULL,
            decided INTEGER NOT NULL, remark TEXT NOT NULL
        );
        CREATE TABLE retained (path TEXT, digest TEXT, PRIMARY KEY (path, digest)) WITHOUT ROWID;
        """,
    ),
    Migration(
        5,
        "guard",
        """
        CREATE TABLE audit (
            id INTEGER PRIMARY KEY, time INTEGER NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL,
            skill TEXT NOT NULL, path TEXT NOT NULL, digest TEXT NOT NULL, trust TEXT NOT NULL, verdict TEXT NOT NULL,
            decision TEXT NOT NULL, reason TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL UNIQUE
        );
        CREATE INDEX audit_by_digest ON audit (digest, id);
        CREATE INDEX audit_by_path ON audit (path, id);
        """,
    ),
    Migration(
        6,
        "sources",
        """
        CREATE TABLE installs (
            id INTEGER PRIMARY KEY, time INTEGER NOT NULL, lock TEXT NOT NULL, path TEXT NOT NULL, run TEXT NOT NULL,
            entry TEXT, digest TEXT NOT NULL, journal INTEGER NOT NULL, state TEXT NOT NULL
        );
        CREATE INDEX installs_by_path ON installs (lock, path, id);
        CREATE INDEX installs_by_state ON installs (state, lock);
        CREATE TABLE followed (lock TEXT PRIMARY KEY, journal INTEGER NOT NULL) WITHOUT ROWID;
        """,
    ),
    Migration(
        7,
        "routing",
        """
        CREATE TABLE feedback (
            id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, skill TEXT NOT NULL, message TEXT NOT NULL,
            normal TEXT NOT NULL, fits INTEGER NOT NULL, origin TEXT NOT NULL, UNIQUE (skill, normal)
        );
        """,
    ),
    Migration(
        8,
        "learning",
        """
        CREATE TABLE sessions (
            client TEXT NOT NULL, id TEXT NOT NULL, project TEXT NOT NULL, transcript TEXT NOT NULL,
            first INTEGER NOT NULL, last INTEGER NOT NULL, prompts INTEGER NOT NULL DEFAULT 0,
            tools INTEGER NOT NULL DEFAULT 0, errors INTEGER NOT NULL DEFAULT 0, recoveries INTEGER NOT NULL DEFAULT 0,
            corrections INTEGER NOT NULL DEFAULT 0, failing INTEGER NOT NULL DEFAULT 0, hard INTEGER NOT NULL DEFAULT 0,
            ended INTEGER NOT NULL DEFAULT 0, learned INTEGER NOT NULL DEFAULT 0, mark INTEGER NOT NULL DEFAULT 0,
            state TEXT, pending TEXT, later INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (client, id)
        );
        CREATE INDEX sessions_last ON sessions (last);
        CREATE TABLE hook_failures (
            id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, client TEXT NOT NULL, event TEXT NOT NULL,
            code TEXT NOT NULL, message TEXT NOT NULL
        );
        """,
    ),
    Migration(
        9,
        "learning",
        """
        CREATE TABLE usage_counts (
            skill BLOB NOT NULL, digest BLOB NOT NULL, version BLOB NOT NULL, views INTEGER NOT NULL,
            uses INTEGER NOT NULL, patches INTEGER NOT NULL, helped INTEGER NOT NULL, failed INTEGER NOT NULL,
            corrected INTEGER NOT NULL, first INTEGER NOT NULL, last_used INTEGER NOT NULL,
            last_viewed INTEGER NOT NULL, last INTEGER NOT NULL, UNIQUE (skill, digest)
        );
        CREATE TABLE usage_segments (number INTEGER PRIMARY KEY, segment TEXT NOT NULL UNIQUE);
        CREATE TABLE usage_damage (number INTEGER PRIMARY KEY, lines INTEGER NOT NULL, last INTEGER NOT NULL);
        CREATE TABLE usage_imports (
            skill BLOB NOT NULL, created BLOB NOT NULL, views INTEGER NOT NULL, uses INTEGER NOT NULL,
            patches INTEGER NOT NULL, UNIQUE (skill, created)
        );
        """,
    ),
    Migration(
        10,
        "sources",
        """
        CREATE TABLE taps (name TEXT PRIMARY KEY, source TEXT NOT NULL, added TEXT NOT NULL);
        CREATE TABLE removed_taps (name TEXT PRIMARY KEY);
        CREATE TABLE synced (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, entry TEXT NOT NULL);
        """,
    ),
    Migration(
        11,
        "learning",
        """
        CREATE TABLE learning (key TEXT PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE distillations (
            number INTEGER PRIMARY KEY AUTOINCREMENT, collection TEXT NOT NULL, id TEXT NOT NULL, time INTEGER NOT NULL,
            content TEXT NOT NULL, UNIQUE (collection, id)
        );
        CREATE TABLE rejected_edits (
            number INTEGER PRIMARY KEY AUTOINCREMENT, skill TEXT NOT NULL, digest TEXT NOT NULL, content TEXT NOT NULL,
            UNIQUE (skill, digest)
        );
        """,
    ),
    Migration(
        12,
        "store",
        """
        ALTER TABLE intents RENAME TO edits;
        CREATE TABLE intents (
            number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, time INTEGER NOT NULL, kind TEXT NOT NULL,
            payload TEXT NOT NULL
        );
        INSERT INTO intents (id, time, kind, payload)
            SELECT id, time, 'edit', '{"notes": ' || changes || '}' FROM edits ORDER BY time, id;
        DROP TABLE edits;
        """,
    ),
    Migration(
        13,
        "sources",
        """
        DROP INDEX installs_by_path;
        DROP INDEX installs_by_state;
        ALTER TABLE installs RENAME TO ledger;
        CREATE TABLE installs (
            id INTEGER PRIMARY KEY, time INTEGER NOT NULL, lock TEXT NOT NULL, path TEXT NOT NULL,
            journal INTEGER NOT NULL, entry TEXT, digest TEXT NOT NULL
        );
        CREATE INDEX installs_by_path ON installs (lock, path, id);
        DROP TABLE followed;
        """,
        _convert_ledger,
    ),
    Migration(
        14,
        "learning",
        """
        ALTER TABLE distillations RENAME TO collections;
        CREATE TABLE distillations (
            number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, time INTEGER NOT NULL,
            content TEXT NOT NULL
        );
        INSERT OR IGNORE INTO distillations (number, id, time, content)
            SELECT number, id, time, content FROM collections ORDER BY number;
        DROP TABLE collections;
        """,
    ),
    Migration(
        15,
        "interfaces",
        """
        CREATE TABLE connections (id TEXT PRIMARY KEY, record TEXT NOT NULL);
        """,
    ),
    Migration(16, "authoring", "", _convert_trees),
    Migration(17, "guard", "ALTER TABLE audit ADD COLUMN journal TEXT NOT NULL DEFAULT '';", _write_logs),
    Migration(18, "authoring", "ALTER TABLE journal ADD COLUMN modes TEXT NOT NULL DEFAULT '';"),
    Migration(19, "store", "CREATE TABLE counts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"),
    Migration(
        20,
        "sources",
        """
        CREATE TABLE sightings (
            source TEXT NOT NULL, revision TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
            PRIMARY KEY (source, revision)
        ) WITHOUT ROWID;
        """,
    ),
    Migration(21, "sources", "CREATE TABLE updates (checked INTEGER NOT NULL, news TEXT NOT NULL);"),
    Migration(22, "learning", "ALTER TABLE sessions ADD COLUMN limits TEXT;"),
    Migration(
        23,
        "library",
        """
        CREATE TABLE listed (
            name TEXT NOT NULL, project TEXT NOT NULL, mode TEXT NOT NULL, since INTEGER NOT NULL,
            PRIMARY KEY (name, project)
        ) WITHOUT ROWID;
        """,
    ),
    # One name for a client. Values are JSON, so a quoted key and value match nothing else.
    Migration(
        24,
        "sources",
        """
        UPDATE synced SET entry = replace(entry, '"client": "claude"', '"client": "claude-code"') WHERE kind = 'made';
        UPDATE intents SET payload = replace(payload, '"client": "claude"', '"client": "claude-code"')
            WHERE kind = 'sync';
        UPDATE intents SET payload = replace(payload, '"claude"', '"claude-code"')
            WHERE kind = 'sync' AND payload LIKE '%"undo": [%';
        """,
    ),
    Migration(
        25,
        "sources",
        """
        CREATE TABLE hub_logs (
            location TEXT PRIMARY KEY, key TEXT NOT NULL, checkpoint TEXT NOT NULL, chosen INTEGER NOT NULL
        ) WITHOUT ROWID;
        """,
    ),
    Migration(
        26,
        "library",
        """
        CREATE TABLE in_use (
            project TEXT PRIMARY KEY, bundle TEXT NOT NULL, since INTEGER NOT NULL
        ) WITHOUT ROWID;
        """,
    ),
    Migration(
        27,
        "library",
        """
        CREATE TABLE trusted_keys (key TEXT PRIMARY KEY, name TEXT NOT NULL, since INTEGER NOT NULL) WITHOUT ROWID;
        """,
    ),
    # How far each file of the usage log is counted; a segment of the former log counts completely.
    Migration(
        28,
        "learning",
        """
        CREATE TABLE usage_logs (name TEXT PRIMARY KEY, counted INTEGER NOT NULL) WITHOUT ROWID;
        INSERT INTO usage_logs SELECT segment, 1 << 60 FROM usage_segments;
        DROP TABLE usage_segments;
        DROP TABLE usage_damage;
        DROP TABLE usage_imports;
        """,
    ),
    # They are in `hooks.log`, which can be written even if the database cannot.
    Migration(29, "learning", "DROP TABLE hook_failures;"),
    Migration(30, "learning", "DROP TABLE rejected_edits; DROP TABLE lifecycle;"),
    Migration(
        31,
        "library",
        """
        ALTER TABLE blocked ADD COLUMN verdict TEXT NOT NULL DEFAULT '';
        ALTER TABLE blocked ADD COLUMN stamp TEXT NOT NULL DEFAULT '';
        """,
    ),
)

STATE = Schema(
    0x57484554,
    tuple(step.sql for step in STATE_MIGRATIONS),
    adopt=_adopt,
    logs=tuple(LOGS.values()),
    convert={step.number: step.convert for step in STATE_MIGRATIONS if step.convert},
)


_EMPTY_INDEX = """
DELETE FROM index_facts;
DELETE FROM index_collections;
DELETE FROM index_skills;
DELETE FROM index_rows;
DELETE FROM index_segments;
DELETE FROM index_postings;
DELETE FROM index_words;
"""
CACHE_MIGRATIONS = (
    Migration(
        1,
        "library",
        """
        CREATE TABLE roots (
            id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, fingerprint TEXT NOT NULL, bases TEXT NOT NULL,
            version INTEGER NOT NULL, used INTEGER NOT NULL, notes TEXT
        );
        CREATE TABLE containers (
            root INTEGER NOT NULL REFERENCES roots ON DELETE CASCADE, path TEXT NOT NULL, category TEXT, depth INTEGER,
            mtime INTEGER, ctime INTEGER, size INTEGER, inode INTEGER, description TEXT, more TEXT, cards INTEGER,
            proof INTEGER,
            PRIMARY KEY (root, path)
        ) WITHOUT ROWID;
        CREATE TABLE cards (
            root INTEGER NOT NULL, container TEXT NOT NULL, path TEXT NOT NULL, directory TEXT, name TEXT, key TEXT,
            description TEXT, category TEXT, kind TEXT, mtime INTEGER, ctime INTEGER, size INTEGER, inode INTEGER,
            folder INTEGER, real TEXT, more TEXT, proof INTEGER,
            PRIMARY KEY (root, container, path),
            FOREIGN KEY (root, container) REFERENCES containers ON DELETE CASCADE
        ) WITHOUT ROWID;
        CREATE INDEX cards_by_key ON cards (key, root);
        CREATE TABLE digests (directory TEXT PRIMARY KEY, tree TEXT NOT NULL, digest TEXT NOT NULL) WITHOUT ROWID;
        """,
    ),
    Migration(
        2,
        "guard",
        """
        CREATE TABLE scans (
            digest TEXT NOT NULL, ruleset TEXT NOT NULL, verdict TEXT NOT NULL, findings TEXT NOT NULL,
            proof TEXT NOT NULL, time INTEGER NOT NULL, PRIMARY KEY (digest, ruleset)
        ) WITHOUT ROWID;
        CREATE INDEX scans_by_time ON scans (time);
        """,
    ),
    Migration(
        3,
        "sources",
        """
        CREATE TABLE listings (key TEXT PRIMARY KEY, time INTEGER NOT NULL, document TEXT NOT NULL) WITHOUT ROWID;
        """,
    ),
    Migration(
        4,
        "routing",
        """
        CREATE TABLE told (code TEXT PRIMARY KEY) WITHOUT ROWID;
        CREATE TABLE index_facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
        CREATE TABLE index_collections (
            name TEXT PRIMARY KEY, used INTEGER NOT NULL, generation INTEGER NOT NULL, slots BLOB NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE index_skills (
            slot INTEGER PRIMARY KEY, key TEXT NOT NULL, stamp TEXT NOT NULL, name TEXT NOT NULL,
            lead INTEGER NOT NULL, name_terms INTEGER NOT NULL, description INTEGER NOT NULL, body INTEGER NOT NULL,
            vector BLOB, more TEXT, UNIQUE (key, stamp)
        );
        CREATE TABLE index_sequences (slot INTEGER PRIMARY KEY, terms BLOB NOT NULL);
        CREATE TABLE index_segments (id INTEGER PRIMARY KEY, size INTEGER NOT NULL);
        CREATE TABLE index_postings (
            term INTEGER NOT NULL, segment INTEGER NOT NULL, entries BLOB NOT NULL, PRIMARY KEY (term, segment)
        ) WITHOUT ROWID;
        CREATE INDEX index_postings_of ON index_postings (segment);
        CREATE TABLE index_spellings (cut INTEGER NOT NULL, word TEXT NOT NULL, PRIMARY KEY (cut, word)) WITHOUT ROWID;
        """,
    ),
    Migration(
        5,
        "library",
        """
        DELETE FROM roots;
        ALTER TABLE roots ADD COLUMN parts INTEGER NOT NULL DEFAULT 0;
        DROP TABLE cards;
        CREATE TABLE cards (
            root INTEGER NOT NULL REFERENCES roots ON DELETE CASCADE, part INTEGER NOT NULL, data BLOB NOT NULL,
            proof INTEGER NOT NULL, PRIMARY KEY (root, part)
        );
        """,
    ),
    Migration(6, "routing", "ALTER TABLE index_collections ADD COLUMN made_from TEXT NOT NULL DEFAULT '';"),
    Migration(
        7,
        "interfaces",
        """
        CREATE TABLE introductions (
            key TEXT PRIMARY KEY, text TEXT NOT NULL, settings TEXT NOT NULL, decisions TEXT NOT NULL,
            time INTEGER NOT NULL
        ) WITHOUT ROWID;
        """,
    ),
    # Postings have the weights of a skill side by side, and skills have no vectors.
    Migration(
        8,
        "routing",
        """
        DROP TABLE told;
        DROP TABLE index_skills;
        CREATE TABLE index_skills (
            slot INTEGER PRIMARY KEY, key TEXT NOT NULL, stamp TEXT NOT NULL, name TEXT NOT NULL,
            lead INTEGER NOT NULL, name_terms INTEGER NOT NULL, description INTEGER NOT NULL, body INTEGER NOT NULL,
            more TEXT, UNIQUE (key, stamp)
        );
        DELETE FROM index_facts;
        DELETE FROM index_collections;
        DELETE FROM index_sequences;
        DELETE FROM index_segments;
        DELETE FROM index_postings;
        DELETE FROM index_spellings;
        """,
    ),
    # A segment's postings are stored together, column by column; the order of words takes half as many bytes.
    Migration(
        9,
        "routing",
        """
        DROP TABLE index_skills;
        DROP TABLE index_segments;
        DROP TABLE index_postings;
        DROP TABLE index_spellings;
        CREATE TABLE index_skills (
            slot INTEGER PRIMARY KEY, key TEXT NOT NULL, stamp TEXT NOT NULL, name TEXT NOT NULL,
            lead INTEGER NOT NULL, name_terms INTEGER NOT NULL, description INTEGER NOT NULL, body INTEGER NOT NULL,
            more TEXT
        );
        CREATE INDEX index_skills_by_key ON index_skills (key);
        CREATE TABLE index_segments (
            id INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL, size INTEGER NOT NULL
        );
        CREATE TABLE index_postings (id INTEGER PRIMARY KEY, entries BLOB NOT NULL);
        CREATE TABLE index_words (word TEXT PRIMARY KEY) WITHOUT ROWID;
        DELETE FROM index_facts;
        DELETE FROM index_collections;
        DELETE FROM index_sequences;
        """,
    ),
    # The cards of a root have their own file (`whet.store.packed`).
    Migration(10, "library", "DROP TABLE cards; DROP TABLE containers; DROP TABLE roots;"),
    # All values of a skill except its terms are one value (`whet.store.packed`).
    Migration(
        11,
        "routing",
        """
        DROP TABLE index_skills;
        DROP TABLE index_sequences;
        CREATE TABLE index_skills (slot INTEGER PRIMARY KEY, key TEXT NOT NULL, stamp TEXT NOT NULL);
        CREATE INDEX index_skills_by_key ON index_skills (key);
        CREATE TABLE index_rows (slot INTEGER PRIMARY KEY, data BLOB NOT NULL);
        DELETE FROM index_facts;
        DELETE FROM index_collections;
        DELETE FROM index_segments;
        DELETE FROM index_postings;
        DELETE FROM index_words;
        """,
    ),
    Migration(12, "library", "CREATE TABLE passed (path TEXT PRIMARY KEY, stamp TEXT NOT NULL) WITHOUT ROWID;"),
    # A term of a skill has one weight.
    Migration(13, "routing", _EMPTY_INDEX),
    # The terms of fenced code are left out.
    Migration(14, "routing", _EMPTY_INDEX),
)

CACHE = Schema(0x57484343, tuple(step.sql for step in CACHE_MIGRATIONS), adopt=_drop_caches)
