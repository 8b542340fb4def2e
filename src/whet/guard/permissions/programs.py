"""What is known of programs that can run other programs, or write where nobody looks. Only data.

A permission rule such as `Bash(git:*)` is about a program; these tables say where that program stops being itself:
interpreters and wrappers run anything, runners run what a project defines, and some options make a harmless program
start another one or write a file. `whet.guard.permissions.powers` reads them.
"""

from __future__ import annotations

from typing import NamedTuple

HARMLESS_VARIABLES = frozenset(
    (
        *("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "TZ"),
        *("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "CI"),
    )
)
"""Variables that change how a program writes and not what it does. All others need a rule that names them."""

SHELL_STATE = frozenset(
    (
        *("eval", "exec", "source", ".", "builtin", "alias", "unalias", "trap", "export", "declare", "typeset"),
        *("local", "readonly", "set", "shopt", "setopt", "enable", "hash", "unset", "bind", "complete", "compgen"),
        *(
            "compopt",
            "let",
            "read",
            "mapfile",
            "readarray",
            "getopts",
            "fc",
            "history",
            "coproc",
            "function",
            "emulate",
        ),
        *("zmodload", "autoload", "zle", "sched", "pushd", "popd", "wait", "exit", "return", "logout", "suspend"),
        *("if", "then", "for", "while", "until", "case", "select", "do", "done", "fi", "esac"),
    )
)
"""Words of the shell itself: they evaluate text once more, or change what later words mean."""

STRIPPED = {
    "timeout": (frozenset(("-k", "--kill-after", "-s", "--signal")), 1),
    "nice": (frozenset(("-n", "--adjustment")), 0),
    "nohup": (frozenset[str](), 0),
    "time": (frozenset[str](), 0),
    "stdbuf": (frozenset(("-i", "-o", "-e", "--input", "--output", "--error")), 0),
    "command": (frozenset[str](), 0),
}
"""Wrappers that change nothing: a rule for the program behind them is enough. Options with a value; words before it."""

STRIPPED_OPTIONS = {
    "timeout": r"-[vp]|-[ks]\w{1,10}|--(?:foreground|preserve-status|verbose)|--(?:kill-after|signal)=\w{1,10}",
    "nice": r"-n-?\d{1,3}|-\d{1,3}|--adjustment=-?\d{1,3}",
    "nohup": r"(?!)",
    "time": r"-p",
    "stdbuf": r"-[ioe][L\d]\w{0,5}|--(?:input|output|error)=[L\d]\w{0,5}",
    "command": r"-p",
}
STRIPPED_VALUE = r"-?[A-Za-z0-9.]{1,12}"
"""What the value of such an option, and the duration of `timeout`, looks like."""

WRAPPERS: dict[str, tuple[str, int]] = {
    "sudo": ("-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --chdir --chroot", 0),
    "doas": ("-u -C", 0),
    "env": ("-u -C -S --unset --chdir --split-string", 0),
    "xargs": ("-I -n -P -L -d -E -s -a -R -J -S", 0),
    "watch": ("-n --interval", 0),
    "setsid": ("", 0),
    "flock": ("-w -E --timeout", 1),
    "ionice": ("-c -n -p -t --class --classdata", 0),
    "chrt": ("-p -T -P -D", 1),
    "taskset": ("", 1),
    "chroot": ("", 1),
    "caffeinate": ("-t -w", 0),
    "xvfb-run": ("-n -s -e -f -p", 0),
    "busybox": ("", 0),
    "toybox": ("", 0),
    "unbuffer": ("", 0),
    "rlwrap": ("", 0),
    "timeout": ("-k -s --kill-after --signal", 1),
    "nice": ("-n --adjustment", 0),
    "stdbuf": ("-i -o -e --input --output --error", 0),
    "nohup": ("", 0),
    "time": ("-f -o", 0),
    "command": ("", 0),
}
"""Programs that run the command in their arguments: their options with a value, and the words before the command."""

OPAQUE = frozenset(
    (
        *(
            "parallel",
            "ssh",
            "mosh",
            "su",
            "runuser",
            "pkexec",
            "script",
            "scriptreplay",
            "screen",
            "tmux",
            "at",
            "batch",
        ),
        *("crontab", "systemd-run", "entr", "nodemon", "expect", "gdb", "lldb", "strace", "ltrace", "dtrace", "perf"),
        *("unshare", "nsenter", "bwrap", "firejail", "proot", "dbus-run-session", "ld.so", "runcon", "numactl"),
        *("socat", "nc", "ncat", "netcat", "telnet", "vi", "vim", "nvim", "view", "ex", "ed", "emacs", "nano", "pico"),
        *(
            "open",
            "xdg-open",
            "start",
            "osascript",
            "launchctl",
            "wine",
            "mysql",
            "psql",
            "sqlite3",
            "mongosh",
            "mongo",
        ),
        *("redis-cli", "ftp", "sftp", "lftp", "cmd", "wsl", "wscript", "cscript", "mshta", "rundll32", "certutil"),
        *("direnv", "vagrant", "ansible", "ansible-playbook", "m4", "gnuplot", "octave", "r", "mail", "mutt", "info"),
    )
)
"""Programs that run other things in so many ways that a rule has to name the whole command."""

INTERPRETERS: dict[str, str] = {
    **dict.fromkeys(("python", "pypy", "ipython", "pythonw", "py"), "-W -X --check-hash-based-pycs"),
    **dict.fromkeys(("sh", "bash", "zsh", "dash", "ksh", "ash", "mksh", "rbash", "fish", "csh", "tcsh"), "-o -O +o +O"),
    **dict.fromkeys(("node", "nodejs"), "-r --require --import --loader --experimental-loader -C --conditions"),
    **dict.fromkeys(("ruby", "irb", "jruby"), "-I -r -C -E"),
    **dict.fromkeys(("tsx", "ts-node", "zx"), "-r --require --import -P --project"),
    **dict.fromkeys(("perl", "php", "lua", "luajit", "rscript", "julia", "groovy", "scala", "kotlin"), "-I -d -c -l"),
    **dict.fromkeys(("java", "javaw"), "-cp -classpath --class-path -p --module-path"),
    **dict.fromkeys(("pwsh", "powershell", "elixir", "erl", "guile", "sbcl", "tclsh", "wish", "swift", "racket"), ""),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), "-F -v"),
}
"""Programs that run the code they are given, and their options whose value is neither code nor a script."""


