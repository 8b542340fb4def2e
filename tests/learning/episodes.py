"""Sessions written for the purpose: short, but shaped like real ones, with noise, errors, detours and corrections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.learning.transcripts.events import Event, Transcript

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Part = list[Event]


def user(text: str) -> Part:
    """Something the user said."""
    return [Event("user", text)]


def says(text: str) -> Part:
    """Something the assistant said."""
    return [Event("assistant", text)]


def note(text: str, about: str = "system") -> Part:
    """Something the client put in."""
    return [Event("note", text, about=about)]


def calls(tool: str, given: dict[str, Any], output: str = "", *, failed: bool = False) -> Part:
    """A call with its result."""
    return [Event("call", tool=tool, given=given), Event("result", output, tool=tool, failed=failed)]


def bash(command: str, output: str = "", *, failed: bool = False) -> Part:
    """A command of the shell."""
    return calls("Bash", {"command": command}, output, failed=failed)


def read(path: str, output: str) -> Part:
    """A file that was opened."""
    return calls("Read", {"path": path}, output)


def write(path: str, content: str) -> Part:
    """A file that was written."""
    return calls("Write", {"path": path, "content": content}, f"File created successfully at: {path}")


def edit(path: str, old: str, new: str) -> Part:
    """A file that was changed."""
    return calls("Edit", {"path": path, "old": old, "new": new}, f"The file {path} has been updated.")


def session(*parts: Part, project: str = "", name: str = "episode") -> Transcript:
    """A transcript of these parts; every call is tied to its result."""
    events: list[Event] = []
    for part in parts:
        for event in part:
            numbered = event._replace(id=f"call-{len(events)}") if event.kind == "call" else event
            if event.kind == "result":
                numbered = event._replace(id=events[-1].id)
            events.append(numbered)
    return Transcript("claude-code", name, project, tuple(events))


def release_notes() -> Transcript:
    """A release with a correction by the user in the middle."""
    return session(
        user(
            "Hi! Please write the release notes for version 4.2.0 of our command line client and tag the release.\n"
            "The notes go to docs/releases/notes-4.2.0.md. Every entry must link its pull request. "
            "Do not push anything."
        ),
        says("I'll look at the history first."),
        bash("git status", "On branch main\nnothing to commit, working tree clean"),
        bash(
            "git log v4.1.0..HEAD --oneline", "a81f9c2 Add retry to upload (#811)\n77be012 Fix colour on Windows (#815)"
        ),
        bash("gh pr view 811 --json title,author", '{"title": "Add retry to upload"}'),
        says("Now let me write the notes."),
        write("/home/ida/cli/docs/releases/notes-4.2.0.md", "# 4.2.0\n\n- Add retry to upload (#811)\n"),
        user("No, group the entries by kind: Added, Fixed, Changed. Always put breaking changes first."),
        says("Let me regroup the entries."),
        write(
            "/home/ida/cli/docs/releases/notes-4.2.0.md",
            "# 4.2.0\n\n## Added\n\n- Retry (#811)\n\n## Fixed\n\n- Colour (#815)\n",
        ),
        says("Next, I'll check the links."),
        bash(
            "cd /home/ida/cli && npx markdown-link-check docs/releases/notes-4.2.0.md 2>&1 | tail -5",
            "2 links checked.\nAll links OK",
        ),
        bash("git tag -a v4.2.0 -m 'Release 4.2.0'", "", failed=False),
        bash("git tag --list v4.2.0", "v4.2.0"),
        says("Done. The notes are written to docs/releases/notes-4.2.0.md and the tag v4.2.0 is in place."),
        user("Perfect, thank you!"),
        project="/home/ida/cli",
        name="release-notes",
    )


def database_migration() -> Transcript:
    """A migration that fails, is understood, and then works."""
    return session(
        user(
            "Add a nullable column `archived_at` to the `orders` table with an Alembic migration in /srv/shop/api, "
            "and make sure that upgrade and downgrade both work against the local database."
        ),
        bash("ls /srv/shop/api", "alembic\nalembic.ini\nmodels.py"),
        read("/srv/shop/api/models.py", "class Order(Base):\n    id = mapped_column(Integer, primary_key=True)\n"),
        says("Let me generate the migration."),
        bash(
            "cd /srv/shop/api && alembic revision --autogenerate -m 'add archived_at'",
            "ERROR [alembic.util.messaging] Target database is not up to date.",
            failed=True,
        ),
        says("The database is behind. I'll upgrade it before generating."),
        bash("cd /srv/shop/api && alembic upgrade head", "INFO Running upgrade 3c1 -> 9f2"),
        edit(
            "/srv/shop/api/models.py",
            "primary_key=True)\n",
            "primary_key=True)\n    archived_at = mapped_column(DateTime, nullable=True)\n",
        ),
        bash(
            "cd /srv/shop/api && alembic revision --autogenerate -m 'add archived_at to orders'",
            "Generating /srv/shop/api/alembic/versions/5d7_add_archived_at.py ... done",
        ),
        says("Now I'll verify both directions."),
        bash(
            "cd /srv/shop/api && alembic upgrade head && alembic downgrade -1 && alembic upgrade head",
            "INFO Running upgrade 9f2 -> 5d7",
        ),
        bash("cd /srv/shop/api && pytest tests/test_orders.py -q", "....\n4 passed in 1.21s"),
        says("The migration is complete; upgrade and downgrade both pass."),
        project="/srv/shop/api",
        name="database-migration",
    )


def rollout() -> Transcript:
    """A deployment that is looked into and rolled back; names that only exist this once are handed on."""
    return session(
        user(
            "The checkout service in namespace payments keeps restarting since today's deploy 2026-02-11. "
            "Find out why and roll it back if it is the new image."
        ),
        says("Let me look at the pods."),
        bash("kubectl get pods -n payments -l app=checkout", "checkout-6f9d8b7c5d-x2kqp   0/1  CrashLoopBackOff  7"),
        bash("kubectl logs -n payments checkout-6f9d8b7c5d-x2kqp --previous", "KeyError: 'STRIPE_WEBHOOK_URL'"),
        bash("kubectl rollout history deployment/checkout -n payments", "REVISION\n17\n18"),
        says("The new image expects a variable that is not set. I'll roll back."),
        bash("kubectl rollout undo deployment/checkout -n payments", "deployment.apps/checkout rolled back"),
        says("Next, I'll wait for the rollout."),
        bash(
            "kubectl rollout status deployment/checkout -n payments --timeout=120s",
            'deployment "checkout" successfully rolled out',
        ),
        says("The rollback is complete and the pods are healthy."),
        user("great, thanks"),
        name="rollout",
    )


def table_cleaning() -> Transcript:
    """A script that takes three attempts; only the last one counts."""
    first = "import pandas as pd\ndf = pd.read_csv('/Users/noor/data/sales-2025-11.csv')\nprint(df.describe())\n"
    good = (
        "import sys\nimport pandas as pd\n\ndf = pd.read_csv(sys.argv[1], sep=';', decimal=',', encoding='cp1252')\n"
        "df = df.dropna(subset=['order_id']).drop_duplicates('order_id')\n"
        "df['net'] = df['gross'] / (1 + df['vat_rate'])\ndf.to_parquet(sys.argv[2], index=False)\n"
        "print(f'wrote {len(df)} rows')\n"
    )
    return session(
        user(
            "Can you clean the sales export /Users/noor/data/sales-2025-11.csv? Drop duplicate orders, add a net "
            "column (gross without VAT) and save it as /Users/noor/data/sales-clean.parquet. "
            "Only keep rows with an order id."
        ),
        bash("head -3 /Users/noor/data/sales-2025-11.csv", "order_id;gross;vat_rate\nA1;11,90;0,19"),
        says("Let me write a script for it."),
        write("/Users/noor/data/clean.py", first),
        bash(
            "python3 /Users/noor/data/clean.py", "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xfc", failed=True
        ),
        write("/Users/noor/data/clean.py", good.replace("cp1252", "latin-1").replace(", decimal=','", "")),
        bash(
            "python3 /Users/noor/data/clean.py /Users/noor/data/sales-2025-11.csv /Users/noor/data/sales-clean.parquet",
            "TypeError: unsupported operand type(s) for /: 'str' and 'float'",
            failed=True,
        ),
        write("/Users/noor/data/clean.py", good),
        bash(
            "python3 /Users/noor/data/clean.py /Users/noor/data/sales-2025-11.csv /Users/noor/data/sales-clean.parquet",
            "wrote 10412 rows",
        ),
        says("Saved to /Users/noor/data/sales-clean.parquet: 10412 rows."),
        name="table-cleaning",
    )


THUMBNAILS = """Base directory for this skill: /home/mo/.claude/skills/thumbnails

