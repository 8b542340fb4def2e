"""`whet ui`: the pages over your own library. Each module has the pages of one subject, and no logic."""
