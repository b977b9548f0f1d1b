"""Localization from the text of an issue."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from coder.index.index import SymbolIndex
from coder.retrieval.issue_terms import TracedCall, extract_issue_terms
from coder.retrieval.ranking import Localization, locate_issue
from tests.builders import write

LIMITS = '''"""Rate limits."""


class BaseLimiter:
    def wait(self, seconds):
        """Sleep until the next token."""
        return seconds


class Limiter(BaseLimiter):
    def parse_retry_after(self, header):
        if not header.isdigit():
            raise ValueError(
                f"cannot read {header!r} as seconds, "
                "nor as a date"
            )
        return round_up(int(header))


def round_up(number):
    return number + 1
'''
FILES = {
    "pool/__init__.py": "from .limits import Limiter as Throttle\n",
    "pool/limits.py": LIMITS,
    "pool/http.py": (
        "from pool.limits import Limiter\n\n\ndef send(request):\n    limiter = Limiter()\n"
        "    return limiter.wait(3)\n"
    ),
    "pool/words.py": "def parse(text):\n    return text.split()\n",
    "tests/test_limits.py": (
        "from pool import Throttle\n\n\ndef test_parse_retry_after():\n"
        "    Throttle().parse_retry_after('3')\n"
    ),
}


def locate_in_tree(tmp_path: Path, issue: str, files: Mapping[str, str] = FILES) -> Localization:
    write(tmp_path / "tree", files)
    return locate_issue(SymbolIndex(tmp_path / "tree").refresh(), extract_issue_terms(issue))


def reasons_for(location: Localization, name: str) -> tuple[str, ...]:
    return next(likely.reasons for likely in (*location.files, *location.symbols) if likely.name == name)


def test_named_definition_ranks_first_with_its_file(tmp_path: Path) -> None:
    location = locate_in_tree(tmp_path, "`parse_retry_after` is off by one")
    assert location.files[0].path == "pool/limits.py"
    assert location.symbols[0].name == "pool/limits.py::Limiter.parse_retry_after"
    assert "defines parse_retry_after, named in the title" in location.symbols[0].reasons


@pytest.mark.parametrize(
    ("method", "is_named"), [("_contains", True), ("__contains", True), ("__contains__", False)]
)
def test_word_names_a_private_method_and_no_special_one(method: str, is_named: bool, tmp_path: Path) -> None:
    files = {
        "pool/names.py": f"class Names:\n    def {method}(self, name):\n        return name in self.all\n"
    }
    location = locate_in_tree(tmp_path, "Text that `contains` a name is lost", files)
    said = "; ".join(reasons_for(location, f"pool/names.py::Names.{method}"))
    assert (f"defines {method}, named in" in said) == is_named
    assert "contains" in said


def test_matches_words_by_their_parts(tmp_path: Path) -> None:
    assert (
        locate_in_tree(tmp_path, "The retry header is read wrongly").symbols[0].name
        == "pool/limits.py::Limiter.parse_retry_after"
    )


def test_matches_inflected_words(tmp_path: Path) -> None:
    files = {**FILES, "pool/checks.py": "def inherit(settings):\n    return validated(settings)\n"}
    location = locate_in_tree(tmp_path, "Inheritance comes before validation", files)
    assert location.symbols[0].name == "pool/checks.py::inherit"
    assert "its name says inheritance" in location.symbols[0].reasons


def test_innermost_traceback_frame_counts_most(tmp_path: Path) -> None:
    issue = (
        "It crashes\n\nTraceback (most recent call last):\n"
        '  File "/srv/site-packages/pool/http.py", line 6, in send\n    return limiter.wait(3)\n'
        '  File "/srv/site-packages/pool/limits.py", line 7, in wait\n    return seconds\nTypeError\n'
    )
    location = locate_in_tree(tmp_path, issue)
    assert location.symbols[0].name == "pool/limits.py::BaseLimiter.wait"
    assert "in the traceback" in reasons_for(location, "pool/limits.py")
    assert "in the traceback" in reasons_for(location, "pool/http.py::send")


def test_finds_message_despite_placeholders_and_wrapping(tmp_path: Path) -> None:
    location = locate_in_tree(
        tmp_path, "It fails\n\nValueError: cannot read 'soon' as seconds, nor as a date\n"
    )
    assert location.symbols[0].name == "pool/limits.py::Limiter.parse_retry_after"
    assert "says 'as seconds, nor as a date'" in location.symbols[0].reasons


def test_example_in_docstring_makes_no_message(tmp_path: Path) -> None:
    doc = 'def load():\n    """Load.\n\n    >>> load()["name"]\n    "Air temperature"\n    """\n'
    code = 'def name():\n    return "Air temperature"\n'
    location = locate_in_tree(tmp_path, 'It prints "Air temperature"', {"a.py": f"{doc}\n\n{code}"})
    quoting = [place.name for place in location.symbols if "says 'Air temperature'" in place.reasons]
    assert quoting == ["a.py::name"]


def test_suspects_callees_of_likely_definition(tmp_path: Path) -> None:
    assert "called by a likely place" in reasons_for(
        locate_in_tree(tmp_path, "`parse_retry_after` is wrong"), "pool/limits.py::round_up"
    )


@pytest.mark.parametrize(
    "issue",
    [
        "tests/test_quota.py",
        "https://example.org/pool/blob/main/tests/test_quota.py#L5",
        "tests/quota/tests.py",
    ],
)
def test_suspects_code_under_named_test(tmp_path: Path, issue: str) -> None:
    test = "from pool import quota, words\n\n\ndef test_quota(): ...\n"
    files = {"pool/quota.py": "def left(): ...\n", "tests/test_quota.py": test, "tests/quota/tests.py": test}
    location = locate_in_tree(tmp_path, f"words are not counted\n\nA case is missing in {issue}.", files)
    assert location.files[0].path == "pool/quota.py"
    assert any(reason.startswith("tested by tests/") for reason in location.files[0].reasons)


def test_tests_in_issue_are_not_tests_of_tree(tmp_path: Path) -> None:
    issue = (
        "Tests that time out are retried\n\n```\ndef test_mine():\n    limiter.wait(3)\n```\n"
        "test_mine.py:3: TypeError in test_mine\n"
    )
    location = locate_in_tree(tmp_path, issue)
    assert "tests/test_limits.py" not in [likely.path for likely in location.files]


def test_excludes_tests_unless_issue_is_about_them(tmp_path: Path) -> None:
    assert "tests/test_limits.py" not in [
        likely.path for likely in locate_in_tree(tmp_path, "`parse_retry_after` is wrong").files
    ]
    assert (
        locate_in_tree(tmp_path, "Flaky test: `test_parse_retry_after`").symbols[0].name
        == "tests/test_limits.py::test_parse_retry_after"
    )


def test_frames_are_read_as_python_pytest_and_ipython_write_them() -> None:
    issue = (
        'x\n  File "/a/b.py", line 3, in one\nsrc/c.py:14: in two\n    two()\n~/d/e.py in three(x)\n'
        "     10 three\n"
    )
    assert extract_issue_terms(issue).frames == (
        TracedCall(path="/a/b.py", line=3, function="one"),
        TracedCall(path="src/c.py", line=14, function="two"),
        TracedCall(path="~/d/e.py", line=0, function="three"),
    )


SCRIPTS = {
    "lib/http.js": (
        "import zlib from 'zlib';\n\nexport default isNode && function httpAdapter(config) {\n"
        "  if (config.headers['content-encoding'] === 'gzip') {\n    return zlib.unzip(config);\n  }\n};\n"
    ),
    "lib/response.js": "export function response(config) {\n  // content, encoding of a response\n}\n",
    "dist/bundle.js": "function response(config) {\n  return 'content-encoding';\n}\n",
    "index.d.ts": "export interface Response { content: string; encoding: string; }\n",
    "vendor/zip.js": "function response(encoding) {\n  return content;\n}\n",
}


def test_a_small_tree_has_no_words_too_common_to_tell(tmp_path: Path) -> None:
    tree = {"cart.py": "def total(prices, discount):\n    return sum(prices) - discount\n"}
    location = locate_in_tree(tmp_path, "The discount is lost", tree)
    assert [place.path for place in location.files] == ["cart.py"]


def test_derived_files_are_no_places_beside_sources(tmp_path: Path) -> None:
    location = locate_in_tree(tmp_path, "response of dist/bundle.js lacks content and encoding", SCRIPTS)
    assert {place.path for place in (*location.files, *location.symbols)} == {
        "lib/response.js",
        "lib/http.js",
    }


def test_declarations_are_places_where_title_is_about_types(tmp_path: Path) -> None:
    location = locate_in_tree(tmp_path, "TypeScript: the encoding of Response is no string", SCRIPTS)
    assert "index.d.ts" in [place.path for place in location.files]


def test_string_of_one_file_outranks_prose(tmp_path: Path) -> None:
    issue = "Downloads are cut\n\nA response with a long response body and a Content-Encoding is cut"
    place = locate_in_tree(tmp_path, issue, SCRIPTS).symbols[0]
    assert (place.name, place.reasons[0]) == (
        "lib/http.js::httpAdapter",
        "the only file with 'content-encoding'",
    )


def test_first_word_of_a_title_is_no_name(tmp_path: Path) -> None:
    files = {
        "lib/named.py": "class Named:\n    pass\n",
        "lib/groups.py": "def groups(named):\n    return named\n",
    }
    location = locate_in_tree(tmp_path, "Named groups are lost", files)
    assert not any("defines Named" in reason for place in location.symbols for reason in place.reasons)


@pytest.mark.parametrize("specifier", ["shop/plugin/tax", "./plugin/tax.js", "@shop/core/plugin/tax"])
def test_module_that_an_example_imports_is_a_place(specifier: str, tmp_path: Path) -> None:
    files = {"src/plugin/tax/index.js": "export default 1;\n", "src/index.js": "export default 2;\n"}
    location = locate_in_tree(tmp_path, f"It fails\n\n```\nconst tax = require('{specifier}')\n```\n", files)
    assert "imported in the issue" in reasons_for(location, "src/plugin/tax/index.js")