# Thumbnails

## Sizes

| use | width | quality |
|-----|-------|---------|
| list | 320 | 82 |
| hero | 1280 | 88 |

## Command

Always strip metadata, and never upscale:

```bash
magick input.jpg -auto-orient -strip -resize '320x>' -quality 82 output.webp
```

## Animated pictures

Use `gif2webp -mixed -q 70` for animations.
"""


def thumbnails() -> Transcript:
    """Work done with a skill whose text the client put in."""
    return session(
        user(
            "Make thumbnails for the gallery: convert every jpg in /home/mo/site/photos to webp in "
            "/home/mo/site/thumbs, list size."
        ),
        calls("Skill", {"skill": "thumbnails"}, "Launching skill: thumbnails"),
        note(THUMBNAILS, "skill:thumbnails"),
        note("The user likes short answers.", "system"),
        bash("ls /home/mo/site/photos | head", "img_001.jpg\nimg_002.jpg"),
        says("Let me convert them all."),
        bash(
            "cd /home/mo/site && mkdir -p thumbs && for f in photos/*.jpg; do "
            "magick \"$f\" -auto-orient -strip -resize '320x>' "
            '-quality 82 "thumbs/$(basename "$f" .jpg).webp"; done',
            "",
        ),
        bash("ls /home/mo/site/thumbs | wc -l", "48"),
        says("All 48 thumbnails have been created in /home/mo/site/thumbs."),
        project="/home/mo/site",
        name="thumbnails",
    )


def claim_form() -> Transcript:
    """A form filled with somebody's details, none of which is for the next one."""
    values = '[{"field": "claimant", "value": "Greta Lindqvist"}, {"field": "street", "value": "14 Harbour Lane"}]'
    return session(
        user(
            "Fill the travel expense form /home/kim/expenses-blank.pdf from the details below and save it to "
            "/home/kim/expenses-filled.pdf.\n"
            "Leave the fields for the office empty. Use the date format YYYY-MM-DD.\n\n"
            "Details: I am Greta Lindqvist, 14 Harbour Lane, greta.l@example.org, phone +46 70 555 0199. "
            "I travelled from 2026-01-12 to 2026-01-15 and paid $482.50 for the hotel."
        ),
        bash("python3 fill.py --list /home/kim/expenses-blank.pdf", "claimant text\nstreet text\noffice_use text"),
        says("I'll write the values."),
        write("/home/kim/values.json", values),
        bash(
            "python3 fill.py /home/kim/expenses-blank.pdf /home/kim/values.json /home/kim/expenses-filled.pdf",
            "Wrote 9 fields to /home/kim/expenses-filled.pdf",
        ),
        calls("Read", {"path": "/home/kim/expenses-filled.pdf"}, "PDF pages extracted: 1"),
        says("The form has been filled and saved to /home/kim/expenses-filled.pdf."),
        name="claim-form",
    )


