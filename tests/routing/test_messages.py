"""What is a message at all, and which messages are much alike."""

from __future__ import annotations

import pytest

from whet.errors import UsageError
from whet.routing.feedback import much_like
from whet.routing.texts import checked


def test_a_message_is_text_with_words() -> None:
    assert checked(" fill it ") == " fill it "
    for message, code, sentence in (
        ("", "message-empty", "The message is empty."),
        ("\n\t", "message-empty", "The message is empty."),
        (None, "bad-message", "A message is text; None is of type NoneType."),
        (b"fill it", "bad-message", "A message is text; b'fill it' is of type bytes."),
        ({"x": "y" * 200}, "bad-message", f"A message is text; {{'x': '{'y' * 73} is of type dict."),
    ):
        with pytest.raises(UsageError) as caught:
            checked(message)
        assert (caught.value.code, caught.value.message) == (code, sentence)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("fill in the customs form", "Fill the customs forms", True),
        ("fill in the customs form", "fill in the customs form for my brother in Turin tomorrow", False),
        ("fill in the customs form", "fill the bath", False),
        ("请签署租赁合同", "请签署租赁合同吧", True),
        ("请签署租赁合同", "请写一首诗", False),
        ("???", "???", True),
        ("???", "!!!", False),
    ],
)
def test_messages_that_share_most_of_their_terms_are_much_alike(one: str, other: str, alike: bool) -> None:
    assert (much_like(one, ["sing", other]), much_like(other, ["sing", one])) == (alike, alike)
    assert not much_like(one, [])
