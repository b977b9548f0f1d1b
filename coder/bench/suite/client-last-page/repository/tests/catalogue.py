"""A small catalogue server."""

import json
import threading
import urllib.parse
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SIZE = 10


@contextmanager
def serving(books):
    """Serve books on a free port; yields the address and the list of requested paths."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            place = urllib.parse.urlparse(self.path)
            query = dict(urllib.parse.parse_qsl(place.query))
            parts = place.path.strip("/").split("/")
            if len(parts) == 2:
                found = next((book for book in books if str(book["id"]) == parts[1]), None)
                self.answer(found, 200 if found else 404)
                return
            chosen = [book for book in books if query.get("author") in (None, book["author"])]
            start = (int(query["page"]) - 1) * SIZE
            self.answer({"items": chosen[start : start + SIZE], "pages": -(-len(chosen) // SIZE)})

        def answer(self, data, status=200):
            body = json.dumps(data).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def some(count, author="Ada"):
    return [{"id": number, "title": f"Volume {number}", "author": author} for number in range(1, count + 1)]
