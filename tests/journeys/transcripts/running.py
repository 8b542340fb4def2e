"""Things that run: a service in trouble, infrastructure, a schema, a test that fails now and then."""

from __future__ import annotations

from learning.episodes import Part, bash, calls, edit, read, says, session, user, write
from learning.recordings import claude_code, codex

from journeys.transcripts.model import Case, Kind, made

JWT = ".".join((made("eyJhbGciOi", 26), made("eyJzdWIiOi", 60), made("", 43)))
AWS_ID = made("AKIA", 16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
AWS_SECRET = made("", 38) + "/x"
DATABASE = made("Pg", 14) + "9"
CIRCLE = made("CCIPAT_", 24) + "_" + made("", 40, "0123456789abcdef")
GITLAB = made("glpat-", 20)
SESSION = made("s", 30) + "7"


def _incident(service: str, space: str, incident: str, pod: str, note: str, ask: str, *more: Part) -> list[Part]:
    return [
        user(ask),
        says("Let me look at the incident and the pods."),
        calls(
            "mcp__pagerduty__get_incident",
            {"id": incident},
            f'{{"id": "{incident}", "title": "{service} 5xx", "status": "triggered"}}',
        ),
        bash(
            f"kubectl get pods -n {space} -l app={service}",
            f"NAME   READY   STATUS   RESTARTS\n{pod}   0/1   CrashLoopBackOff   9 (21s ago)",
        ),
        bash(
            f"kubectl describe pod {pod} -n {space}",
            "Last State: Terminated\n  Reason: OOMKilled\n  Exit Code: 137",
        ),
        *more,
        bash(
            f"kubectl rollout history deployment/{service} -n {space}",
            "REVISION  CHANGE-CAUSE\n41        <none>\n42        <none>",
        ),
        says("The new release is to blame. I'll roll it back."),
        bash(f"kubectl rollout undo deployment/{service} -n {space}", f"deployment.apps/{service} rolled back"),
        says("Now I'll wait until the old release runs."),
        bash(
            f"kubectl rollout status deployment/{service} -n {space} --timeout=180s",
            f'deployment "{service}" successfully rolled out',
        ),
        bash(
            f"curl -s -H 'Authorization: Bearer {JWT}' https://{service}.internal.acme.example/healthz",
            '{"status":"ok"}',
        ),
        says("Next, I'll write the incident note."),
        write(note, f"# {service} down\n\nOOMKilled after the deploy, rolled back to 41.\n"),
        calls("mcp__pagerduty__resolve_incident", {"id": incident, "note": "rolled back"}, '{"status": "resolved"}'),
        says(f"{service} is healthy again and {incident} is resolved."),
        user("perfect, thank you"),
    ]


def incident() -> Kind:
    first = session(
        *_incident(
            "orders-api",
            "shop-eu",
            "PXK4Q2",
            "orders-api-7d9c5b6f4-zq8lm",
            "/home/tom/incidents/2026-03-09-orders-api.md",
            "PagerDuty incident PXK4Q2: orders-api in the namespace shop-eu is crash looping since the deploy at "
            "14:05. Find "
            "the cause, roll the deployment back if the release is to blame, and write the incident note to "
            "/home/tom/incidents/2026-03-09-orders-api.md.",
            bash(
                "kubectl logs orders-api-7d9c5b6f4-zq8lm -n shop-eu",
                'Error from server (BadRequest): container "app" in pod "orders-api-7d9c5b6f4-zq8lm" is waiting to '
                "start",
                failed=True,
            ),
            says("The container is gone. The log of the one before tells more."),
            bash(
                "kubectl logs orders-api-7d9c5b6f4-zq8lm -n shop-eu --previous --tail=50",
                f"java.lang.OutOfMemoryError: Java heap space\nSet-Cookie: session={SESSION}; HttpOnly",
            ),
            user("Always take a heap dump aside before you roll back, we lose it otherwise."),
            bash(
                "kubectl cp shop-eu/orders-api-7d9c5b6f4-zq8lm:/tmp/heap.hprof /home/tom/incidents/PXK4Q2.hprof",
                "tar: removing leading '/' from member names",
            ),
        ),
        project="/home/tom/incidents",
        name="7b1e0d52-incident-one",
    )
    second = session(
        *_incident(
            "billing-worker",
            "finance",
            "Q9ZT7L",
            "billing-worker-5f6d8c9b7-kk2xw",
            "/home/tom/incidents/2026-04-17-billing-worker.md",
            "We have PagerDuty incident Q9ZT7L, billing-worker in namespace finance crash loops since this morning's "
            "deploy. "
            "Please find out why, roll back the deployment if it is the release, and leave an incident note in "
            "/home/tom/incidents/2026-04-17-billing-worker.md.",
            bash("kubectl config current-context", "prod-eu-1"),
            bash(
                "kubectl logs billing-worker-5f6d8c9b7-kk2xw -n finance --previous --tail=50",
                "java.lang.OutOfMemoryError: Java heap space",
            ),
            bash(
                "kubectl top pod -n finance -l app=billing-worker",
                "error: Metrics API not available",
                failed=True,
            ),
            says("The metrics are in Grafana."),
            calls("mcp__grafana__query", {"expr": 'memory{app="billing-worker"}'}, "2.0Gi of 2.0Gi"),
            user("Make sure to pause the autoscaler first, it fights the rollback."),
            bash(
                'kubectl patch hpa billing-worker -n finance -p \'{"spec": {"minReplicas": 1, "maxReplicas": 1}}\'',
                "horizontalpodautoscaler.autoscaling/billing-worker patched",
            ),
        ),
        project="/home/tom/incidents",
        name="7b1e0d52-incident-two",
    )
    return Kind(
        "incident",
        claude_code,
        ".jsonl",
        Case(
            first, (JWT, SESSION), ("PXK4Q2", "zq8lm", "7d9c5b6f4", "2026-03-09", "/home/tom", "14:05"),
            ("heap dump",), ("waiting to start", "--previous"),
        ),
        Case(
            second, (JWT,), ("Q9ZT7L", "kk2xw", "5f6d8c9b7", "2026-04-17", "/home/tom"),
            ("autoscaler",), ("Metrics API not available",),
        ),
        (
            "Write", "Bash(kubectl rollout status:*)", "mcp__pagerduty__get_incident",
        ),
        (
            "Read", "Bash(kubectl get:*)", "Bash(kubectl get pods:*)", "Bash(kubectl describe:*)",
            "Bash(kubectl logs:*)",
            "Bash(kubectl describe pod:*)", "Bash(kubectl rollout history:*)", "Bash(curl:*)", "Bash(kubectl cp:*)",
            "Bash(kubectl config current-context:*)", "Bash(kubectl top:*)", "Bash(kubectl top pod:*)",
            "Bash(kubectl patch:*)", "Bash(kubectl patch hpa:*)", "mcp__grafana__query", "Bash(kubectl config:*)",
        ),
        "a service on the cluster keeps restarting after a deploy, bring the old one back",
    )  # fmt: skip


def _terraform(bucket: str, days: int, account: str, ask: str, *more: Part) -> list[Part]:
    home = "/home/lee/infra/live/staging"
    keys = f"AWS_ACCESS_KEY_ID={AWS_ID} AWS_SECRET_ACCESS_KEY={AWS_SECRET}"
    return [
        user(ask),
        bash(f"ls {home}", "backend.tf\nmain.tf\nvariables.tf"),
        read(f"{home}/main.tf", '# buckets\nmodule "network" {\n  source = "../modules/network"\n}\n'),
        says("Let me add the bucket."),
        edit(
            f"{home}/main.tf",
            "# buckets\n",
            f'# buckets\nmodule "{bucket}" {{\n  source = "../modules/bucket"\n  name = "{bucket}-{account}"\n'
            f"  expire_days = {days}\n}}\n",
        ),
        bash(f"cd {home} && terraform fmt -check", ""),
        bash(f"cd {home} && {keys} terraform init -input=false", "Terraform has been successfully initialized!"),
        bash(f"cd {home} && terraform validate", "Success! The configuration is valid."),
        *more,
        says("Now I'll plan it into a file."),
        bash(
            f"cd {home} && {keys} terraform plan -input=false -out=change.tfplan",
            "Plan: 3 to add, 0 to change, 0 to destroy.\n\nSaved the plan to: change.tfplan",
        ),
        bash(f"cd {home} && terraform show -json change.tfplan | jq '.resource_changes | length'", "3"),
        says("Only additions. I'll apply the saved plan."),
        bash(
            f"cd {home} && {keys} terraform apply -input=false change.tfplan",
            "Apply complete! Resources: 3 added, 0 changed, 0 destroyed.",
        ),
        bash(
            f"{keys} aws s3api get-bucket-lifecycle-configuration --bucket {bucket}-{account}",
            f'{{"Rules": [{{"Status": "Enabled", "Expiration": {{"Days": {days}}}}}]}}',
        ),
        says("Apply complete: the bucket exists and expires its objects."),
    ]


def infrastructure() -> Kind:
    home = "/home/lee/infra/live/staging"
    first = session(
        *_terraform(
            "access-logs",
            30,
            "481516234299",
            "Add an S3 bucket access-logs for account 481516234299 to our staging environment with Terraform "
            "(/home/lee/infra/live/staging). Objects expire after 30 days.",
            bash(
                f"cd {home} && terraform plan -input=false",
                "Error: error configuring S3 Backend: no valid credential sources for S3 Backend found.",
                failed=True,
            ),
            says("The plan needs the credentials, too."),
            user("Stop, never apply anything that has not been planned into a file."),
        ),
        project=home,
        name="7b1e0d52-infra-one",
    )
    second = session(
        *_terraform(
            "media-uploads",
            90,
            "902210377741",
            "With Terraform in /home/lee/infra/live/staging: one more S3 bucket for staging, media-uploads in account "
            "902210377741, objects expire after 90 days.",
            user("Is Terraform written in Go?"),
            says("Yes. I'll go on with the bucket."),
            bash(
                f"cd {home} && tflint",
                'Error: Missing required attribute "tags" (aws_resource_missing_tags)\n  on main.tf line 12',
                failed=True,
            ),
            edit(f"{home}/main.tf", "  expire_days = 90\n", '  expire_days = 90\n  tags = { owner = "platform" }\n'),
            bash(f"cd {home} && tflint", ""),
            user("You forgot the cost estimate. Always run infracost before the apply."),
            bash(
                f"cd {home} && INFRACOST_API_KEY={made('ico-', 32)} infracost breakdown --path .",
                "OVERALL TOTAL                                   $4.12",
            ),
        ),
        project=home,
        name="7b1e0d52-infra-two",
    )
    return Kind(
        "infrastructure",
        claude_code,
        ".jsonl",
        Case(
            first, (AWS_ID, AWS_SECRET), ("481516234299", "/home/lee"),
            ("planned into a file",), ("no valid credential sources",),
        ),
        Case(
            second, (AWS_ID, AWS_SECRET, made("ico-", 32)), ("902210377741", "/home/lee", "4.12", "line 12"),
            ("infracost",), ("aws_resource_missing_tags",),
        ),
        ("Edit", "Bash(terraform init:*)", "Bash(terraform plan:*)"),
        (
            "Read", "Bash(terraform fmt:*)", "Bash(terraform validate:*)", "Bash(terraform show:*)", "Bash(jq:*)",
            "Bash(aws s3api:*)", "Bash(aws s3api get-bucket-lifecycle-configuration:*)", "Bash(tflint:*)",
            "Bash(infracost breakdown:*)", "Bash(infracost:*)",
        ),
        "create another storage bucket in the staging cloud account as code",
    )  # fmt: skip


def _migration(table: str, column: str, revision: str, before: str, ask: str, *more: Part) -> list[Part]:
    address = f"DATABASE_URL=postgresql://migrator:{DATABASE}@db-staging.acme.example:5432/shop"
    file = f"migrations/versions/{revision}_add_{column}.py"
    return [
        user(ask),
        says("I'll look at the model and the current revision."),
        bash("sed -n 1,40p app/models.py", f"class Base(DeclarativeBase): ...\n\nclass {table.title()}(Base): ..."),
        bash(f"{address} alembic current", f"{before} (head)"),
        says("Let me add the column to the model."),
        edit(
            "app/models.py",
            f"class {table.title()}(Base): ...",
            f"class {table.title()}(Base):\n    {column} = mapped_column(DateTime, nullable=True)",
        ),
        bash(
            f"{address} alembic revision --autogenerate -m 'add {column} to {table}'",
            f"Generating {file} ...  done",
        ),
        *more,
        says("Now I'll back the table up, and go up, down and up again."),
        bash(
            f"pg_dump 'postgresql://migrator:{DATABASE}@db-staging.acme.example:5432/shop' -t {table} -Fc "
            f"-f /var/backups/{table}-{revision}.dump",
            "",
        ),
        bash(f"{address} alembic upgrade head", f"INFO  Running upgrade {before} -> {revision}, add {column}"),
        bash(f"{address} alembic downgrade -1", f"INFO  Running downgrade {revision} -> {before}, add {column}"),
        bash(f"{address} alembic upgrade head", f"INFO  Running upgrade {before} -> {revision}, add {column}"),
        bash("pytest tests/test_migrations.py -q", "12 passed in 4.31s"),
        calls("mcp__tracker__comment", {"issue": f"DB-{len(column) * 17}", "text": "migrated"}, '{"ok": true}'),
        says("The migration works in both directions and the tests pass."),
    ]


def migration() -> Kind:
    first = session(
        *_migration(
            "orders",
            "archived_at",
            "5d7c1f9a22b0",
            "9f2e4470c1aa",
            "Add a nullable column archived_at to the table orders with an Alembic migration, and prove on staging "
            "that the "
            "upgrade and the rollback both work.",
            bash("alembic heads --verbose", "Rev: 5d7c1f9a22b0 (head)"),
            bash(
                "DATABASE_URL=postgresql://migrator@db-staging.acme.example:5432/shop alembic upgrade head",
                'sqlalchemy.exc.OperationalError: FATAL:  password authentication failed for user "migrator"',
                failed=True,
            ),
            user("No, take a backup of the table before each upgrade, even on staging."),
        ),
        project="/srv/shop/api",
        name="019a2f00-0000-7000-8000-000000000001",
    )
    second = session(
        *_migration(
            "invoices",
            "reminded_at",
            "e01b77d3c4f5",
            "5d7c1f9a22b0",
            "We need a new nullable column reminded_at on invoices. Write the Alembic migration and show on staging "
            "that "
            "upgrade and rollback work.",
            bash(
                "ls migrations/versions | tail -3", "5d7c1f9a22b0_add_archived_at.py\ne01b77d3c4f5_add_reminded_at.py"
            ),
            bash(
                f"DATABASE_URL=postgresql://migrator:{DATABASE}@db-staging.acme.example:5432/shop alembic upgrade head",
                "psycopg.errors.LockNotAvailable: canceling statement due to lock timeout",
                failed=True,
            ),
            says("Somebody holds a lock. I'll set a longer timeout for this session."),
            bash(
                f"PGPASSWORD={DATABASE} psql -h db-staging.acme.example -U migrator shop "
                "-c \"alter role migrator set lock_timeout = '30s'\"",
                "ALTER ROLE",
            ),
            user("Don't name the constraint by hand; the naming convention does that."),
            edit("migrations/env.py", "render_as_batch=True", "render_as_batch=True, compare_type=True"),
        ),
        project="/srv/shop/api",
        name="019a2f00-0000-7000-8000-000000000002",
    )
    return Kind(
        "migration",
        codex,
        ".jsonl",
        Case(
            first, (DATABASE,), ("5d7c1f9a22b0", "9f2e4470c1aa", "DB-187"),
            ("backup of the table",), ("password authentication failed",),
        ),
        Case(
            second, (DATABASE,), ("e01b77d3c4f5", "5d7c1f9a22b0", "DB-187"),
            ("naming convention",), ("lock timeout",),
        ),
        ("Edit", "Bash(alembic revision:*)"),
        (
            "Read", "Bash(ls:*)", "Bash(alembic current:*)", "Bash(alembic heads:*)", "Bash(pg_dump:*)",
            "Bash(pytest:*)",
            "Bash(psql:*)",
            "mcp__tracker__comment", "Bash(sed:*)",
        ),
        "change the schema of a table and make sure that it can be undone",
    )  # fmt: skip


def _flaky(test: str, file: str, build: str, ask: str, *more: Part) -> list[Part]:
    return [
        user(ask),
        says("Let me see how it failed on CI."),
        bash(
            f"curl -s -H 'Circle-Token: {CIRCLE}' https://circleci.com/api/v2/project/gh/acme/queue/{build}/tests",
            f'{{"items": [{{"name": "{test}", "result": "failure"}}]}}',
        ),
        bash(f"rg -n 'def {test}' tests", f"{file}:41:def {test}() -> None:"),
        bash(f"sed -n 30,60p {file}", f"def {test}() -> None:\n    queue = Queue()\n    ..."),
        says("I'll run it many times until it fails."),
        bash(
            f"pytest {file}::{test} -q --count=200 -x",
            f"FAILED {file}::{test} - AssertionError: assert 3 == 4\n1 failed, 88 passed in 31.02s",
            failed=True,
        ),
        *more,
        says("Now I'll run it again, many times and in random order."),
        bash(f"pytest {file}::{test} -q --count=500", "500 passed in 96.40s"),
        bash("pytest -q -p randomly", "412 passed in 60.13s"),
        bash("ruff check . && mypy src", "All checks passed!\nSuccess: no issues found in 31 source files"),
        says("The race is gone: 500 runs without a failure."),
    ]


def flaky() -> Kind:
    first = session(
        *_flaky(
            "test_drain_empties",
            "tests/test_queue.py",
            "88213",
            "test_drain_empties is flaky on CI, build 88213. Reproduce it, find the race and fix it without adding "
            "sleeps.",
            says("The lock is released too early. I'll hold it while draining."),
            edit("src/queue.py", "while self.items:", "with self._lock:\n    while self.items:"),
            bash(
                "pytest tests/test_queue.py::test_drain_empties -q --count=200 -x",
                "RuntimeError: cannot acquire an un-reentrant lock twice\n1 failed in 0.41s",
                failed=True,
            ),
            edit("src/queue.py", "threading.Lock()", "threading.RLock()"),
            user("Don't just lower the count. A fix only counts after 500 runs."),
        ),
        project="/home/sam/repo",
        name="019a2f00-0000-7000-8000-000000000003",
    )
    second = session(
        *_flaky(
            "test_expiry_order",
            "tests/test_cache.py",
            "90177",
            "On CI test_expiry_order fails now and then (build 90177). Reproduce the flaky test, find out why and fix "
            "it, no "
            "sleeps please.",
            user("which Python version introduced match statements?"),
            says("3.10. Back to the test."),
            says("The test compares wall-clock times. I'll give it a clock of its own."),
            edit("tests/test_cache.py", "time.time()", "clock()"),
            bash(
                "pytest tests/test_cache.py::test_expiry_order -q --count=200 -x",
                "NameError: name 'clock' is not defined\n1 failed in 0.22s",
                failed=True,
            ),
            edit("tests/test_cache.py", "def test_expiry_order()", "def test_expiry_order(clock: Clock)"),
            user("Always quarantine the test in the tracker first, so that it does not block others."),
            bash(
                f"GITLAB_TOKEN={GITLAB} glab issue create --title 'flaky: test_expiry_order' --label flaky",
                "https://git.acme.example/queue/-/issues/3312",
            ),
        ),
        project="/home/sam/repo",
        name="019a2f00-0000-7000-8000-000000000004",
    )
    return Kind(
        "flaky",
        codex,
        ".jsonl",
        Case(
            first, (CIRCLE,), ("88213", "test_drain_empties", "/home/sam"),
            ("500 runs",), ("un-reentrant lock",),
        ),
        Case(
            second, (CIRCLE, GITLAB), ("90177", "test_expiry_order", "3312", "/home/sam"),
            ("quarantine",), ("is not defined",),
        ),
        ("Edit", "Bash(pytest:*)"),
        (
            "Read", "Bash(curl:*)", "Bash(rg:*)", "Bash(sed:*)", "Bash(ruff check:*)", "Bash(mypy:*)",
            "Bash(glab issue create:*)",
        ),
        "a unit test passes most of the time but not always, hunt down the reason",
    )  # fmt: skip
