"""Project files that nest deeper than a parser can follow."""

# ruff: noqa: E501 - rows of a table

from pathlib import Path

import pytest

from coder.core.text import parse_json, parse_toml
from coder.verify.layout import divide_run, import_roots, pytest_options
from coder.verify.project import find_hints
from coder.verify.select import select_test_files
from tests.builders import write

DEEP = "[" * 100_000
FILES = {
    **{"package.json": DEEP, "tsconfig.json": '{"extends":' * 50_000, "pnpm-workspace.yaml": f"packages: {DEEP}"},
    **{"pyproject.toml": f"x = {DEEP}", "coder.toml": f"x = {DEEP}", "Cargo.toml": f"x = {DEEP}"},
    **{"setup.cfg": DEEP, "tox.ini": DEEP, "pom.xml": "<a>" * 50_000, ".pre-commit-config.yaml": DEEP},
    **{"noxfile.py": f"x = {'(' * 5_000}", "minus.py": f"x = {'-' * 200_000}1\n"},
    **{"test_a.py": f"import minus\nx = {DEEP}\ndef test_a(): pass\n", "a.js": f"x = {DEEP}"},
}  # fmt: skip


@pytest.mark.parametrize("parse", [parse_json, lambda text: parse_toml(f"x = {text}")])
def test_too_deep_documents_are_wrong_ones(parse: object) -> None:
    assert callable(parse)
    with pytest.raises(ValueError, match="too deep"):
        parse(DEEP)


def test_project_with_deep_files_is_read_as_without_them(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    assert pytest_options(tmp_path)[0] == ""
    assert import_roots(tmp_path) == (tmp_path,)
    assert len(divide_run(tmp_path, ())) == 1
    assert not any("pytest" in hint.command for hint in find_hints(tmp_path))
    assert select_test_files(tmp_path, tmp_path, ["minus.py"]) is not None
