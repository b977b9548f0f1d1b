"""Records over a pipe that only the recorder of a run can write valid lines to."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coder.verify.launch import TARGET, RecordPipe

WRITER = (
    "import os, sys; sys.path.insert(0, sys.argv[1]); from coder_sign import make_signer; sign = "
    "make_signer(sys.argv[3]);"
)


def receive(tmp_path: Path, script: str, *, key: str = "") -> tuple[list[Mapping[str, Any]], int]:
    """Return what a process that runs `script` sent: valid records, and the number of forged lines."""
    records: list[Mapping[str, Any]] = []
    with RecordPipe(tmp_path / "report", records.append) as pipe:
        code = f"{WRITER} pipe = os.open(sys.argv[2], os.O_WRONLY); {script}"
        subprocess.run([sys.executable, "-c", code, str(TARGET), str(pipe.path), key or pipe.key], check=True)
    return records, pipe.forged_lines


def test_sealed_records_arrive_in_order(tmp_path: Path) -> None:
    script = """[os.write(pipe, sign(b'{"n": %d}' % n) + b"\\n") for n in range(3)]"""
    assert receive(tmp_path, script) == ([{"n": 0}, {"n": 1}, {"n": 2}], 0)


def test_unsealed_and_cut_lines_are_forged(tmp_path: Path) -> None:
    assert receive(tmp_path, """os.write(pipe, b'{"n": 1}\\n{"n"')""") == ([], 2)


def test_repeated_record_is_forged(tmp_path: Path) -> None:
    assert receive(tmp_path, """line = sign(b'{"n": 1}') + b"\\n"; os.write(pipe, line + line)""") == (
        [{"n": 1}],
        1,
    )
