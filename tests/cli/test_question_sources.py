"""Texts beside the repository: documents, pages of allowed hosts."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from coder.cli.question_sources import collect_sources
from coder.core.errors import UserError
from coder.core.events import Source
from coder.strategies.research import write_sources

PAGE = b"<html><head><style>p {}</style></head><body><h1>Retries</h1><p>Three\n of them.</p></body></html>"
pytestmark = pytest.mark.loopback


class Pages(BaseHTTPRequestHandler):
    """A page, a redirect to another host, and something that is no text."""

    def do_GET(self) -> None:
        self.server.paths.append(self.path)  # type: ignore[attr-defined]
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "http://elsewhere.example/page")
            self.end_headers()
            return
        self.send_response(200 if self.path != "/gone" else 404)
        kind = "application/pdf" if self.path == "/file.pdf" else "text/html; charset=utf-8"
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as pages:
        pages.paths = []  # type: ignore[attr-defined]
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        yield pages
        pages.shutdown()


def address(server: ThreadingHTTPServer, path: str) -> str:
    return f"http://127.0.0.1:{server.server_port}{path}"


def test_page_of_allowed_host_is_fetched_once(server: ThreadingHTTPServer) -> None:
    (source,) = collect_sources((), [address(server, "/docs/retries")], {"127.0.0.1"})
    assert source.path == "coder-sources/127.0.0.1-docs-retries.txt"
    assert source.text == "Retries\nThree of them.\n"
    assert source.origin.startswith(f"{address(server, '/docs/retries')}, fetched ")
    assert server.paths == ["/docs/retries"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("path", "hosts", "message"),
    [
        ("/page", ("example.org",), "not among the `url_hosts`"),
        ("/moved", ("127.0.0.1",), r"elsewhere\.example is not among"),
        ("/gone", ("127.0.0.1",), "could not be fetched"),
        ("/file.pdf", ("127.0.0.1",), "application/pdf, not text"),
    ],
)
def test_other_pages_are_refused(
    server: ThreadingHTTPServer, path: str, hosts: tuple[str, ...], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        collect_sources((), [address(server, path)], hosts)
    assert server.paths == ([] if hosts == ("example.org",) else [path])  # type: ignore[attr-defined]


def test_document_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "spec.pdf").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(UserError, match="no UTF-8 text"):
        collect_sources([tmp_path / "spec.pdf"], (), ())
    with pytest.raises(UserError, match="cannot be read"):
        collect_sources([tmp_path / "absent.md"], (), ())


def test_sources_never_replace_files_of_the_repository(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    worktree = tmp_path / "worktree"
    worktree.mkdir()
    (worktree / "coder-sources").symlink_to(outside)
    with pytest.raises(UserError, match="itself"):
        write_sources(worktree, (Source(path="coder-sources/a.md", origin="a", text="x"),))
    assert list(outside.iterdir()) == []
