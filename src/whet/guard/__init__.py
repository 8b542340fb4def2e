"""The guard: scans packages, decides what a finding means for whom, and limits the tools and programs of skills.

The steps of a scan (`scan`): `reading` turns bytes into texts, including hidden ones -> checkers by kind of text (`prose`,
`shell`, `python`, `javascript`, `code`, `manifests`, `secrets`) return hits and facts -> `flow` joins the facts of several
files -> findings, weighed by their place and by the subject of the package (`subject`) -> verdict -> `policy`.
"""
