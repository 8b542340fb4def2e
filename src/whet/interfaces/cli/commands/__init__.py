"""The commands, in files by noun; `whet.interfaces.cli.verbs` says how to add one."""
