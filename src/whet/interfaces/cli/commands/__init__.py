"""One file for each command; `whet.interfaces.cli.verbs` says what each of them offers."""
