"""Skills on disk: where they lie, which of them count, and what is told about each.

`roots` says where to look, `discovery` walks, `cache` remembers, `catalogue` decides who wins, `readiness` and
`visibility` answer the two other questions about a skill, `disclosure` gives it out tier by tier, `doctor` tells what
is wrong.
"""
