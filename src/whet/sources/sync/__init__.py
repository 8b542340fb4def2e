"""The same skills for several clients."""
