"""Tests that need a service and a variable, with and without the user's own settings for the repository."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.builders import git, write
from tests.place import Place
from tests.walls import walls

pytestmark = [
    pytest.mark.loopback,
    pytest.mark.skipif(walls() is None, reason="without a sandbox nothing is denied"),
]
SERVICE = (
    "import os\nimport socket\n\nimport clock\n\n\ndef test_service():\n"
    "    assert clock\n    socket.create_connection(('127.0.0.1', {port})).close()\n"
    "    assert os.environ['SHOP'] == 'open'\n"
)


def _verify(place: Place) -> dict[str, Any]:
    issue, evidence = (
        "test_clock.py::ClockTest::test_half_past_nine fails.",
        place.repository.parent / "evidence.json",
    )
    place.coder("verify", "--issue", issue, "--trust", "--evidence", str(evidence))
    verdict: dict[str, Any] = json.loads(evidence.read_text())["verdict"]
    return verdict


@pytest.mark.thorough
def test_settings_of_the_user_let_tests_reach_services(tmp_path: Path) -> None:
    place = Place(tmp_path, runner="pytest")
    place.environment["SHOP"] = "open"
    with socket.create_server(("127.0.0.1", 0)) as server:
        write(place.repository, {"test_service.py": SERVICE.format(port=server.getsockname()[1])})
        git(place.repository, "add", "--all")
        git(place.repository, "commit", "-qm", "service")
        code = (place.repository / "clock.py").read_text()
        write(place.repository, {"clock.py": code.replace("- int(rest)", "+ int(rest)")})
        denied = _verify(place)
        settings = f'[repositories."{place.repository}"]\ntest_network = true\ntest_environment = ["SHOP"]\n'
        write(tmp_path / "config", {"coder/config.toml": settings})
        allowed = _verify(place)
    assert [note for note in denied["notes"] if "`test_network = true`" in note and "test_service" in note]
    assert (denied["after"]["failed"], denied["after"]["denied"]) == (0, 1)
    assert (allowed["kind"], allowed["notes"], allowed["after"]["failed"]) == ("PROVEN", [], 0)
