"""Data and media: invoices, a table, people who must not be recognised, films."""

from __future__ import annotations

from learning.episodes import Part, bash, calls, read, says, session, user, write
from learning.recordings import anthropic, codex, hermes, openai

from journeys.transcripts.model import Case, Kind, made

STRIPE = made("sk_live_", 32)
SMTP = made("Mail", 12) + "!4"
WAREHOUSE = made("wh", 22) + "8"
SNOWFLAKE = made("Fl", 16) + "%3"
SALT = made("", 44) + "="
SENDGRID = made("SG.", 22) + "." + made("", 43)
SIGNATURE = made("", 40, "0123456789abcdef")
RENDER = made("hf_", 37)


def _invoices(month: str, customer: str, number: str, count: str, ask: str, *more: Part) -> list[Part]:
    home = f"/home/vera/billing/{month}"
    return [
        user(ask),
        bash(f"ls {home}", "hours.csv\nlogo.svg"),
        read(f"{home}/hours.csv", f"customer,hours,rate\n{customer},12.5,140\n"),
        says("Let me write the script that renders the invoices."),
        write(
            "/home/vera/billing/render.py",
            "import csv, sys\nfrom jinja2 import Template\nfrom weasyprint import HTML\n\n"
            "for row in csv.DictReader(open(sys.argv[1])):\n"
            "    page = Template(open('invoice.html').read()).render(row)\n"
            "    HTML(string=page).write_pdf(f\"{sys.argv[2]}/{row['customer']}.pdf\")\n",
        ),
        *more,
        bash(
            f"python3 /home/vera/billing/render.py {home}/hours.csv {home}/out",
            f"rendered {count} invoices to {home}/out",
        ),
        says("Next, I'll check the PDFs."),
        bash(f"pdfinfo {home}/out/'{customer}.pdf'", "Pages:           1\nPDF version:     1.7"),
        bash(f"qpdf --check {home}/out/'{customer}.pdf'", "No syntax or stream encoding errors found"),
        calls(
            "mcp__ledger__book",
            {"invoice": number, "customer": customer, "auth": {"password": SMTP}},
            '{"booked": true}',
        ),
        bash(
            f"swaks --server smtp.acme.example --auth-user billing --auth-password '{SMTP}' --attach {home}/out/"
            f"'{customer}.pdf' --to office@acme.example",
            "250 2.0.0 Ok: queued",
        ),
        says(f"All {count} invoices are rendered, booked and sent."),
    ]


def invoices() -> Kind:
    first = session(
        *_invoices(
            "2026-02",
            "Nordwind GmbH",
            "RE-2026-0217",
            "14",
            "Make the invoices for 2026-02: one PDF for each row of /home/vera/billing/2026-02/hours.csv, book invoice "
            "RE-2026-0217 for Nordwind GmbH in the ledger and mail them to the office.",
            bash(
                "python3 /home/vera/billing/render.py /home/vera/billing/2026-02/hours.csv "
                "/home/vera/billing/2026-02/out",
                "OSError: cannot load library 'libpango-1.0-0': error 0x7e",
                failed=True,
            ),
            says("WeasyPrint needs Pango."),
            bash("sudo apt-get install -y libpango-1.0-0 libpangoft2-1.0-0", "Setting up libpango-1.0-0 ..."),
            user("Use a comma as the decimal separator on the invoice, never a point."),
            bash(f"STRIPE_API_KEY={STRIPE} stripe customers list --limit 3", '{"data": []}'),
        ),
        project="/home/vera/billing",
        name="20260301_090000_ab12cd",
    )
    second = session(
        *_invoices(
            "2026-03",
            "Delta Optik AG",
            "RE-2026-0341",
            "9",
            "Please make the March invoices. The hours are in /home/vera/billing/2026-03/hours.csv, one PDF per row; "
            "book "
            "RE-2026-0341 for Delta Optik AG in the ledger, and mail all of them to the office.",
            user("what is the VAT rate in Switzerland?"),
            says("8.1 percent. I'll go on."),
            bash(
                "python3 /home/vera/billing/render.py /home/vera/billing/2026-03/hours.csv "
                "/home/vera/billing/2026-03/out",
                "FileNotFoundError: [Errno 2] No such file or directory: '/home/vera/billing/2026-03/out/Delta Optik "
                "AG.pdf'",
                failed=True,
            ),
            bash("mkdir -p /home/vera/billing/2026-03/out", ""),
            user("Remember to put the customer's VAT number on each invoice."),
        ),
        project="/home/vera/billing",
        name="20260401_090000_ef34ab",
    )
    return Kind(
        "invoices",
        hermes,
        ".jsonl",
        Case(
            first, (SMTP, STRIPE), ("2026-02", "Nordwind", "RE-2026-0217", "/home/vera", " 14 "),
            ("decimal separator",), ("libpango",),
        ),
        Case(
            second, (SMTP,), ("2026-03", "Delta Optik", "RE-2026-0341", "/home/vera", " 9 "),
            ("VAT number",), ("No such file or directory",),
        ),
        ("Write",),
        (
            "Read", "Bash(pdfinfo:*)", "Bash(qpdf:*)", "Bash(swaks:*)", "Bash(apt-get install:*)", "Bash(mkdir:*)",
            "Bash(stripe customers list:*)", "Bash(stripe customers:*)",
        ),
        "turn the hours of the month into invoices for our clients",
    )  # fmt: skip


