"""CHANGING skills: what is done to one is computed as a value first, then written whole, with its history.

`patching`, `versions`, `merging` and `drafts` are pure. `trees` puts a skill's files on disk in one step, `journal`
keeps what was, `writer` brings the two together so that nothing is lost, `manage` is the agent's hand, `changes` the
answers.
"""