def flaky_test() -> Transcript:
    """Edits of one file in a row, a test run again and again."""
    path = "/home/sam/repo/src/queue.py"
    return session(
        user("tests/test_queue.py::test_drain is flaky on CI. Find the race and fix it, without adding sleeps."),
        calls("Search", {"query": "def drain", "path": "/home/sam/repo/src"}, "src/queue.py:41:    def drain(self):"),
        read(path, "     1→class Queue:\n     2→    def drain(self):\n     3→        while self.items:\n"),
        bash(
            "cd /home/sam/repo && python -m pytest tests/test_queue.py -q --count=50",
            "3 failed, 47 passed",
            failed=True,
        ),
        says("The lock is released too early. Let me hold it while draining."),
        edit(path, "        while self.items:\n", "        with self._lock:\n            while self.items:\n"),
        edit(path, "import threading\n", "import threading\nfrom contextlib import suppress\n"),
        bash(
            "cd /home/sam/repo && python -m pytest tests/test_queue.py -q --count=50",
            "1 failed, 49 passed",
            failed=True,
        ),
        edit(path, "self._lock = threading.Lock()", "self._lock = threading.RLock()"),
        bash("cd /home/sam/repo && python -m pytest tests/test_queue.py -q --count=50", "50 passed in 8.10s"),
        user("You forgot to run the type checker. Never merge without mypy."),
        bash("cd /home/sam/repo && mypy src", "Success: no issues found in 31 source files"),
        says("Fixed: the race is gone and mypy is clean."),
        project="/home/sam/repo",
        name="flaky-test",
    )


