"""Model input: the index of skills, the message that loads one, and the session that remembers loaded ones.

Everything here that enters a context is bounded, byte-stable for equal input, and comes with a report of what was
shortened or left out.
"""
