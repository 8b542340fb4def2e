"""Getting BETTER: what is used and whether it helped, which skills say the same, what becomes of those nobody uses.

`usage` counts without ever waiting; `similar` compares; `curator` makes plans, which are values, from what `lifecycle`
remembers; `curating` applies a plan that somebody wants.
"""