API_DOCS = """# Bulk import

Send at most 500 records per request to `POST /v2/contacts/bulk`, as JSON lines, with the header
`Content-Type: application/x-ndjson`. The field `external_id` is required and `upsert=true` replaces what exists.

# Rate limits

The limit is 60 requests a minute; answer 429 carries `Retry-After`.

# Billing

Invoices are sent on the first day of a month.
"""


def bulk_import() -> Transcript:
    """Documentation that is read on the web and then followed; a token that was already hidden."""
    script = (
        "import itertools, json, time, urllib.request\n\nURL = 'https://api.crm.example/v2/contacts/bulk?upsert=true'\n"
        "def chunks(rows, size=500):\n    ...\n\nheaders = {'Content-Type': 'application/x-ndjson'}\n"
        "# wait for Retry-After on 429\n"
    )
    run = "python3 /data/in/bulk_import.py /data/in/contacts.json /data/out/rejected.json"
    return session(
        user(
            "Import the contacts in /data/in/contacts.json into our CRM with its bulk API. Existing contacts must be "
            "updated, not duplicated. Log what was rejected to /data/out/rejected.json."
        ),
        calls("Web", {"url": "https://docs.crm.example/api/bulk"}, API_DOCS),
        says("Let me write the importer."),
        write("/data/in/bulk_import.py", script),
        bash(
            f"export CRM_TOKEN=[secret:api-key] && {run}",
            "HTTP 400: field external_id is missing\nexit status 1",
            failed=True,
        ),
        says("The records need an external_id. I'll add it from the email."),
        write("/data/in/bulk_import.py", script + "row['external_id'] = row['email']\n"),
        bash(
            f"export CRM_TOKEN=[secret:api-key] && {run}",
            "imported 1204, rejected 3, done",
        ),
        says("Import complete: 1204 contacts, 3 rejected, see /data/out/rejected.json."),
        name="bulk-import",
    )


