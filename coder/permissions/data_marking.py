"""Marking of untrusted text as data, between delimiters that the text cannot contain."""

from hashlib import sha256

from coder.core.messages import Message, ToolMessage


def fence_text(text: str) -> str:
    """Enclose the text in `[data X]` and `[end of data X]`, where X is derived from it but not part of it.

    The same text always gets the same delimiters, so that a message is never resent differently.
    """
    if not text:
        return text
    seal = _seal(text)
    return f"[data {seal}]\n{text}\n[end of data {seal}]"


def mark_message(message: Message) -> Message:
    """Return a message as a model sees it: results of tools are marked as data."""
    return (
        message.model_copy(update={"text": fence_text(message.text)})
        if isinstance(message, ToolMessage)
        else message
    )


def _seal(text: str) -> str:
    digest = sha256(text.encode("utf-8", "surrogatepass"))
    while (seal := digest.hexdigest()[:8]) in text:
        digest.update(b"again")
    return seal
