"""What a skill *is*: bytes and text in, values out. No disk, no clock, no network.

`frontmatter` reads a document, `dialects` turns it into a `model.Skill`, `validate` checks it, `edit` changes it
without touching another byte, `tree` computes the digest of the package, `archive` packs it, `names` and `paths` check
its words.
"""
