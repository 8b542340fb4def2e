"""What a shell command was about: the programs and sub-commands it ran, whether it only looked.

The reader is the guard's: wrappers (`sudo`, `env`, `timeout`), lists, loops and scripts inside scripts are seen
through. Nothing here is ever run.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.permissions.programs import program_tables
from whet.guard.shell.commands import parse
from whet.guard.shell.wrappers import INTERPRETERS, inner, name_of, unwrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.guard.shell.command import Command
    from whet.guard.shell.words import Word

COMMANDED = frozenset(
    """
    git gh glab hub npm pnpm yarn bun npx bunx uvx pnpx corepack docker docker-compose podman kubectl oc helm terraform
    tofu pulumi cargo go pip pip3 pipx uv poetry pdm conda mamba pipenv hatch apt apt-get dnf yum brew snap systemctl
    journalctl aws gcloud az gsutil flyctl heroku vercel netlify wrangler trivy grype syft snyk alembic flask
    django-admin rails bundle rake gem composer artisan mvn gradle gradlew just task dotnet rustup nvm ansible-galaxy
    vault consul nomad kind minikube k3d kustomize skaffold argocd flux istioctl eksctl doctl hugo jekyll mkdocs
    openssl nox tox invoke deno swift flutter dart mix rebar3 stack cabal opam sbt ember ng vue expo firebase supabase
    prisma sequelize typeorm knex dbt airflow prefect dagster mlflow dvc wandb huggingface-cli ollama modal ray sam cdk
    serverless sls semgrep codeql cosign crane skopeo buildah packer vagrant virsh nmcli ip tailscale wg restic borg
    rclone whet claude codex hermes make gmake cmake twine ruff stripe infracost terragrunt pre-commit
    """.split()  # noqa: SIM905  a paragraph of names reads better than a list of a hundred strings
)
"""Programs whose first word says what they do."""
_TARGETS = frozenset("make gmake just task rake tox nox invoke gradle gradlew mvn sbt".split())  # noqa: SIM905  names
"""Those whose words are all of the same rank."""
_OPERANDS = frozenset(
    """
    ls cat head tail grep rg egrep fgrep ack ag find fd wc file stat tree less more sort uniq cut column diff cmp sed
    awk gawk tr tee xargs jq yq bat nl tac strings xxd which whereis whatis man type locate basename dirname realpath
    readlink mkdir rmdir rm cp mv ln touch chmod chown chgrp dd shred truncate install sync mount umount kill pkill
    killall pgrep ps top free du df date seq expr bc time sleep id groups su passwd useradd usermod userdel groupadd
    hostname ping dig nslookup host whois traceroute nc ncat telnet ssh scp sftp rsync curl wget http aria2c lftp tar
    gzip gunzip bzip2 xz zstd zip unzip 7z rar gpg age base64 md5sum sha256sum patch gcc g++ cc clang clang++ ld ar
    strip javac java rustc tsc babel esbuild webpack rollup black isort flake8 pylint mypy pyright pytest py.test
    nosetests eslint prettier stylelint shellcheck shfmt hadolint yamllint markdownlint codespell lychee bandit vulture
    jest mocha vitest bats rspec phpunit convert magick mogrify identify montage ffmpeg ffprobe sox exiftool oxipng
    optipng pngquant jpegoptim pandoc pdftotext pdfinfo pdftoppm qpdf pdftk gs tesseract latex pdflatex xelatex dot
    gnuplot soffice libreoffice weasyprint wkhtmltopdf psql mysql mysqldump sqlite3 mongosh redis-cli createdb dropdb
    createuser dropuser pg_dump pg_restore snowsql bq code vim vi nano emacs open xdg-open service crontab at screen
    tmux nohup watch say hyperfine ab wrk iperf3 nmap tcpdump strace ltrace gdb lldb valgrind perf printenv lsof fuser
    ulimit getent
    """.split()  # noqa: SIM905  a paragraph of names reads better than a list of two hundred strings
)
"""Programs whose words are files, hosts, patterns or names."""
_ACTIONS = frozenset(
    """
    abort activate add analyse analyze annotate apply approve archive assign attach audit auth autoremove backup bench
    bind blame boot branch build bump bundle cancel cat change check checkout clean clear clone close commit compile
    compose compress configure connect convert copy cordon cp create current deactivate debug decrypt delete deploy
    describe destroy detach diff disable dist doctor download downgrade drain drop dump edit enable encrypt eval
    evaluate exec expand explain export expose fetch find fix fmt format forward generate get grant help history import
    index info init inspect install invalidate invoke kill label lint list load lock log login logout logs ls merge
    migrate monitor mount move mv new open optimize outdated pack package patch pause pin ping plan play preview
    promote prune publish pull purge push put query read rebase rebuild refresh register release reload remove rename
    render repair replace replicate reset resolve restart restore resume revert review revoke rm rollback rotate run
    sanitize save scale scan search seed select send serve server set setup share show shutdown sign squash stage start
    stat status stop submit sum switch sync tag tail test tidy train transform translate trigger uncordon undo
    uninstall unlock unpack up update upgrade upload use validate verify version view wait watch
    """.split()  # noqa: SIM905  a paragraph of words reads better than a list of two hundred strings
)
"""Words that everybody uses for what a program is to do."""
_PLACES = frozenset("src lib app docs doc tests public dist out output data content assets static bin".split())  # noqa: SIM905  words
"""Directories: after a program that is not known they are what it works on."""
_DEEP = {
    **{program: frozenset(runner.deep.split()) for program, runner in program_tables().runners.items()},
    "uv": frozenset(("run", "tool", "pip", "python")),
    "gh": frozenset(("pr", "issue", "repo", "release", "run", "workflow", "secret", "api")),
    "aws": frozenset(("s3", "ec2", "lambda", "iam", "ecs", "eks", "s3api", "rds", "logs", "cloudformation", "sts")),
    "gcloud": frozenset(("compute", "container", "run", "projects", "auth", "config", "sql", "functions", "storage")),
    "az": frozenset(("vm", "aks", "group", "storage", "webapp", "acr", "keyvault", "network", "account")),
    "kubectl": frozenset(("rollout", "config", "create", "auth")),
    "terraform": frozenset(("state", "workspace")),
    "helm": frozenset(("repo",)),
    "git": frozenset(("stash", "remote", "worktree", "submodule", "bisect")),
    "prisma": frozenset(("migrate", "db")),
}
"""Sub-commands that say little without the word behind them."""
_STARTS = frozenset(("run", "exec", "run-script", "x", "dlx"))
"""Those behind which something starts that has words of its own."""
_VALUED = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), "-C -w --prefix --dir --cwd --workspace --filter"),
    **dict.fromkeys(("kubectl", "oc", "helm"), "-n -s --namespace --context --kubeconfig --cluster --kube-context"),
    **dict.fromkeys(("docker", "podman", "docker-compose"), "-H -f -p --host --context --config --file --project-name"),
    **dict.fromkeys(("gh", "glab"), "-R --repo"),
    **dict.fromkeys(("make", "gmake", "just"), "-C -f --directory --file --makefile --justfile"),
    **dict.fromkeys(("npx", "bunx", "uvx", "pnpx"), "-p --package --from --with --python"),
    **dict.fromkeys(("conda", "mamba"), "-n -p --name --prefix"),
    "git": "-C -c --git-dir --work-tree --namespace",
    "aws": "--profile --region --output --endpoint-url --query",
    "gcloud": "--project --account --configuration --zone --region --format",
    "az": "-o --subscription --output --query",
    "cargo": "-C -Z --config --color",
    "uv": "-p --directory --project --python --config-file --cache-dir",
    "pip": "--python --proxy --log",
    "alembic": "-c -n -x --config --name",
    "flask": "-A --app -e --env-file",
    "ansible-galaxy": "-s --server",
    "systemctl": "-H -M --host --machine",
}
"""Options before the sub-command that are followed by a value."""
_FLAG = re.compile(
    r"-[AyqvdgsV]+|--(?:yes|quiet|silent|verbose|debug|global|user|json|offline|frozen|locked|isolated|no-[a-z-]+"
    r"|version|help|all|force|dry-run|color|plain|system)|[^=\s]+=.*|\+\S+"
)
"""Options that stand for themselves."""
_WORD = re.compile(r"[a-z][a-z0-9]{0,23}(?:[-_:][a-z0-9]{1,20}){0,3}")
_PLAIN_WORD = re.compile(r"[a-z]{2,20}(?:[-:][a-z]{1,20}){0,3}")
_SCRIPT = re.compile(r"(?:\./)?[\w-]{1,40}(?:/[\w.-]{1,40}){0,4}\.(?:py|sh|js|mjs|ts|rb|pl|php|R|jl)")
_GROUP = 3
"""Words within which a group comes to what is done."""


def label(name: str, words: Sequence[str]) -> str:
    """A program with its sub-command: `git commit`, `npm run build`, `python3 scripts/fill.py`."""
    if name in INTERPRETERS:
        return _interpreted(name, words)
    if name in _OPERANDS or not words:
        return name
    return " ".join((name, *_sub_command(name, _after_options(name, words))))


def _interpreted(name: str, words: Sequence[str]) -> str:
    """An interpreter with the script or module that it runs, unless that lies somewhere else."""
    if words[:1] == ["-m"] and len(words) > 1:
        return f"{name} -m {words[1]}"
    script = words[0] if words else ""
    return f"{name} {script.removeprefix('./')}" if _SCRIPT.fullmatch(script) else name


def _after_options(name: str, words: Sequence[str]) -> Sequence[str]:
    """The words behind the options of the program itself; of a program that is not known, none."""
    if name not in COMMANDED:
        return words if not words[0].startswith("-") else ()
    valued = _VALUED.get(name, "").split()
    at, sure = 0, True
    while at < len(words) and words[at].startswith(("-", "+")):
        known = words[at] in valued
        sure = sure and (known or _FLAG.fullmatch(words[at]) is not None)
        at += 2 if known else 1
    rest = words[at:]
    while not sure and rest and not (_is_action(rest[0]) or rest[0] in _DEEP.get(name, ())):
        rest = rest[1:]
    return rest


def _sub_command(name: str, words: Sequence[str]) -> Sequence[str]:
    """The first words as far as they are the sub-command."""
    known = name in COMMANDED
    if not words or not (_WORD if known else _PLAIN_WORD).fullmatch(words[0]):
        return ()
    operands = [word for word in words if not word.startswith("-")]
    if words[0] in _DEEP.get(name, ()):
        more = 2 if len(operands) > 1 and _WORD.fullmatch(operands[1]) else 1
        deeper = more == 2 < len(operands) and words[0] not in _STARTS and not _is_action(operands[1])
        return operands[: _GROUP if deeper and _is_action(operands[2]) else more]
    if name in _TARGETS or _is_action(words[0]):
        return words[:1]
    for at, word in enumerate(words[1:_GROUP], 2):
        if not _PLAIN_WORD.fullmatch(word):
            break
        if _is_action(word):
            return words[:at]
    return words[:1] if known or (len(words) > 1 and words[0] not in _PLACES) else ()


def _is_action(word: str) -> bool:
    return _WORD.fullmatch(word) is not None and (word in _ACTIONS or re.split(r"[-:]", word)[0] in _ACTIONS)


LONGEST = 20_000
"""Characters of a command that are read."""
_DEPTH = 3

BUILTIN = frozenset(
    """
    cd export echo printf set source . true false test [ [[ exit read pwd type command unset shift local declare return
    wait sleep pushd popd alias trap hash ulimit umask eval : let break continue exec shopt
    """.split()  # noqa: SIM905  a paragraph of names reads better than a list of forty strings
)
LOOKING = frozenset(
    """
    ls cat pwd head tail which find echo wc file stat tree grep rg egrep fgrep ack ag env printenv whoami id date du df
    ps uname hostname less more type command test [ [[ true false cd export printf sort uniq cut column fd locate
    whereis nproc free lscpu history realpath readlink basename dirname diff cmp md5sum sha256sum xxd strings jq
    nl bat tac sleep set exit read
    """.split()  # noqa: SIM905  a paragraph of names reads better than a list of eighty strings
)
_HOUSEKEEPING = frozenset(("mkdir", "cp", "mv", "rm", "touch", "chmod", "cd", "ln", "sleep"))
_LOOKING_ALSO = frozenset(
    """
    git status|git log|git diff|git show|git branch|git remote|git rev-parse|git blame|git ls-files|kubectl get
    kubectl describe|kubectl logs|kubectl config|docker ps|docker logs|docker images|docker inspect|npm ls|npm list
    npm view|pip list|pip show|pip freeze|gh pr view|gh pr list|gh issue view|gh issue list|gh run view|gh run list
    systemctl status|terraform show|helm list|cargo tree|go env|go version|apt list|brew list|conda list
    """.replace("\n", "|")
    .replace("    ", "")
    .split("|")
)
_HELP = frozenset(("--help", "-h", "help"))
_VERSION = _HELP | frozenset(("--version", "-V", "-version", "-v", "version", "-VV"))
_RUNNING = frozenset(("uv", "poetry", "pipenv", "pdm", "hatch"))
"""Programs whose `run` starts another one: both have to be named."""


class Ran(NamedTuple):
    """One program in a command."""

    label: str
    """The program with its sub-command: `git commit`, `npm run build`, `python3 scripts/fill.py`; "" for a builtin."""
    looks: bool
    """It only shows something."""
    help: bool
    """It was asked for its manual or version."""


@lru_cache(maxsize=8192)
def programs(command: str) -> tuple[Ran, ...]:
    """The programs a command runs, in order."""
    return tuple(_programs(command[:LONGEST], 0))


def _programs(text: str, depth: int) -> Iterator[Ran]:
    script = parse(text)
    for command in script.commands:
        if not command.argv or "heredoc" in command.inside or "error" in command.inside:
            continue
        argv = unwrapped(command.argv)
        name = name_of(argv)
        scripts = [one for one in inner(command) if one.language == "shell"] if depth < _DEPTH else []
        for one in scripts:
            yield from _programs(one.text, depth + 1)
        if not scripts and name not in script.functions and re.fullmatch(r"[a-z0-9.:\[][\w.+\[-]{0,40}", name):
            yield _ran(name, argv, command)


def _ran(name: str, argv: Sequence[Word], command: Command) -> Ran:
    words = [word.text for word in argv[1:]]
    writes = any(
        ">" in one.operator and "&" not in one.operator[1:] and not one.target.text.startswith("/dev/")
        for one in command.redirections
    )
    if name in BUILTIN:
        return Ran("", not writes, help=False)
    called = label(name, words)
    first = [word.text for word in command.argv[:2]]
    if len(command.argv) > 2 and first[1] == "run" and first[0] in _RUNNING:
        called = f"{first[0]} run" if command.argv[2].text.startswith("-") else f"{first[0]} run {called}"
    manual = bool(words) and words[-1] in _VERSION and len(words) <= 3
    looks = (name in LOOKING or called in _LOOKING_ALSO or manual) and not writes
    return Ran(called, looks, help=manual and words[-1] in _HELP)


def main_program(command: str) -> str:
    """What a command is about: the first program that neither looks nor only makes room, as people would call it."""
    ran = [one for one in programs(command) if one.label]
    ranked = sorted(ran, key=lambda one: (one.looks, one.label.partition(" ")[0] in _HOUSEKEEPING))
    words = ranked[0].label.split() if ranked else []
    return " ".join(word.rpartition("/")[2] for word in words)


def only_looks(command: str) -> bool:
    """Does a command only show something? One that runs nothing at all (`cd`, `export`) does, too."""
    return all(ran.looks for ran in programs(command))


def shape(command: str) -> tuple[str, ...]:
    """What two attempts at the same thing have in common: the programs that do not just look."""
    ran = [one for one in programs(command) if one.label]
    return tuple(dict.fromkeys(one.label for one in ran if not one.looks)) or tuple(
        dict.fromkeys(one.label for one in ran)
    )
