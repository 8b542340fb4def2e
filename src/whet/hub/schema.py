"""The tables of a hub, as numbered migrations for SQLite and PostgreSQL. A released migration is never edited.

`{key}` is an id that the database assigns, `{number}` a 64-bit integer, `{bytes}` a column of bytes. Times are whole
seconds since 1970. Texts for clients are stored as they are sent.
"""

from __future__ import annotations

_PEOPLE = (
    "ALTER TABLE accounts ADD COLUMN role TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE tokens ADD COLUMN personal {number} NOT NULL DEFAULT 0",
    "ALTER TABLE tokens ADD COLUMN claims TEXT NOT NULL DEFAULT ''",
    """CREATE TABLE members (
        owner {number} NOT NULL REFERENCES owners (id), account {number} NOT NULL REFERENCES accounts (id),
        role TEXT NOT NULL, since {number} NOT NULL, PRIMARY KEY (owner, account))""",
    "CREATE INDEX members_by_account ON members (account)",
    """CREATE TABLE invitations (
        id {key}, hash {bytes} NOT NULL UNIQUE, owner TEXT NOT NULL, role TEXT NOT NULL, creator TEXT NOT NULL,
        created {number} NOT NULL, expires {number} NOT NULL, used {number} NOT NULL DEFAULT 0,
        account {number} NOT NULL DEFAULT 0)""",
    """CREATE TABLE cases (
        id {key}, owner TEXT NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL, cause TEXT NOT NULL,
        text TEXT NOT NULL, opened {number} NOT NULL, closed {number} NOT NULL DEFAULT 0,
        decision TEXT NOT NULL DEFAULT '', reason TEXT NOT NULL DEFAULT '', decider TEXT NOT NULL DEFAULT '')""",
    "CREATE INDEX cases_by_version ON cases (owner, name, version)",
    """CREATE TABLE reports (
        id {key}, queued {number} NOT NULL REFERENCES cases (id), account {number} NOT NULL REFERENCES accounts (id),
        kind TEXT NOT NULL, text TEXT NOT NULL, created {number} NOT NULL, UNIQUE (queued, account))""",
    "CREATE INDEX reports_by_account ON reports (account, created)",
    """CREATE TABLE issuers (
        issuer TEXT PRIMARY KEY, document TEXT NOT NULL, fetched {number} NOT NULL, tried {number} NOT NULL)""",
    """CREATE TABLE used_identities (
        issuer TEXT NOT NULL, jti TEXT NOT NULL, expires {number} NOT NULL, PRIMARY KEY (issuer, jti))""",
    """CREATE TABLE publishers (
        id {key}, owner {number} NOT NULL REFERENCES owners (id), created {number} NOT NULL,
        used {number} NOT NULL DEFAULT 0, provider TEXT NOT NULL, repository TEXT NOT NULL,
        repository_id TEXT NOT NULL, owner_id TEXT NOT NULL, workflow TEXT NOT NULL, environment TEXT NOT NULL,
        ref TEXT NOT NULL, name TEXT NOT NULL)""",
    "CREATE INDEX publishers_by_repository ON publishers (provider, repository_id)",
    """CREATE TABLE subjects (
        issuer TEXT NOT NULL, subject TEXT NOT NULL, account {number} NOT NULL REFERENCES accounts (id),
        PRIMARY KEY (issuer, subject))""",
    """CREATE TABLE sign_ins (
        id {key}, state {bytes} NOT NULL UNIQUE, browser {bytes} NOT NULL, nonce TEXT NOT NULL, verifier TEXT NOT NULL,
        redirect TEXT NOT NULL, client_state TEXT NOT NULL, challenge TEXT NOT NULL, expires {number} NOT NULL,
        used {number} NOT NULL DEFAULT 0, code {bytes}, account TEXT NOT NULL DEFAULT '')""",
    "CREATE INDEX sign_ins_by_code ON sign_ins (code)",
    """CREATE TABLE proofs (
        owner {number} NOT NULL REFERENCES owners (id), kind TEXT NOT NULL, value TEXT NOT NULL,
        proved {number} NOT NULL, PRIMARY KEY (owner, kind, value))""",
    """CREATE TABLE rescans (
        id {number} PRIMARY KEY, ruleset TEXT NOT NULL, position {number} NOT NULL, holder TEXT NOT NULL,
        until {number} NOT NULL)""",
)

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
    (
        *_PEOPLE,
        "ALTER TABLE skills ADD COLUMN downloads {number} NOT NULL DEFAULT 0",
        "ALTER TABLE versions ADD COLUMN downloads {number} NOT NULL DEFAULT 0",
        "ALTER TABLE versions ADD COLUMN flat TEXT NOT NULL DEFAULT ''",
        """CREATE TABLE tags (
            skill {number} NOT NULL REFERENCES skills (id), tag TEXT NOT NULL,
            version {number} NOT NULL REFERENCES versions (id), PRIMARY KEY (skill, tag))""",
        """CREATE TABLE log_hidden (
            number {number} PRIMARY KEY REFERENCES log_entries (number), salt {bytes} NOT NULL, act TEXT NOT NULL)""",
        "CREATE TABLE texts (version {number} PRIMARY KEY REFERENCES versions (id), data {bytes} NOT NULL)",
        """CREATE TABLE sketches (
            hash {number} NOT NULL, skill {number} NOT NULL REFERENCES skills (id), PRIMARY KEY (hash, skill))""",
        "CREATE INDEX sketches_by_skill ON sketches (skill)",
        """CREATE TABLE collections (
            id {key}, owner {number} NOT NULL REFERENCES owners (id), name TEXT NOT NULL, title TEXT NOT NULL,
            description TEXT NOT NULL, private {number} NOT NULL, updated {number} NOT NULL, UNIQUE (owner, name))""",
        """CREATE TABLE collection_skills (
            collection {number} NOT NULL REFERENCES collections (id), skill {number} NOT NULL REFERENCES skills (id),
            note TEXT NOT NULL, added {number} NOT NULL, PRIMARY KEY (collection, skill))""",
    ),
    (
        "ALTER TABLE owners ADD COLUMN mirror TEXT NOT NULL DEFAULT ''",
        """CREATE TABLE upstreams (
            url TEXT PRIMARY KEY, key TEXT NOT NULL DEFAULT '', checkpoint TEXT NOT NULL DEFAULT '',
            chosen {number} NOT NULL DEFAULT 0, position {number} NOT NULL DEFAULT -1,
            tried {number} NOT NULL DEFAULT 0, problem TEXT NOT NULL DEFAULT '')""",
    ),
    (
        """CREATE TABLE held (
            queued {number} PRIMARY KEY REFERENCES cases (id), sha256 TEXT NOT NULL, size {number} NOT NULL,
            digest TEXT NOT NULL, publisher TEXT NOT NULL)""",
        "CREATE INDEX versions_by_sha256 ON versions (sha256)",
    ),
)
