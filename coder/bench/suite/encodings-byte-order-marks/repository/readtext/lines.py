"""Ends of lines."""


def unified(text):
    """The text with plain newlines, whatever it had."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
