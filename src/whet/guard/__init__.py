"""Is it safe: scanning packages, deciding what a finding means for whom, permissions of tools, and the sandbox.

The way of a scan: `documents` (bytes become texts, also the hidden ones) -> checkers by kind of text (`prose`, `shell`,
`python`, `javascript`, `manifests`, ...), each giving hits and facts -> `flow` (facts of several files together) ->
`context` (being a danger or speaking of one) -> findings -> verdict -> `policy`.
"""
