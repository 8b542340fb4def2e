"""The prompt room: what the model sees."""
