"""What the model SEES: the index of skills, the message that loads one, the session that remembers what was loaded.

Everything here that enters a context is bounded, byte-stable for equal input, and comes with a report of what was
shortened or left out.
"""
