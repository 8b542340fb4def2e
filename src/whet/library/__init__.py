"""Skills on disk: where they are, which of them count, and how they are shown.

`roots` says where to look, `discovery` walks, `cache` remembers, `catalogue` decides which skill has a name,
`readiness` and `visibility` answer the two other questions about a skill, `disclosure` shows it tier by tier, `doctor`
reports problems.
"""
