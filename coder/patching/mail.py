"""Text of diffs that come as messages: transfer encodings, attachments, flowed lines."""

import re
from collections.abc import Iterator
from email import message_from_string
from email.message import Message

MBOX_LINE = re.compile(r"^From \S+ +\w{3} \w{3} +\d+ [\d:]+ \d{4}\r?$", re.MULTILINE)
"""Separator of messages, as `git format-patch` and mail programs write it."""
HEADER = re.compile(r"(?:[A-Za-z][\w-]*:[ \t].*\n(?:[ \t]+\S.*\n)*)+\n", re.MULTILINE)
ENCODED = re.compile(
    r"^Content-Transfer-Encoding:\s*(?:quoted-printable|base64)|^Content-Type:\s*multipart/|format=\"?flowed",
    re.IGNORECASE | re.MULTILINE,
)


def unwrap_mail(text: str) -> str:
    """Return the text of messages without their encodings; any other text as it is.

    Flowed lines (RFC 3676) are joined and lose the space that was stuffed before them.
    """
    starts = [match.start() for match in MBOX_LINE.finditer(text)] or [0]
    messages = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    if not any(map(_is_encoded, messages)):
        return text
    return text[: starts[0]] + "".join(
        _decode(message) if _is_encoded(message) else message for message in messages
    )


def _is_encoded(message: str) -> bool:
    header = HEADER.match(MBOX_LINE.sub("", message, count=1).lstrip("\n").replace("\r\n", "\n"))
    return header is not None and ENCODED.search(header[0]) is not None


def _decode(message: str) -> str:
    parsed = message_from_string(message.lstrip("\n").replace("\r\n", "\n"))
    return "\n".join(_texts(parsed)) or message


def _texts(message: Message) -> Iterator[str]:
    for part in message.walk():
        if part.get_content_maintype() != "text" or part.get_content_subtype() == "html":
            continue
        if str(part.get("Content-Transfer-Encoding", "")).strip().lower() in ("quoted-printable", "base64"):
            data = part.get_payload(decode=True)
            charset = part.get_content_charset() or "utf-8"
            try:
                text = data.decode(charset) if isinstance(data, bytes) else ""
            except (LookupError, UnicodeDecodeError):
                text = data.decode("latin-1") if isinstance(data, bytes) else ""
        else:
            text = str(part.get_payload())
        yield _join_soft_breaks(text) if str(part.get_param("format")).lower() == "flowed" else text


def _join_soft_breaks(text: str) -> str:
    lines: list[str] = []
    flows = False
    for line in text.split("\n"):
        content = line.removeprefix(" ")
        if flows and lines:
            lines[-1] += content
        else:
            lines.append(content)
        flows = content.endswith(" ") and bool(content.strip()) and content != "-- "
    return "\n".join(lines)
