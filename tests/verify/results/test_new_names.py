"""Names that a change adds, and failures for want of them."""

from typing import Literal

import pytest

from coder.verify.results import find_added_names, find_missing_name, rejection_reason
from tests.verify.fakes import failed_result

ID = "tests/test_calc.py::test_it"
MISSING = {
    "parameter": ("TypeError", "split() got an unexpected keyword argument 'keep'", "keep"),
    "more arguments": ("TypeError", "split() takes 1 positional argument but 2 were given", "split()"),
    "attribute": ("AttributeError", "module 'items' has no attribute 'join'", "join"),
    "import": ("ImportError", "cannot import name 'join' from 'items' (items.py)", "join"),
    "module": ("ModuleNotFoundError", "No module named 'shop.joining'", "joining"),
    "JavaScript": ("TypeError", "(0 , items.join) is not a function", "join"),
    "required in a test": ("Error", "Cannot find module './shop/joining'", "joining"),
    **{
        f"file of {runner}": ("CollectionError", message, name)
        for runner, message, name in (
            ("jest", "Cannot find module '../shop/joining' from 'test/it.test.js'", "joining"),
            ("mocha", "Error: Cannot find module '../shop/joining'", "joining"),
            (
                "node --test",
                "Error [ERR_MODULE_NOT_FOUND]: Cannot find module 'shop/joining.js' imported from it.js",
                "joining",
            ),
            (
                "vitest",
                "Error: Failed to load url ./shop/joining.ts (resolved id: ./shop/joining.ts)",
                "joining",
            ),
            ("vitest 3", 'Error: Failed to resolve import "./shop/joining" from "it.test.ts".', "joining"),
            ("tsc", "error TS2307: Cannot find module './shop/joining' or its type declarations.", "joining"),
            ("tsc, a name", "error TS2305: Module './items' has no exported member 'join'.", "join"),
            ("RSpec", "LoadError: cannot load such file -- shop/joining", "joining"),
            (
                "modules",
                "SyntaxError: The requested module './items.js' does not provide an export named 'join'",
                "join",
            ),
            ("mocha, outside of tests", "TypeError: items.join is not a function", "join"),
        )
    },
}
OLD = {"items.py": "def split(text):\n    return text.split(',')\n"}
NEW = {
    "items.py": "def split(text, keep=False):\n    parts = 2\n\n\ndef join(items): ...\n",
    "shop/joining.py": "class Joiner:\n    glue = ','\n\n    def __init__(self): self.last = 1\n",
    "items.js": "export function join(items) {}",
}


@pytest.mark.parametrize(("type_", "message", "name"), MISSING.values(), ids=MISSING)
def test_missing_name_that_change_adds_is_right_reason(type_: str, message: str, name: str) -> None:
    result = failed_result(ID, type_, message)
    assert result.failure is not None
    assert find_missing_name(result.failure) == name
    added = find_added_names(OLD, NEW)
    assert rejection_reason(result, issue="", is_existing_test=False, added_names=added) == ""
    assert rejection_reason(result, issue=f"a {type_}", is_existing_test=False, added_names=()) != ""


def test_added_names_are_new_words_modules_and_signatures() -> None:
    words = {"keep", "split()", "False", "parts", "join", "join()", "items"}
    assert find_added_names(OLD, {"items.py": NEW["items.py"]}) == words
    assert {"joining", "shop", "Joiner", "__init__()"} <= find_added_names(OLD, NEW)


@pytest.mark.parametrize(
    ("type_", "message", "when"),
    [
        ("AssertionError", "assertion `left == right` failed", "call"),
        ("CollectionError", "error[E0425]: cannot find function `join` in module `super`", "collect"),
    ],
)
def test_a_test_within_a_source_is_red_for_the_right_reason(
    type_: str, message: str, when: Literal["call", "collect"]
) -> None:
    test = "src/items.rs::tests::joins"
    result = failed_result(test, type_, message, when=when, frames=(("src/items.rs", 9, "joins"),))
    reason = rejection_reason(
        result, issue="", is_existing_test=False, edited_sources=["src/items.rs"], added_names={"join"}
    )
    assert reason == ""