_CLEANING = """import sys
import pandas as pd

df = pd.read_csv(sys.argv[1], sep=";", decimal=",", encoding="{encoding}")
df = df.dropna(subset=["order_id"]).drop_duplicates("order_id")
df["net"] = df["gross"] / (1 + df["vat_rate"])
df.to_parquet(sys.argv[2], index=False)
print(f"wrote {{len(df)}} rows")
"""


def _cleaning(store: str, month: str, rows: str, ask: str, *more: Part) -> list[Part]:
    source, target = f"/mnt/exports/{store}/sales-{month}.csv", f"/mnt/clean/{store}-{month}.parquet"
    return [
        user(ask),
        says("I'll fetch the export and look at it."),
        bash(
            f"curl -fsS -u loader:{WAREHOUSE} -o {source} https://warehouse.acme.example/exports/{store}/{month}",
            "",
        ),
        bash(f"head -3 {source}", "order_id;gross;vat_rate\nA-88123;11,90;0,19\nA-88123;11,90;0,19"),
        says("Let me write the cleaning script."),
        write("/mnt/clean/clean_sales.py", _CLEANING.format(encoding="utf-8")),
        *more,
        bash(f"python3 /mnt/clean/clean_sales.py {source} {target}", f"wrote {rows} rows"),
        says("Now I'll check the result."),
        bash(
            f"python3 -c \"import pandas as pd; df = pd.read_parquet('{target}'); assert df.order_id.is_unique; "
            'print(df.net.isna().sum())"',
            "0",
        ),
        bash(
            f"SNOWSQL_PWD='{SNOWFLAKE}' snowsql -a acme -q \"put file://{target} @staging\"",
            f"| {store}-{month}.parquet | UPLOADED |",
        ),
        says(f"Saved to {target}: {rows} rows, no duplicates, no empty values."),
    ]


def cleaning() -> Kind:
    run = "python3 /mnt/clean/clean_sales.py"
    first = session(
        *_cleaning(
            "bern",
            "2025-11",
            "10412",
            "Clean the sales export of the store bern for 2025-11 with pandas: drop duplicate orders, add the net "
            "amount, save "
            "it as /mnt/clean/bern-2025-11.parquet and upload it to the staging area.",
            bash(
                f"{run} /mnt/exports/bern/sales-2025-11.csv /mnt/clean/bern-2025-11.parquet",
                "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xfc in position 4711: invalid start byte",
                failed=True,
            ),
            says("The export is Windows-1252."),
            write("/mnt/clean/clean_sales.py", _CLEANING.format(encoding="cp1252")),
            user("Keep returns (negative gross) in the data, do not drop them."),
        ),
        name="chat",
    )
    second = session(
        *_cleaning(
            "basel",
            "2026-01",
            "8807",
            "Please clean the sales export 2026-01 of the store basel with pandas. Duplicate orders out, net amount "
            "in, result "
            "to /mnt/clean/basel-2026-01.parquet, then upload it to staging.",
            user("how do I spell Basel in French?"),
            says("Bâle. Going on with the data."),
            bash(
                f"{run} /mnt/exports/basel/sales-2026-01.csv /mnt/clean/basel-2026-01.parquet",
                "ImportError: Unable to find a usable engine; tried using: 'pyarrow', 'fastparquet'.",
                failed=True,
            ),
            bash("pip install pyarrow", "Successfully installed pyarrow-19.0.1"),
            user("Actually, sort by order date before you drop duplicates, so that the latest one stays."),
            write(
                "/mnt/clean/clean_sales.py",
                _CLEANING.format(encoding="cp1252").replace(
                    "df = df.dropna", 'df = df.sort_values("ordered_at")\ndf = df.dropna'
                ),
            ),
            calls("mcp__catalog__tag", {"dataset": "sales", "tag": "clean", "api_key": WAREHOUSE}, '{"ok": true}'),
        ),
        name="chat",
    )
    return Kind(
        "cleaning",
        openai,
        ".json",
        Case(
            first, (WAREHOUSE, SNOWFLAKE), ("2025-11", "10412", "/mnt/exports/bern", "A-88123", "4711", "bern-"),
            ("returns",), ("UnicodeDecodeError",),
        ),
        Case(
            second, (WAREHOUSE, SNOWFLAKE), ("2026-01", "8807", "/mnt/exports/basel", "A-88123", "basel-"),
            ("order date",), ("Unable to find a usable engine", "pyarrow"),
        ),
        ("Write",),
        ("Read", "Bash(curl:*)", "Bash(snowsql:*)", "Bash(pip install:*)", "mcp__catalog__tag"),
        "remove double rows from the shop's sales table and compute the net price",
    )  # fmt: skip


