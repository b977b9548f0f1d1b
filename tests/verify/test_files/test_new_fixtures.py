"""Fixtures that a change adds to a `conftest.py`."""

import pytest

from coder.verify.test_files import adds_only_fixtures

OLD = "import pytest\n\n@pytest.fixture\ndef cart():\n    return []\n"
CLASS = "class Shop:\n    size = 3\n\n    def cart(self):\n        return 1\n"
FIXTURE = "\n@pytest.fixture(scope='module')\ndef shop(tmp_path):\n    return print(tmp_path)\n"


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (OLD + FIXTURE, True),
        (OLD + "from pathlib import Path\nDATA = Path(__file__).parent / 'data'\n" + CLASS + FIXTURE, True),
        (OLD.replace("[]", "[1]") + FIXTURE, False),
        (FIXTURE, False),
        (OLD + FIXTURE.replace("scope='module'", "autouse=True"), False),
        (OLD + FIXTURE.replace("scope='module'", "name='taken'"), False),
        (OLD + FIXTURE.replace("def shop", "def taken"), False),
        (OLD + FIXTURE.replace("def shop", "def tmp_path"), False),
        (OLD + FIXTURE.replace("def shop", "def pytest_runtest_call"), False),
        (OLD + "pytest.raises = print\n" + FIXTURE, False),
        (OLD + "SEEN = setattr(pytest, 'raises', print)\n" + FIXTURE, False),
        (OLD + "import helpers\n" + FIXTURE, False),
        (OLD + "from .helpers import *\n" + FIXTURE, False),
        (OLD + CLASS.replace("size = 3", "size = print()"), False),
    ],
)
def test_only_fixtures_that_tests_ask_for_are_harmless(new: str, expected: bool) -> None:
    assert adds_only_fixtures(OLD, new, taken={"taken"}, changed={"helpers"}) is expected
