"""Checkers for manifests and configurations: the effects of installing, opening or starting something."""
