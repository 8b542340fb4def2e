"""A skill that fails its evals gets better, a few edits at a time, or stays as it is.

`edits` are small changes of a text and how they are applied, `asking` gets them from a model, `heard` is what people
said about a skill, `rejected` remembers what was no good, `trying` measures and judges candidates, `rounds` is the way
from one version to the next, `improve` is what is asked.
"""
