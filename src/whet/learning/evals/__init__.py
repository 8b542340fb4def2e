"""Does a skill help? Its tests in a sandbox, its evals with and without it over a model, and what follows from that.

`formats` reads evals, `running` has a model do them, `checks` and `grading` judge what came of it, `blind` compares
outputs in pairs, `statistics` makes numbers of it, `workspace` and `page` keep and show it. `testing` runs a skill's
tests. `optimiser` and `describing` improve a description, `gate` decides whether a change of a skill may stay. `answer`
is what is asked.
"""
