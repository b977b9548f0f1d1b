"""Labels of unittest and Django."""

import shlex
from pathlib import Path

import pytest

from coder.verify.launch import label_of, prepare_labelled_run
from coder.verify.project import parse_command
from tests.builders import lines, write

PYTHON = Path("/venv/bin/python")
DJANGO_SCRIPT = "import django\nparser.add_argument('--parallel')\n"


@pytest.mark.parametrize("case", lines("commands/labels.txt"))
def test_translates_file_to_label(tmp_path: Path, case: str) -> None:
    command, _, expected = case.partition(" => ")
    path = expected.partition(": ")[0]
    write(tmp_path, {"tests/runtests.py": DJANGO_SCRIPT, path: ""})
    parsed = parse_command(command, PYTHON, root=tmp_path)
    run = prepare_labelled_run(parsed, [path], tmp_path)
    place = f" (in {run.root})" if run.root else ""
    assert f"{path}: {shlex.join(run.arguments)}{place}" == expected
    assert tuple(run.labels.values()) == (path,)


def test_leaves_out_files_without_label(tmp_path: Path) -> None:
    parsed = parse_command("python manage.py test", PYTHON)
    run = prepare_labelled_run(parsed, ["gis_tests/tests.py", "shop/test-a.py", "shop/test_b.py"], tmp_path)
    assert run.labels == {"shop.test_b": "shop/test_b.py"}
    assert label_of("a/b.txt", "") == ""
