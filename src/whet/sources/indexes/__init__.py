"""Sources that list what they have over HTTP."""
