"""Citations that exist, exist without support, and do not exist."""

from dataclasses import replace
from pathlib import Path

import pytest

from coder.core.errors import GitError
from coder.strategies.citations import CitationChecker, check_text
from coder.workspace.workspace import Workspace
from tests.tools.fakes import FakeHistory, workspace

CLIENT = """\
import time


class Client:
    def send(self, request):
        for attempt in range(self.retries):
            response = self.transport(request)
            if response.status < 500:
                return response
            time.sleep(2**attempt)
        return response


def unrelated():
    return None
"""


class OneCommit(FakeHistory):
    def show(self, revision: str, path: str | None = None) -> str:
        if not "abc1234def".startswith(revision):
            raise GitError("no such commit")
        return "commit abc1234def\n    Retry requests\n+        for attempt in range(self.retries):"


@pytest.fixture
def checker(tmp_path: Path) -> CitationChecker:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "client.py").write_text(CLIENT)
    (tmp_path / ".env").write_text("TOKEN=1\n")
    place: Workspace = workspace(tmp_path)
    return CitationChecker(replace(place, history=OneCommit()))


@pytest.mark.parametrize(
    ("statement", "place", "result"),
    [
        ("`Client.send` asks `transport` again", "src/client.py:7", "confirmed"),
        ("`Client.send` asks `transport` again", "src/client.py:6-10", "confirmed"),
        ("`Client.send` asks `transport` again", "`src/client.py:6,10`", "confirmed"),
        ("`Client.send` asks `transport` again", "src/client.py#L6-L10", "confirmed"),
        ("`Client.send` asks `transport` again", "./src/client.py:L7", "confirmed"),
        ("`transport` is asked again", "src/client.py:14", "unconfirmed"),
        ("`send` opens a socket", "src/client.py:9", "unconfirmed"),
        ("`send` sleeps before the next attempt", "src/client.py:10", "confirmed"),
        ("It sleeps longer after each attempt", "src/client.py:10", "confirmed"),
        ("The cache is cleared", "src/client.py:10", "unconfirmed"),
        ("Client sleeps between attempts of `Session`", "src/client.py:10", "unconfirmed"),
        ("`Session` sleeps and gives the response of the last attempt", "src/client.py:10", "confirmed"),
        ("`transport` is asked again", "src/client.py:99", "missing"),
        ("`transport` is asked again", "src/client.py:9-5", "missing"),
        ("`transport` is asked again", "src/gone.py:1", "missing"),
        ("`transport` is asked again", "src/client.py", "missing"),
        ("`transport` is asked again", "../client.py:7", "missing"),
        ("`TOKEN` is set", ".env:1", "missing"),
        ("`retries` came with it", "commit abc1234", "confirmed"),
        ("`retries` came with it", "commit 9999999", "missing"),
    ],
)
def test_cited_lines_share_names_with_statement(
    checker: CitationChecker, statement: str, place: str, result: str
) -> None:
    assert checker.check(place, statement) == result


def test_prose_is_marked_sentence_by_sentence(checker: CitationChecker) -> None:
    text = (
        "It asks `transport` again (**src/client.py:7**). The `cache` is cleared (src/client.py:14). "
        "`send` ends (src/client.py:70).\n"
        "```\nsrc/client.py:99\n```\n"
        "See http://localhost:8080 at 12:30, and example.com:443."
    )
    assert check_text(checker, text) == (
        "It asks `transport` again (**src/client.py:7**). The `cache` is cleared "
        "(src/client.py:14 [unconfirmed]). `send` ends ([citation dropped: no such place]).\n"
        "```\nsrc/client.py:99\n```\n"
        "See http://localhost:8080 at 12:30, and example.com:443."
    )
    assert checker.counts == {"confirmed": 1, "unconfirmed": 1, "missing": 1}


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("It asks `transport` (`src/client.py` line 7).", "It asks `transport` (`src/client.py` line 7)."),
        (
            "It asks `transport` in `src/nosuch.py` line 7.",
            "It asks `transport` in [citation dropped: no such place].",
        ),
        ("It asks in src/nosuch.py, lines 7-9.", "It asks in [citation dropped: no such place]."),
        ("It asks it: online 7 lines 9.", "It asks it: online 7 lines 9."),
    ],
)
def test_lines_named_in_words_are_checked(checker: CitationChecker, text: str, marked: str) -> None:
    assert check_text(checker, text) == marked


def test_statement_of_a_citation_is_the_text_before_it(checker: CitationChecker) -> None:
    text = (
        "`transport` is asked (`src/client.py:7`), and the cache is cleared (`src/client.py:7`, "
        "`src/client.py:8`)."
    )
    assert check_text(checker, text).count("[unconfirmed]") == 2
    assert checker.counts == {"confirmed": 1, "unconfirmed": 2}
