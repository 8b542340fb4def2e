"""One door to language models of any provider. Everything in Whet works without one; a model only makes it better.

`model` has the values and the one method that callers know; `providers` opens a model by its name. What is sent goes
through layers, each of which does one thing:

    Budgeted -> Structured (answers by a schema) -> Retrying (waits and tries again) -> Client (one request)

`Recorded` and `Scripted` stand in for all of it where there is no network. The libraries of providers are imported
when the first request is made.
"""
