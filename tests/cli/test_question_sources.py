"""Texts beside the repository: documents, pages of allowed hosts, installed packages."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from coder.cli.question_sources import collect_sources
from coder.core.errors import UserError
from coder.core.task import Source
from coder.strategies.research import write_sources
from tests.builders import write_tree

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


def collect(
    root: Path,
    *,
    documents: tuple[Path, ...] = (),
    urls: tuple[str, ...] = (),
    dependencies: tuple[str, ...] = (),
    hosts: tuple[str, ...] = ("127.0.0.1",),
) -> tuple[Source, ...]:
    return collect_sources(root, documents=documents, urls=urls, dependencies=dependencies, hosts=hosts)


def test_page_of_allowed_host_is_fetched_once(server: ThreadingHTTPServer, tmp_path: Path) -> None:
    (source,) = collect(tmp_path, urls=(address(server, "/docs/retries"),))
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
    server: ThreadingHTTPServer, tmp_path: Path, path: str, hosts: tuple[str, ...], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        collect(tmp_path, urls=(address(server, path),), hosts=hosts)
    assert server.paths == ([] if hosts == ("example.org",) else [path])  # type: ignore[attr-defined]


def test_document_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "spec.pdf").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(UserError, match="no UTF-8 text"):
        collect(tmp_path, documents=(tmp_path / "spec.pdf",))
    with pytest.raises(UserError, match="cannot be read"):
        collect(tmp_path, documents=(tmp_path / "absent.md",))


def test_installed_package_is_laid_out_with_its_sources(tmp_path: Path) -> None:
    site = "project/.venv/lib/python3.11/site-packages"
    write_tree(
        tmp_path,
        {
            f"{site}/shop/cart.py": "TOTAL = 1\n",
            f"{site}/shop/data.bin": "x",
            f"{site}/Shop_Kit-1.2.dist-info/METADATA": "Name: Shop_Kit\nVersion: 1.2\n",
            f"{site}/Shop_Kit-1.2.dist-info/RECORD": "shop/cart.py,,\nshop/data.bin,,\n../../bin/shop.py,,\n"
            f"{tmp_path}/project/notes.txt,,\nlinked/notes.txt,,\n",
            "project/notes.txt": "private",
            "notes/notes.txt": "private",
            f"{site}/../../bin/shop.py": "x",
        },
    )
    (tmp_path / site / "linked").symlink_to(tmp_path / "notes")
    (source,) = collect(tmp_path / "project", dependencies=("shop-kit",))
    assert source.origin == "Shop_Kit 1.2, as installed"
    worktree = tmp_path / "worktree"
    worktree.mkdir()
    write_sources(worktree, (source,))
    files = [path for path in worktree.rglob("*") if path.is_file()]
    assert [str(path.relative_to(worktree)) for path in files] == ["coder-sources/Shop_Kit-1.2/shop/cart.py"]
    assert files[0].read_text() == "TOTAL = 1\n"
    with pytest.raises(UserError, match="not installed in the project's environment"):
        collect(tmp_path / "project", dependencies=("absent",))


def test_sources_never_replace_files_of_the_repository(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    worktree = tmp_path / "worktree"
    worktree.mkdir()
    (worktree / "coder-sources").symlink_to(outside)
    with pytest.raises(UserError, match="itself"):
        write_sources(worktree, (Source(path="coder-sources/a.md", origin="a", text="x"),))
    assert list(outside.iterdir()) == []
