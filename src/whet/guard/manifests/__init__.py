"""Manifests and configurations: what installing, opening or starting something brings about."""
