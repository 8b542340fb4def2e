"""A trigger set is made from a skill's text: what people ask of it, and what it says that it is not for."""

from __future__ import annotations

from whet.routing.evals.generated import EACH, generate
from whet.skill.dialects import read_skill
from whet.skill.frontmatter import read_document

INSTALL = """\
---
name: install-container
description: >-
  Pulls the container image and verifies the GPU. Use for Docker setups or image updates. Not for native installs
  or upgrades of the driver.
---

# Install

## Out of scope

- Kubernetes clusters

## Pull the image
"""


def test_what_a_skill_is_not_for_is_a_message_that_is_not_for_it_however_it_says_so() -> None:
    found = generate(read_skill(read_document(INSTALL)))
    away = ("kubernetes clusters", "native installs", "upgrades of the driver")
    assert found.should_not_trigger[: len(away)] == away
    assert len(found.should_trigger) == len(found.should_not_trigger) == EACH
    assert not [text for text in found.should_trigger for word in away if word in text]
