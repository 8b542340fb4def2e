"""The part of the front door that measures what skills are worth. `Library` is made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.api.choosing import Choosing

if TYPE_CHECKING:
    from whet.learning.models.door import Model


class Evaluating(Choosing):
    """Tests, evals, and what is improved because of them."""

    def model(self, spec: str | Model | None = None) -> Model | None:
        """The language model of that name, such as `openai:gpt-5`, or else the one that the settings name.

        A model is taken as it is; an empty name is no model, whatever the settings say.
        """
        named = self.lookout.survey().settings.model if spec is None else spec
        if not isinstance(named, str):
            return named
        if not named:
            return None
        from whet.learning.models.providers import open_model

        return open_model(named, self.place.env)
