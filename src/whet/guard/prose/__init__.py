"""Running text: what it tells a model or a person to do, and the code that stands in it."""
