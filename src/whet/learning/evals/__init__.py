"""Measuring skills: tests in a sandbox, evals with and without the skill, and decisions based on them.

`formats` reads evals, `evaluation` lets a model do them, `checks` and `grading` judge the results, `results` summarizes
them, `results_directory` stores them. `skill_tests` runs a skill's tests. `descriptions` improves a description, `gate`
decides whether a change of a skill may stay, `publication` whether a skill may be published.
"""
