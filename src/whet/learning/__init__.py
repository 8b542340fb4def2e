"""Learning: usage and outcomes of skills, and the treatment of unused and duplicate skills.

`usage` counts without ever waiting; `curator` makes plans, which are values, and applies them on request.
"""
