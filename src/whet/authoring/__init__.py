"""Changing skills: a change is computed as a value first, then written completely, with its history.

`patching`, `versions`, `merge` and `drafts` are pure. `trees` replaces a skill's files on disk in one step, `journal`
keeps the history, `writer` combines the two so that nothing is lost, `operations` reads an agent's calls, `results` has
the answers.
"""
