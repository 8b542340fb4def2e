"""Web pages: `whet ui` over your own library, and the pages of a hub. Both use the same templates and the same rules.

`security` decides who is answered and what a browser may do with an answer, `markdown` makes safe HTML of a skill's
text, `charts` draws, `pages` turns the answers of the library into HTML or JSON, and `ui` has the pages themselves.
"""
