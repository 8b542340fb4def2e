"""Durable state shared by the other rooms: atomic files, locks, the embedded database, blobs, the home and the clock.

Import the module you need (`whet.store.atomic`, `whet.store.database`, ...); this package imports nothing, so that a
command that only reads need not load SQLite.
"""