def infrastructure() -> Transcript:
    """Wrappers around commands, a rejected call with the user's reason."""
    return session(
        user(
            "Add an S3 bucket for access logs to the staging environment in infra/staging, with Terraform. "
            "Keep logs for 30 days."
        ),
        says("Let me add the bucket."),
        edit(
            "/home/lee/infra/staging/main.tf",
            "# buckets\n",
            '# buckets\nresource "aws_s3_bucket" "access_logs" {\n  bucket = "acme-staging-access-logs"\n}\n',
        ),
        bash("cd /home/lee/infra/staging && terraform init -upgrade", "Terraform has been successfully initialized!"),
        bash(
            "cd /home/lee/infra/staging && sudo -E env AWS_PROFILE=staging terraform plan -out=tf.plan",
            "Error: Unsupported argument: lifecycle_days is not expected here",
            failed=True,
        ),
        edit(
            "/home/lee/infra/staging/main.tf",
            "}\n",
            '}\nresource "aws_s3_bucket_lifecycle_configuration" "logs" {\n  rule { expiration { days = 30 } }\n}\n',
        ),
        bash(
            "cd /home/lee/infra/staging && sudo -E env AWS_PROFILE=staging terraform plan -out=tf.plan",
            "Plan: 2 to add, 0 to change, 0 to destroy.",
        ),
        bash(
            "cd /home/lee/infra/staging && terraform apply -auto-approve",
            "The user doesn't want to proceed with this tool use. "
            "The user said: never apply without the saved plan file",
            failed=True,
        ),
        bash(
            "cd /home/lee/infra/staging && env AWS_PROFILE=staging terraform apply tf.plan",
            "Apply complete! Resources: 2 added, 0 changed, 0 destroyed.",
        ),
        says("Apply complete. The bucket is ready."),
        project="/home/lee/infra",
        name="infrastructure",
    )


def translations() -> Transcript:
    """Scripts of a package, a connected tool, a subagent."""
    prompt = "Translate the missing German strings in locales/de.json. Keep placeholders such as {count} as they are."
    return session(
        user(
            "Bring our German translations up to date: extract new strings, translate what is missing, "
            "and check that nothing is left."
        ),
        bash("npm run i18n:extract", "> extract\n12 new keys in locales/en.json"),
        calls("Task", {"description": "Translate strings", "prompt": prompt}, "All 12 strings are translated."),
        user(prompt),
        calls("mcp__glossary__lookup", {"term": "checkout"}, "Kasse"),
        bash("npm run i18n:check -- --locale de", "missing: checkout.title", failed=True),
        edit("/home/ana/shop/locales/de.json", '"checkout.title": ""', '"checkout.title": "Kasse"'),
        bash("npm run i18n:check -- --locale de", "0 missing keys. OK"),
        says("All German strings are translated; the check passes."),
        user("Danke, perfekt."),
        project="/home/ana/shop",
        name="translations",
    )


def lost_cause() -> Transcript:
    """A search that leads nowhere."""
    return session(
        user("Why does the nightly export at /var/jobs/export.sh hang? Find out and fix it."),
        bash("cat /var/jobs/export.sh", "#!/bin/sh\nrsync -a /data/ backup:/data/"),
        calls("Search", {"query": "rsync", "path": "/var/log"}, "No files found"),
        bash("timeout 20 ssh backup true", "ssh: connect to host backup port 22: Connection timed out", failed=True),
        bash("sudo systemctl restart sshd", "Access denied", failed=True),
        says("I could not reach the backup host, so I was unable to fix the export."),
        name="lost-cause",
    )


def small_talk() -> Transcript:
    """Nothing that anybody would repeat."""
    return session(
        user("hi"),
        says("Hello! What can I do?"),
        user("what is the capital of Peru?"),
        says("Lima."),
        name="small-talk",
    )


EPISODES: Sequence[Callable[[], Transcript]] = (
    release_notes,
    database_migration,
    rollout,
    table_cleaning,
    thumbnails,
    claim_form,
    flaky_test,
    bulk_import,
    infrastructure,
    translations,
    lost_cause,
    small_talk,
)
"""All of them; the last two are not worth a skill."""