class Runner(NamedTuple):
    """A program whose sub-commands run what a project, a registry or a container defines."""

    harmless: str = ""
    """Sub-commands that only look."""
    deep: str = ""
    """Sub-commands of which one more word has to be named: `npm run test`."""
    whole: str = ""
    """Sub-commands that carry a command: all of it has to be named."""


_NODE = Runner(
    "ls list ll view info show outdated ping whoami root prefix bin explain why search fund help version docs",
    "run run-script exec x dlx explore config set create init start-script",
)
RUNNERS: dict[str, Runner] = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _NODE),
    **dict.fromkeys(("npx", "bunx", "pnpx", "uvx", "corepack"), Runner()),
    **dict.fromkeys(("make", "gmake", "just", "task", "rake", "gradle", "gradlew", "mvn", "mvnw", "ant"), Runner()),
    **dict.fromkeys(("tox", "nox", "invoke", "fab", "composer", "bundle", "pre-commit", "lerna", "nx"), Runner()),
    "deno": Runner("info doc types lint", "run task eval x install"),
    "uv": Runner("tree version help", "run tool pip"),
    "pip": Runner("list show freeze check inspect help debug", ""),
    "pipx": Runner("list environment", "run install runpip"),
    **dict.fromkeys(("poetry", "pdm", "hatch", "pipenv", "conda", "mamba"), Runner("list info show", "run")),
    "cargo": Runner("tree metadata search version help locate-project pkgid", ""),
    "go": Runner("version list doc fmt help", "run tool"),
    "dotnet": Runner("--info list", "run exec tool"),
    **dict.fromkeys(
        ("docker", "podman", "nerdctl"),
        Runner(
            "ps images logs inspect version info stats top port diff history search events",
            "compose",
            "run exec create",
        ),
    ),
    "docker-compose": Runner("ps logs config images version top", "", "run exec"),
    **dict.fromkeys(
        ("kubectl", "oc"),
        Runner(
            "get describe logs version explain top cluster-info api-resources api-versions events auth",
            "config",
            "exec cp debug run attach proxy plugin edit",
        ),
    ),
    "systemctl": Runner("status show list-units list-unit-files is-active is-enabled cat", "start stop restart enable"),
    "gh": Runner(
        "pr issue repo release run workflow search status label browse api cache gist project ruleset org agent-task",
        "",
        "alias extension ext codespace cs auth secret ssh-key gpg-key config",
    ),
}

