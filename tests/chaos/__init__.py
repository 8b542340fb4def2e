"""Chaos: processes that are killed, disks that are full, files that are damaged, and what must hold all the same."""
