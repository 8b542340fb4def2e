"""A skill that fails its evals gets better, a few edits at a time, or stays as it is.

`edits` are small changes of a text, how they are applied, and how a model is asked for them; `improve` is the way from
one version to the next: measured, judged by the gate, and remembered where it was no good.
"""
