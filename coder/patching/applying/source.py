"""Text files as lines, line ends and encoding, so that untouched parts stay the same byte for byte."""

import io
import re
import tokenize
from collections import Counter
from dataclasses import dataclass

from coder.patching.errors import PatchError

BOM = b"\xef\xbb\xbf"
LINE = re.compile(r"([^\r\n]*(?:\r(?!\n)[^\r\n]*)*)(\r\n|\n|$)")


@dataclass(frozen=True, kw_only=True)
class TextFile:
    """The content of one text file."""

    lines: tuple[str, ...] = ()
    """Without their ends."""
    ends: tuple[str, ...] = ()
    """One for each line: LF or CR LF; only the last may be empty."""
    encoding: str = "utf-8"
    bom: bool = False

    @property
    def default_line_end(self) -> str:
        """The most common line end."""
        common = Counter(end for end in self.ends if end).most_common(1)
        return common[0][0] if common else "\n"

    @property
    def text(self) -> str:
        """The content, with the original line ends."""
        return "".join(line + end for line, end in zip(self.lines, self.ends, strict=True))


def decode_source(data: bytes, path: str) -> TextFile:
    """Decode a file's bytes; Latin-1 if neither UTF-8 nor the encoding that a Python file declares fits.

    Raises:
        PatchError: it is binary.
    """
    if b"\0" in data[:8192]:
        raise PatchError(f"{path} is a binary file; only text files can be changed.")
    bom = data.startswith(BOM)
    body = data.removeprefix(BOM)
    encoding, text = _decode_text(body, path)
    pairs = [(match[1], match[2]) for match in LINE.finditer(text) if match[0]]
    return TextFile(
        lines=tuple(line for line, _ in pairs),
        ends=tuple(end for _, end in pairs),
        encoding=encoding,
        bom=bom,
    )


def encode_source(source: TextFile, path: str) -> bytes:
    """Return the bytes of the file.

    Raises:
        PatchError: a character does not exist in the file's encoding.
    """
    try:
        return (BOM if source.bom else b"") + source.text.encode(source.encoding)
    except UnicodeEncodeError as error:
        character = error.object[error.start : error.start + 1]
        raise PatchError(
            f"{path} is encoded in {source.encoding}, which has no {character!r}. Write that "
            "character another way."
        ) from None


def _decode_text(body: bytes, path: str) -> tuple[str, str]:
    for encoding in ("utf-8", _declared_encoding(body) if path.endswith((".py", ".pyi")) else ""):
        if not encoding:
            continue
        try:
            text = body.decode(encoding)
            if text.encode(encoding) == body:
                return encoding, text
        except (UnicodeError, LookupError):
            continue
    return "latin-1", body.decode("latin-1")


def _declared_encoding(body: bytes) -> str:
    try:
        return tokenize.detect_encoding(io.BytesIO(body).readline)[0]
    except SyntaxError:
        return ""
