"""From facts to a skill: `draft` makes one without a model; everything a person decides comes in as answers."""
