"""Sources beside the repository that the user allows for a question: documents and pages."""

import re
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

from coder.cli.forges import fetch
from coder.core.errors import UserError
from coder.core.events import Source

SOURCES_DIRECTORY = "coder-sources"
LARGEST_BYTES = 1_000_000
"""Of one document or page; its text becomes part of the session's log."""
BLOCK_TAGS = frozenset(
    {
        *("article", "br", "dd", "div", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "li", "p", "pre"),
        *("section", "tr"),
    }
)
HIDDEN_TAGS = frozenset({"script", "style", "template", "noscript"})


def collect_sources(
    documents: Sequence[Path], urls: Sequence[str], hosts: Collection[str]
) -> tuple[Source, ...]:
    """Return the texts of documents and pages; each page is fetched once.

    `hosts` are those that the user's settings allow.

    Raises:
        UserError: one cannot be had, or its host is not allowed.
    """
    sources: dict[str, Source] = {}
    for source in (*map(_read_document, documents), *(_fetch_page(url, hosts) for url in urls)):
        path = _free_path(source.path, sources)
        sources[path] = source.model_copy(update={"path": path})
    return tuple(sources.values())


def _free_path(path: str, used: Collection[str]) -> str:
    stem, dot, suffix = path.rpartition(".")
    numbered = (f"{stem}-{number}{dot}{suffix}" for number in range(2, len(used) + 3))
    return path if path not in used else next(name for name in numbered if name not in used)


def _read_document(path: Path) -> Source:
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise UserError(f"{path} is larger than {LARGEST_BYTES:,} bytes: give the part that matters.")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"The document {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise UserError(
            f"The document {path} is no UTF-8 text: convert it first, such as with pdftotext."
        ) from None
    return Source(
        path=f"{SOURCES_DIRECTORY}/{_file_name(path.name)}", origin=f"the document {path.name}", text=text
    )


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip(".-") or "text"


def _check_host(url: str, hosts: Collection[str]) -> bool:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserError(f"{url!r} is no http or https address.")
    if parts.hostname not in hosts:
        raise UserError(
            f"{url} is not fetched: {parts.hostname} is not among the `url_hosts` of your settings. To allow "
            f'it: url_hosts = ["{parts.hostname}"] in config.toml (coder config shows where).'
        )
    return True


def _fetch_page(url: str, hosts: Collection[str]) -> Source:
    _check_host(url, hosts)
    headers = {"Accept": "text/*", "User-Agent": "coder"}
    response, data = fetch(
        url, limit=LARGEST_BYTES, may_follow=lambda onward: _check_host(onward, hosts), headers=headers
    )
    if not response.is_success:
        raise UserError(f"{url} could not be fetched: HTTP {response.status_code}.")
    kind = response.headers.get("content-type", "text/plain").partition(";")[0].strip().lower()
    if len(data) > LARGEST_BYTES:
        raise UserError(f"{url} has more than {LARGEST_BYTES:,} bytes: give a page, not a download.")
    if not (kind.startswith("text/") or kind.endswith(("json", "xml"))):
        raise UserError(f"{url} is {kind}, not text: give it as a document instead (--document).")
    text = _decode(data, response.charset_encoding or "utf-8")
    parts = urlsplit(url)
    name = f"{_file_name(f'{parts.hostname}{parts.path}')}{'.txt' if kind == 'text/html' else ''}"
    return Source(
        path=f"{SOURCES_DIRECTORY}/{name}",
        origin=f"{url}, fetched {datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        text=html_to_text(text) if kind == "text/html" else text,
    )


def _decode(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding, "replace")
    except LookupError:
        return data.decode("utf-8", "replace")


class _TextExtractor(HTMLParser):
    """Collects the text of a page, a line for each block."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._hidden_depth = 0
        self._is_preformatted = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self._hidden_depth += tag in HIDDEN_TAGS
        self._is_preformatted |= tag == "pre"
        if tag in BLOCK_TAGS:
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._hidden_depth -= tag in HIDDEN_TAGS and self._hidden_depth > 0
        self._is_preformatted &= tag != "pre"
        if tag in BLOCK_TAGS:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden_depth:
            self.pieces.append(data if self._is_preformatted else re.sub(r"\s+", " ", data))


def html_to_text(html: str) -> str:
    """Return the text of a page: a line for each block, preformatted text as it is."""
    extractor = _TextExtractor()
    extractor.feed(html)
    extractor.close()
    lines = (line.rstrip() for line in "".join(extractor.pieces).splitlines())
    return "\n".join(line for line in lines if line.strip()) + "\n"
