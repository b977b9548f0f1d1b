"""Labels of unittest and Django."""

from pathlib import Path

import pytest

from coder.verify.launch import label_of, prepare_labelled_run
from coder.verify.project import parse_command
from tests.builders import write

PYTHON = Path("/venv/bin/python")
DJANGO_SCRIPT = "import django\nparser.add_argument('--parallel')\n"


@pytest.mark.parametrize(
    ("command", "path", "arguments", "root"),
    [
        ("python -m unittest", "tests/test_a.py", ("tests.test_a",), ""),
        ("python -m unittest -b -k some", "tests/test_a.py", ("-b", "-k", "some", "tests.test_a"), ""),
        ("python -m unittest tests.test_b", "tests/test_a.py", ("tests.test_a",), ""),
        ("python -m unittest discover -s tests", "tests/test_a.py", ("test_a",), "tests"),
        ("python -m unittest discover tests -v", "tests/test_a.py", ("-v", "test_a"), "tests"),
        ("python -m unittest discover -s tests -t .", "tests/test_a.py", ("tests.test_a",), ""),
        ("python -m unittest discover -stests -p 'x*.py'", "unit/test_a.py", ("unit.test_a",), "tests"),
        ("python -m unittest discover -vs tests -t.", "tests/test_a.py", ("-v", "tests.test_a"), ""),
        ("python -m unittest discover -bfp x.py tests", "tests/test_a.py", ("-b", "-f", "test_a"), "tests"),
        ("python -m unittest discover --pat x --start=tests", "tests/test_a.py", ("test_a",), "tests"),
        ("python -W error -m unittest discover -p x -s tests", "tests/test_a.py", ("test_a",), "tests"),
        (
            "python manage.py test shop -v 2 --settings=s",
            "shop/tests.py",
            ("test", "-v", "2", "--settings", "s", "--parallel=1", "--noinput", "shop.tests"),
            ".",
        ),
        (
            "python src/manage.py test",
            "src/shop/tests.py",
            ("test", "--parallel=1", "--noinput", "shop.tests"),
            "src",
        ),
        ("python tests/runtests.py basic", "tests/forms/tests.py", ("--parallel=1", "forms.tests"), "tests"),
    ],
)
def test_translates_file_to_label(
    tmp_path: Path, command: str, path: str, arguments: tuple[str, ...], root: str
) -> None:
    write(tmp_path, {"tests/runtests.py": DJANGO_SCRIPT, path: ""})
    parsed = parse_command(command, PYTHON, root=tmp_path)
    run = prepare_labelled_run(parsed, [path], tmp_path)
    assert (run.arguments, run.root, tuple(run.labels.values())) == (arguments, root, (path,))


def test_leaves_out_files_without_label(tmp_path: Path) -> None:
    parsed = parse_command("python manage.py test", PYTHON)
    run = prepare_labelled_run(parsed, ["gis_tests/tests.py", "shop/test-a.py", "shop/test_b.py"], tmp_path)
    assert run.labels == {"shop.test_b": "shop/test_b.py"}
    assert label_of("a/b.txt", "") == ""