def _export(customer: str, request: str, person: str, rows: str, ask: str, *more: Part) -> list[Part]:
    out = f"/secure/exports/{request}"
    return [
        user(ask),
        says("Let me see which tables hold data of this customer."),
        calls("mcp__warehouse__tables", {"customer": customer}, '["orders", "tickets", "logins"]'),
        bash(f"mkdir -p {out}", ""),
        bash(
            f"dwh export --customer {customer} --tables orders,tickets,logins --out {out}",
            f"exported {rows} rows",
        ),
        *more,
        says("Now I'll anonymise it."),
        bash(
            f"HASH_SALT={SALT} anonymise --config /etc/anonymise/gdpr.yaml --in {out} --out {out}/anon",
            f"{rows} rows, 11 columns hashed, 4 dropped",
        ),
        says("I'll look whether a name or an address is left."),
        bash(f"pii-scan --fail-on any {out}/anon", "0 findings"),
        bash(f"tar czf {out}.tar.gz -C {out} anon", ""),
        bash(f"age -r age1vend0rxq -o {out}.tar.gz.age {out}.tar.gz", ""),
        calls(
            "mcp__tickets__attach",
            {"ticket": request, "path": f"{out}.tar.gz.age", "headers": {"Authorization": f"Bearer {SENDGRID}"}},
            '{"attached": true}',
        ),
        bash(f"shred -u {out}.tar.gz && rm -rf {out}", ""),
        says(f"The export for {request} is attached; nothing of {person} is left on the machine."),
    ]


def export() -> Kind:
    first = session(
        *_export(
            "C-77120",
            "GDPR-581",
            "Mirjam Haller",
            "20931",
            "GDPR request GDPR-581 from Mirjam Haller (mirjam.haller@example.org), customer C-77120: export all of the "
            "customer's data, anonymise it, encrypt the archive and attach it to the ticket.",
            bash("cat /etc/anonymise/gdpr.yaml", "hash: [email, phone]\ndrop: [iban]"),
            bash(
                "anonymise --config /etc/anonymise/gdpr.yaml --in /secure/exports/GDPR-581 --out "
                "/secure/exports/GDPR-581/anon",
                "anonymise: error: HASH_SALT is not set",
                failed=True,
            ),
            says("It needs the salt of the team."),
            user("Never hash with an empty salt, and don't put the salt on disk."),
        ),
        name="messages",
    )
    second = session(
        *_export(
            "C-81004",
            "GDPR-602",
            "Piet de Boer",
            "1187",
            "Customer C-81004 (Piet de Boer, piet@example.net) asks for all data, ticket GDPR-602. Export the "
            "customer's data, "
            "anonymise it, encrypt it, attach it to the ticket.",
            user("Who won the Tour de France in 1986?"),
            says("Greg LeMond. I'll continue."),
            bash(
                "pii-scan --fail-on any /secure/exports/GDPR-602",
                "tickets.csv:118: free text holds a phone number\n1 finding",
                failed=True,
            ),
            says("Free text has to be scrubbed as well."),
            bash("scrub-text --columns body,subject /secure/exports/GDPR-602/tickets.csv", "rewrote 61 rows"),
            user("Don't forget the audit entry: every export has to be logged before it leaves."),
            calls(
                "mcp__audit__log",
                {"event": "export", "ticket": "GDPR-602", "token": SENDGRID},
                '{"logged": true}',
            ),
        ),
        name="messages",
    )
    return Kind(
        "export",
        anthropic,
        ".jsonl",
        Case(
            first, (SALT, SENDGRID), ("C-77120", "GDPR-581", "Mirjam", "Haller", "20931"),
            ("empty salt",), ("HASH_SALT is not set",),
        ),
        Case(
            second, (SALT, SENDGRID), ("C-81004", "GDPR-602", "Piet", "de Boer", "1187", "118"),
            ("audit entry",), ("phone number", "scrub-text"),
        ),
        ("Bash(dwh export:*)", "Bash(anonymise:*)", "Bash(pii-scan:*)"),
        (
            "Read", "mcp__warehouse__tables", "Bash(mkdir:*)", "Bash(tar:*)", "Bash(age:*)", "Bash(shred:*)",
            "Bash(rm:*)",
            "Bash(scrub-text:*)", "mcp__audit__log",
        ),
        "a customer wants a copy of the personal data that we keep",
    )  # fmt: skip


