import os
from pathlib import Path

import pytest

from coder.permissions.secrets import DENY_READ
from coder.sandbox.process import ProcessSandbox
from coder.sandbox.view import find_private_files
from tests.builders import write
from tests.walls import walls

FILES = {
    ".env": "PASSWORD=sesame\n",
    "app.py": "x = 1\n",
    "deploy/live.env": "sesame\n",
    ".venv/certs/ca.pem": "ca\n",
    "live/db.yml": "sesame\n",
}


def test_finds_private_files_of_tree(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    (tmp_path / "link.pem").symlink_to(".env")
    assert find_private_files(tmp_path, (*DENY_READ, "live/*")) == tuple(
        tmp_path / name for name in (".env", "deploy/live.env", "live/db.yml")
    )


@pytest.mark.skipif(
    (best := walls()) is None or bool(best.limitations),
    reason="no sandbox that hides files works on this machine",
)
def test_private_files_appear_empty(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    with ProcessSandbox(os.environ, backend=walls(), deny_read=(*DENY_READ, "live/*")) as sandbox:
        ran = sandbox.run(
            ["sh", "-c", "grep -rh sesame . ; cat .env deploy/live.env live/db.yml; cat app.py; ls -a"],
            cwd=tmp_path,
        )
    assert "sesame" not in ran.output
    assert "x = 1" in ran.output
    assert ".env" in ran.output
