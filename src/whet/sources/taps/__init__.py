"""Named sources, and looking for skills in them."""
