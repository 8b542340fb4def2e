"""Getting BETTER: what is used and whether it helped, what becomes of skills that nobody uses or that say the same.

`usage` counts without ever waiting; `curator` makes plans, which are values, and applies one that somebody wants.
"""
