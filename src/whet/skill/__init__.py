"""What a skill *is*: bytes and text in, values out. No disk, no clock, no network.

`frontmatter` reads a document, `dialects` turns what it says into one `model.Skill`, `validate` judges it, `edit`
changes it without touching another byte, `tree` gives the package its digest, `archive` its file, `names` and `paths`
its words.
"""
