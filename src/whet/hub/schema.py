"""The tables of a hub, as numbered migrations for SQLite and PostgreSQL. One that was released is never edited.

`{key}` is a number that the database gives, `{number}` a whole number of 64 bits, `{bytes}` a column of bytes. Times
are whole seconds since 1970. What is sent to clients is kept as the text that is sent.
"""

from __future__ import annotations

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE accounts (id {key}, name TEXT NOT NULL UNIQUE, created {number} NOT NULL)",
        """CREATE TABLE tokens (
            id {key}, hash {bytes} NOT NULL UNIQUE, account {number} NOT NULL REFERENCES accounts (id),
            label TEXT NOT NULL, scopes TEXT NOT NULL, created {number} NOT NULL, expires {number} NOT NULL,
            used {number} NOT NULL DEFAULT 0, revoked {number} NOT NULL DEFAULT 0)""",
        """CREATE TABLE owners (
            id {key}, name TEXT NOT NULL UNIQUE, tier TEXT NOT NULL, won TEXT NOT NULL, created {number} NOT NULL)""",
        """CREATE TABLE skills (
            id {key}, owner {number} NOT NULL REFERENCES owners (id), name TEXT NOT NULL,
            private {number} NOT NULL, status TEXT NOT NULL, successor TEXT NOT NULL DEFAULT '',
            reason TEXT NOT NULL DEFAULT '', latest TEXT NOT NULL, created {number} NOT NULL, updated {number} NOT NULL,
            document TEXT NOT NULL, UNIQUE (owner, name))""",
        "CREATE INDEX skills_by_name ON skills (name)",
        """CREATE TABLE versions (
            id {key}, skill {number} NOT NULL REFERENCES skills (id), version TEXT NOT NULL, digest TEXT NOT NULL,
            sha256 TEXT NOT NULL, size {number} NOT NULL, published {number} NOT NULL, yanked TEXT, quarantined TEXT,
            document TEXT NOT NULL, UNIQUE (skill, version))""",
        "CREATE INDEX versions_by_digest ON versions (digest)",
        """CREATE TABLE verdicts (
            id {key}, version {number} NOT NULL REFERENCES versions (id), ruleset TEXT NOT NULL, verdict TEXT NOT NULL,
            findings TEXT NOT NULL, scanned {number} NOT NULL)""",
        "CREATE INDEX verdicts_by_version ON verdicts (version)",
        """CREATE TABLE log_entries (
            number {number} PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, entry TEXT NOT NULL)""",
        "CREATE INDEX log_entries_by_skill ON log_entries (owner, name)",
        """CREATE TABLE log_nodes (
            level {number} NOT NULL, number {number} NOT NULL, hash {bytes} NOT NULL, PRIMARY KEY (level, number))""",
        "CREATE TABLE log_head (id {number} PRIMARY KEY, size {number} NOT NULL, checkpoint TEXT NOT NULL)",
        "CREATE TABLE blobs (sha256 TEXT PRIMARY KEY, data {bytes} NOT NULL)",
    ),
)
