"""The only access to language models of any provider. Everything in Whet works without one; a model only improves it.

`model` has the values, the one method that callers know, and budgets; `providers` opens a model by its name, with its
key. `client` asks it through pydantic-ai: agents, output types, retries. `recorded` replays answers without a network,
`scripted` lets a function answer, and `panel` lets several models vote. The libraries of providers are imported when
the first request is made.
"""