VERSION_FLAGS = frozenset(("--version", "-V", "--help", "-h", "-version", "-v"))


class Options(NamedTuple):
    """Options that make a program run another one, or write or send a file."""

    long: str = ""
    short: str = ""
    values: str = ""
    """Short options with a value: the letters behind them in the same word are no options."""
    exact: str = ""
    """Words that are options as they stand, such as those of find."""


_FIND = "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls -files0-from"
_NODE_OPTIONS = (
    "--script-shell --prefix --userconfig --globalconfig --node-options --call --package --registry --dir --cwd"
)
_INDEXES = "--index-url --extra-index-url --trusted-host --target --prefix --root --editable --find-links --index"

OPTIONS: dict[str, Options] = {
    **dict.fromkeys(("find", "gfind", "bfs"), Options(exact=_FIND)),
    **dict.fromkeys(("fd", "fdfind"), Options("--exec --exec-batch", "xX", "etdEScj")),
    **dict.fromkeys(("rg", "ripgrep"), Options("--pre --hostname-bin --search-zip", "z", "ABCegfmMtTrE")),
    **dict.fromkeys(("ag", "ack"), Options("--pager")),
    **dict.fromkeys(
        ("tar", "gtar", "bsdtar"),
        Options(
            "--to-command --checkpoint-action --use-compress-program --info-script --new-volume-script --rmt-command "
            "--rsh-command --absolute-names --remove-files",
            "IFP",
            "fCTXbLN",
        ),
    ),
    "rsync": Options(
        "--rsh --rsync-path --daemon --config --dparam --copy-as --remove-source-files --delete", "eM", "fTB"
    ),
    "scp": Options("", "oSFDJ", "cilPX"),
    "curl": Options(
        "--output --remote-name --remote-name-all --output-dir --config --upload-file --cookie-jar --dump-header "
        "--trace --trace-ascii --stderr --libcurl --etag-save --hsts --alt-svc --netrc-file --unix-socket "
        "--abstract-unix-socket --proxy --preproxy --engine --variable --insecure --cert --key --connect-to --resolve",
        "oOKTcDxkJE",
        "XHduAbeFmwrCyYzPQt",
    ),
    "wget": Options(
        "--output-document --output-file --append-output --use-askpass --input-file --post-file --body-file --execute "
        "--config --directory-prefix --save-cookies --load-cookies --warc-file --no-check-certificate --rejected-log",
        "OoaieP",
        "tTwQUlADIXRB",
    ),
    **dict.fromkeys(("sed", "gsed"), Options("--in-place --file", "if", "l")),
    **dict.fromkeys(
        ("awk", "gawk", "mawk", "nawk"),
        Options(
            "--file --exec --include --load --source --dump-variables --profile --pretty-print --debug",
            "fEileopdDW",
            "Fv",
        ),
    ),
    "less": Options("--log-file --LOG-FILE --lesskey-file --lesskey-src --tag", "oOkt+", "bhjPpxyz"),
    "more": Options("", "+"),
    "man": Options("--pager --html --preprocessor --config-file --extension", "PHC", "lMLSrse"),
    "zip": Options("--test --unzip-command --move --delete", "Tmd", "bntix"),
    "split": Options("--filter"),
    "sort": Options("--compress-program --output --temporary-directory --files0-from", "oT", "kSt"),
    **dict.fromkeys(("shuf", "iconv", "xxd"), Options("--output", "o", "nift")),
    "tree": Options("", "o", "LPIH"),
    "jq": Options("--from-file --run-tests --library-path", "fL"),
    **dict.fromkeys(("yq", "perltidy", "prettier"), Options("--inplace --write --plugin --config", "i")),
    "date": Options("--set --file", "sf", "dr"),
    "env": Options("--split-string --chdir", "SC", "u"),
    "nmap": Options("--script --script-args --interactive --datadir --resume", exact="-iL -oN -oX -oG -oA -oS"),
    "tcpdump": Options("--postrotate-command", "zw", "ircsGCF"),
    "pandoc": Options(
        "--filter --lua-filter --pdf-engine --output --defaults --extract-media --data-dir", "FLod", "ftVMH"
    ),
    "test": Options("", "vR"),
    "printf": Options("", "v"),
    **dict.fromkeys(
        ("make", "gmake"),
        Options(
            "--file --makefile --directory --eval --include-dir --old-file --environment-overrides", "fCIEoW", "jlO"
        ),
    ),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun", "npx", "bunx", "pnpx"), Options(_NODE_OPTIONS, "cpC")),
    **dict.fromkeys(("pip", "pipx", "uvx"), Options(_INDEXES, "ietf", "rc")),
    "uv": Options(f"{_INDEXES} --with --with-editable --with-requirements --python --directory --project", "", ""),
    "cargo": Options("--config --manifest-path --target-dir", "CZ", "pFj"),
    "go": Options("", "", "", "-exec -toolexec -overlay -vettool -modfile -o -w -C --exec --toolexec"),
    **dict.fromkeys(("kubectl", "oc"), Options("--kubeconfig --server --as --token --raw", "s", "nlfoLcA")),
    **dict.fromkeys(
        ("docker", "podman"), Options("--host --config --context --volume --mount --privileged", "Hv", "ftneuwp")
    ),
    **dict.fromkeys(
        ("gradle", "gradlew", "mvn", "mvnw"), Options("--init-script --build-file --file --project-dir", "IbfpD", "x")
    ),
    **dict.fromkeys(("diff", "sdiff", "diff3"), Options("--diff-program --output", "o")),
    "gpg": Options("--exec-path --photo-viewer --options --output --export-secret-keys", "o"),
    **dict.fromkeys(
        ("pytest", "py.test"), Options("--rootdir --confcutdir --pdbcls --basetemp --override-ini", "pco", "kmnW")
    ),
    **dict.fromkeys(
        ("eslint", "jest", "vitest", "webpack", "tsc"),
        Options("--rulesdir --resolve-plugins-relative-to --plugin --parser", ""),
    ),
    "gh": Options("--input --extension", "", "R", "--"),
    "openssl": Options("", "", "", "-engine -provider -provider-path -out -config"),
}

WRITERS = frozenset(
    (
        *(
            "tee",
            "dd",
            "cp",
            "mv",
            "ln",
            "install",
            "truncate",
            "touch",
            "rm",
            "unlink",
            "chmod",
            "chown",
            "rsync",
            "sponge",
        ),
        *("sed", "patch", "mkdir", "rmdir", "shred", "curl", "wget", "tar", "unzip", "zip", "scp", "sort", "split"),
    )
)
"""Programs that write, move or remove the files they are given."""
