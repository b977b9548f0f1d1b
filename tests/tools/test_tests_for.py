"""Tests that `tests_for` finds for a symbol."""

from pathlib import Path

from coder.tools import tests_for as module
from tests.tools.fakes import call_refused_tool, call_tool, workspace

FILES = {
    "shop/box.py": (
        "def weigh(box):\n    return 1\n\n\ndef price(box):\n    return weigh(box) * 2\n\n\ndef sign(): ...\n"
    ),
    "tests/test_box.py": (
        "from shop.box import price, weigh\n\n\nclass TestWeigh:\n    def setup_method(self):\n"
        "        weigh(0)\n\n"
        "    def test_light(self):\n        assert weigh(1) == weigh(2)\n\n\ndef test_price():\n"
        "    assert price(1) == 2\n"
    ),
    "tests/test_other.py": "from shop.box import weigh\n\n\ndef test_more():\n    weigh(1)\n",
}


def test_lists_direct_tests_before_tests_of_users(tmp_path: Path) -> None:
    space = workspace(tmp_path, FILES)
    assert call_tool(module.tests_for, space, name="weigh") == (
        "6 tests may reach weigh\n"
        "tests/test_box.py::TestWeigh  names weigh, line 6\n"
        "tests/test_box.py::TestWeigh::test_light  names weigh, line 9\n"
        "tests/test_other.py::test_more  names weigh, line 5\n"
        "tests/test_box.py  names weigh, line 1\n"
        "tests/test_other.py  names weigh, line 1\n"
        "tests/test_box.py::test_price  names price, line 13"
    )
    assert space.named == {"tests/test_box.py": {1, 6, 9, 13}, "tests/test_other.py": {1, 5}}


def test_names_only_runnable_test_ids(tmp_path: Path) -> None:
    test_file = (
        "from shop.box import weigh\n\n\nclass Scales:\n    def weigh(self):\n        return weigh(1)\n\n\n"
        "def test_tin():\n    class Tin:\n        def test(self):\n            return weigh(2)\n\n"
        "    assert Tin().test() == 1\n"
    )
    answer = call_tool(
        module.tests_for,
        workspace(tmp_path, {"shop/box.py": FILES["shop/box.py"], "tests/test_own.py": test_file}),
        name="weigh",
    )
    assert answer.splitlines()[1:] == [
        "tests/test_own.py::test_tin  names weigh, line 12",
        "tests/test_own.py  names weigh, line 1",
    ]


def test_says_when_no_test_covers_symbol(tmp_path: Path) -> None:
    answer = call_tool(module.tests_for, workspace(tmp_path, FILES), name="sign")
    assert answer == "No test names sign or what uses it; it may be reached from further away."


def test_refuses_unknown_symbol(tmp_path: Path) -> None:
    assert (
        call_refused_tool(module.tests_for, workspace(tmp_path, FILES), name="weihg")
        == "'weihg' is not defined here. Near: weigh. Try find_symbol."
    )


def test_names_tests_of_other_languages(tmp_path: Path) -> None:
    files = {
        "src/slug.mjs": "export function slug(text) {\n  return text;\n}\n",
        "src/slug.test.mjs": 'import { slug } from "./slug.mjs";\n\ntest("joins", () => slug("a"));\n',
        "box/box.go": "package box\n\nfunc Weigh() int {\n\treturn 1\n}\n",
        "box/box_test.go": "package box\n\nfunc TestWeigh(t *testing.T) {\n\tWeigh()\n}\n",
    }
    space = workspace(tmp_path, files)
    answers = [call_tool(module.tests_for, space, name=name) for name in ("slug", "Weigh")]
    assert [answer.splitlines()[1].partition("  ")[0] for answer in answers] == [
        "src/slug.test.mjs",
        "box/box_test.go",
    ]
