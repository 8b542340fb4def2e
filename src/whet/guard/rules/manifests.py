"""Rules for manifests, configurations, hooks and everything else that is run because of its name."""

from __future__ import annotations

from whet.guard.finding import Rule

_CHAIN = ("OWASP AST02", "CWE-829")
_AGENT = ("OWASP AST03",)

RULES: tuple[Rule, ...] = (
    Rule(
        "install-hook", "warn", "supply-chain",
        "Installing the package's dependencies runs a command of the package.",
        "It runs before anybody has read it, with the rights of the user.",
        "Do without the hook, or let the user run the command.", _CHAIN, mention=False,
    ),
    Rule(
        "install-hook-hidden", "critical", "supply-chain",
        "An install hook runs code that is decoded or fetched from an odd address.",
        "Nobody sees what runs, and it runs at once.",
        "Remove the hook.", ("OWASP AST02", "CWE-506"), mention=False,
    ),
    Rule(
        "unsafe-index", "critical", "supply-chain",
        "Packages are taken from an index that cannot be trusted.",
        "A raw address, plain http or a host exempt from certificate checks can hand out any code under any name.",
        "Use the official index.", ("OWASP AST02", "CWE-494"),
    ),
    Rule(
        "foreign-index", "warn", "supply-chain",
        "Packages are taken from an index that is not the official one.",
        "Whoever runs the index decides what is installed.",
        "Use the official index, or say whose index it is.", _CHAIN,
    ),
    Rule(
        "foreign-dependency", "warn", "supply-chain",
        "A dependency is taken from an address instead of a package index.",
        "What is behind the address can change, and no index checks it.",
        "Depend on a released version.", _CHAIN,
    ),
    Rule(
        "typosquat-dependency", "warn", "supply-chain",
        "A dependency has almost the name of a well-known package.",
        "Such names are registered to be installed by mistake.",
        "Check the name.", ("OWASP AST02", "CWE-1357"),
    ),
    Rule(
        "local-build-hook", "info", "supply-chain",
        "Building the package runs code of the package.",
        "The build backend or a compiler wrapper is a file of the package itself.",
        "Use a released build backend.", _CHAIN,
    ),
    Rule(
        "container-escape", "warn", "privilege",
        "A container is given the whole machine.",
        "Privileged mode, the Docker socket or the root file system make the container no border.",
        "Mount only what the task needs.", ("OWASP AST03", "CWE-250"),
    ),
    Rule(
        "workflow-secrets", "warn", "privilege",
        "A workflow runs the code of strangers with the repository's secrets.",
        "pull_request_target together with a checkout of the pull request's head hands the secrets to its author.",
        "Use pull_request, or do not check out the head.", ("CWE-829",),
    ),
    Rule(
        "mcp-server", "info", "privilege",
        "The package configures an MCP server.",
        "A server is a program, or a service, that the agent talks to.",
        "Check that the server is the one the skill is about.", _AGENT,
    ),
    Rule(
        "mcp-odd-server", "critical", "remote-execution",
        "An MCP server is fetched when it starts, or lies at an odd address.",
        "Whoever controls the address controls the agent's tools.",
        "Install a released server, or use the vendor's address over TLS.", ("OWASP AST01", "CWE-494"),
    ),
    Rule(
        "agent-hook", "info", "agent-tampering",
        "The package brings a hook that runs a command in the agent.",
        "Hooks run without being asked for.",
        "Read the command before installing.", _AGENT,
    ),
    Rule(
        "agent-permission-bypass", "warn", "agent-tampering",
        "Settings in the package switch off the questions that the agent asks.",
        "What the user would have been asked happens silently.",
        "Leave permissions to the user.", ("OWASP AST03", "CWE-269"),
    ),
    Rule(
        "agent-redirect", "critical", "agent-tampering",
        "Settings in the package send the agent's traffic to another host.",
        "The conversation and the key for the model go to whoever runs that host.",
        "Leave the base address alone.", ("OWASP AST01", "CWE-300"),
    ),
    Rule(
        "git-hook-shipped", "info", "persistence",
        "The package brings a git hook.",
        "It runs at the next commit or checkout where hooks are set up.",
        "Let the user install hooks.", ("CWE-829",),
    ),
    Rule(
        "runs-on-open", "warn", "persistence",
        "Opening the folder in an editor runs a command.",
        "Looking at the package is enough to run it.",
        "Remove runOn: folderOpen.", ("CWE-829",), mention=False,
    ),
    Rule(
        "autostart-shipped", "info", "persistence",
        "The package brings a file that starts a program by itself.",
        "Units, agents and cron tables run again and again once they are installed.",
        "Let the user decide what starts by itself.", ("CWE-829",),
    ),
    Rule(
        "python-startup-shipped", "critical", "persistence",
        "The package brings a file that Python runs at every start.",
        "sitecustomize, usercustomize and import lines in .pth files run in every Python program of the user.",
        "Remove it.", ("OWASP AST01", "CWE-506"), mention=False,
    ),
    Rule(
        "shell-startup-shipped", "info", "persistence",
        "The package brings a start-up file of a shell.",
        "It runs when a shell or a directory is entered, where it is installed.",
        "Say what it does.", ("CWE-829",),
    ),
    Rule(
        "agent-instructions-shipped", "info", "agent-tampering",
        "The package brings instructions that agents read by themselves.",
        "They speak to every agent that works in the folder.",
        "Keep instructions in SKILL.md.", _AGENT,
    ),
    Rule(
        "wide-tools", "info", "privilege",
        "The skill asks for every command.",
        "A bare Bash or a star grants more than any task needs.",
        "Name the commands, such as Bash(git status:*).", _AGENT,
    ),
    Rule(
        "metadata-command", "critical", "metadata",
        "A field of the frontmatter carries a command that runs what it fetches.",
        "Metadata are read by tools and models, and shown to nobody.",
        "Remove the command.", ("OWASP AST04",), mention=False,
    ),
    Rule(
        "odd-download", "warn", "fake-installer",
        "The skill's metadata have a tool downloaded from an address nobody knows.",
        "The download is run or installed as part of the setup.",
        "Use a package manager, or the vendor's own releases.", ("OWASP AST02", "CWE-494"),
    ),
)  # fmt: skip
