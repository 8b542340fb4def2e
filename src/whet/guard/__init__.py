"""Is it safe: scanning packages, deciding what a finding means for whom, permissions of tools, and the sandbox.

The way of a scan (`scan`): `reading` makes texts of bytes, also of the hidden ones -> checkers by kind of text (`prose`,
`shell`, `python`, `javascript`, `code`, `manifests`, `secrets`) give hits and facts -> `flow` joins the facts of several files
-> findings, weighed by where they stand and what the package is about (`subject`) -> verdict -> `policy`.
"""