def _video(film: str, address: str, seconds: str, asset: str, ask: str, *more: Part) -> list[Part]:
    work = f"/scratch/{film}"
    return [
        user(ask),
        says("I'll fetch the master and look at it."),
        bash("df -h /scratch", "/dev/nvme1n1  1.8T  611G  1.1T  36% /scratch"),
        bash(
            f"curl -fsS -o {work}/master.mov 'https://media.acme.example/{address}.mov?Expires=1772366400"
            f"&Signature={SIGNATURE}'",
            "",
        ),
        bash(
            f"ffprobe -v error -show_entries format=duration -of csv=p=0 {work}/master.mov",
            seconds,
        ),
        *more,
        says("Now I'll transcode it to the three renditions."),
        bash(
            f"for h in 1080 720 480; do ffmpeg -y -i {work}/master.mov -vf scale=-2:$h -c:v libx264 -crf 21 -preset "
            "slow "
            f"-c:a aac -b:a 128k {work}/$h.mp4; done",
            "video:812331kB audio:41210kB subtitle:0kB",
        ),
        bash(
            f"ffmpeg -y -i {work}/1080.mp4 -c copy -hls_time 6 -hls_playlist_type vod {work}/index.m3u8",
            "muxing overhead: unknown",
        ),
        says("I'll compare the quality with the master."),
        bash(
            f"ffmpeg -i {work}/1080.mp4 -i {work}/master.mov -lavfi libvmaf -f null -",
            "VMAF score: 95.81",
        ),
        calls(
            "mcp__library__publish",
            {"asset": asset, "path": f"{work}/index.m3u8", "secret": RENDER},
            '{"published": true}',
        ),
        bash(f"rm -r {work}", ""),
        says(f"{asset} is published in three renditions."),
    ]


def video() -> Kind:
    first = session(
        *_video(
            "harbour-tour",
            "masters/2026/0311/harbour-tour",
            "1843.2",
            "AST-90417",
            "Transcode the film harbour-tour (asset AST-90417) for the web: master from the media server, H.264 in "
            "1080, 720 "
            "and 480 lines, an HLS playlist, check the VMAF score, publish it in the library.",
            bash(
                "ffmpeg -y -i /scratch/harbour-tour/master.mov -c:v libx264 -crf 21 /scratch/harbour-tour/1080.mp4",
                "[libx264] height not divisible by 2 (1920x1081)\nConversion failed!",
                failed=True,
            ),
            says("The height is odd; the scale filter has to round it."),
            user("Don't use preset veryfast for masters, always slow."),
        ),
        project="/scratch",
        name="019a2f00-0000-7000-8000-000000000005",
    )
    second = session(
        *_video(
            "spring-keynote",
            "masters/2026/0502/spring-keynote",
            "5402.9",
            "AST-91230",
            "Please transcode spring-keynote for the web, asset AST-91230. Get the master from the media server, "
            "H.264 at 1080, "
            "720 and 480, HLS playlist, VMAF check, then publish in the library.",
            bash("nproc", "64"),
            user("what does VMAF mean?"),
            says("Video Multimethod Assessment Fusion, a measure of perceived quality. Continuing."),
            bash(
                "ffmpeg -y -i /scratch/spring-keynote/master.mov -af loudnorm -vn /scratch/spring-keynote/audio.wav",
                "Stream map matches no streams: the file has 8 mono tracks\nConversion failed!",
                failed=True,
            ),
            says("The tracks have to be merged first."),
            bash(
                "ffmpeg -y -i /scratch/spring-keynote/master.mov -filter_complex amerge=inputs=8 -ac 2 "
                "/scratch/spring-keynote/audio.wav",
                "size=  998412kB",
            ),
            user("Please normalise the loudness to -16 LUFS in future, every time."),
        ),
        project="/scratch",
        name="019a2f00-0000-7000-8000-000000000006",
    )
    return Kind(
        "video",
        codex,
        ".jsonl",
        Case(
            first, (SIGNATURE, RENDER), ("harbour-tour", "AST-90417", "1843.2", "0311", "812331"),
            ("veryfast",), ("not divisible by 2",),
        ),
        Case(
            second, (SIGNATURE, RENDER), ("spring-keynote", "AST-91230", "5402.9", "0502", "812331"),
            ("LUFS",), ("mono tracks", "amerge"),
        ),
        ("Bash(ffmpeg:*)",),
        ("Read", "Bash(ffprobe:*)", "Bash(curl:*)", "Bash(rm:*)"),
        "encode a movie for streaming in several sizes",
    )  # fmt: skip
