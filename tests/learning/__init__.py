"""The learning room: what is used, what is kept of a session, and what a model adds."""
