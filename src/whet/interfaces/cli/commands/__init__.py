"""The commands, in files by subject; `whet.interfaces.cli.verbs` says how to add one."""
