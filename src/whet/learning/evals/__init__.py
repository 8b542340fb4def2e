"""Does a skill help? Its tests in a sandbox, its evals with and without it over a model, and what follows from that.

`formats` reads evals, `evaluation` has a model do them, `checks` and `grading` judge what came of it, `results` makes
numbers of it, `results_directory` keeps it. `skill_tests` runs a skill's tests. `descriptions` improves a description,
`gate` decides whether a change of a skill may stay, `publication` whether a skill may be given to others.
"""
