"""Marks text that others wrote as data, between delimiters that the text itself cannot hold."""

from hashlib import sha256

from coder.core.messages import Message, ToolMessage


def fenced(text: str) -> str:
    """The text between `[data X]` and `[end of data X]`, where X, made from the text, does not occur in it.

    The same text always gets the same delimiters: what has been sent once is never sent differently.
    """
    if not text:
        return text
    seal = _seal(text)
    return f"[data {seal}]\n{text}\n[end of data {seal}]"


def marked(message: Message) -> Message:
    """A message as a model sees it: what tools answer is data."""
    return (
        message.model_copy(update={"text": fenced(message.text)})
        if isinstance(message, ToolMessage)
        else message
    )


def _seal(text: str) -> str:
    digest = sha256(text.encode("utf-8", "surrogatepass"))
    while (seal := digest.hexdigest()[:8]) in text:
        digest.update(b"again")
    return seal
