"""Properties of patching: a certain diff applies as intended; any other changes nothing."""

import difflib
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir

from benchmarks.patching.cases import Case, Text
from benchmarks.patching.certainty import is_certain
from benchmarks.patching.damage import Table
from benchmarks.patching.damaged_files import FILES
from benchmarks.patching.damaged_layout import LAYOUT
from benchmarks.patching.damaged_lines import LINES
from benchmarks.patching.history import parts_of
from coder.patching import PatchError, apply

DAMAGES = Table()
DAMAGES.damages = {**LAYOUT.damages, **LINES.damages, **FILES.damages}
PATH = "src/box.py"
BODIES = (
    "",
    "x = {}",
    "call_{}(x)",
    "# keep {} in this order",
    "print('a', \"b {}\")",
    "if x > {}:",
    "    y = [{}]",
    "z += x - {} ...",
    "- no mark {}",
)
PIECES = (
    "@@",
    "@@ -1 +1 @@",
    "--- a/t",
    "+++ b/t",
    "--- /dev/null",
    "+++ /dev/null",
    "diff --git a/t b/t",
    "rename from t",
    "rename to u",
)
MORE_PIECES = (
    "deleted file mode 100644",
    "*** Begin Patch",
    "*** Update File: t",
    "*** Delete File: t",
    "*** End Patch",
    "t",
    "```",
    "...",
)
BLOCK = (
    "<<<<<<< SEARCH",
    "=======",
    ">>>>>>> REPLACE",
    " a",
    "-a",
    "+b",
    " b",
    "-b",
    "a",
    "b",
    "",
    "\\ No newline at end of file",
    "+++ b/../t",
)


def bodies(most: int) -> st.SearchStrategy[list[str]]:
    """Return a strategy for the lines of a function; few are alike, except empty ones."""
    lines = st.tuples(st.sampled_from(BODIES), st.integers(0, 10_000)).map(
        lambda pair: pair[0].format(pair[1])
    )
    return st.lists(lines.map(lambda body: f"    {body}" if body else ""), max_size=most)


@pytest.fixture(autouse=True, scope="module")
def _nothing_is_left_in_the_checkout(tmp_path_factory: pytest.TempPathFactory) -> None:
    set_hypothesis_home_dir(tmp_path_factory.mktemp("hypothesis"))


@st.composite
def scripts(draw: st.DrawFn) -> list[str]:
    """Draw a Python file of a few functions."""
    lines = ["import os", ""]
    for number in range(draw(st.integers(1, 6))):
        lines += [f"def f{number}(x):", *draw(bodies(8)), f"    return {number}", "", ""]
    return lines[:-2]


@st.composite
def edits(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Draw a file before and after a few lines were removed, added and replaced."""
    before = draw(scripts())
    after = list(before)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(after)))
        removed_count = draw(st.integers(0, 2))
        after[at : at + removed_count] = draw(bodies(3))
    return before, after


def diff_of(before: list[str], after: list[str], *, path: str = PATH, context: int = 3) -> str:
    lines = difflib.unified_diff(before, after, f"a/{path}", f"b/{path}", n=context, lineterm="")
    return "".join(f"{line}\n" for line in (f"diff --git a/{path} b/{path}", *lines))


def files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def write_files(root: Path, texts: dict[str, Text]) -> None:
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.data)


def damage_case(case: Case, random: Random) -> bool:
    """Damage a case in one or two ways that suit it and keep its meaning certain."""
    names = random.sample(list(DAMAGES.damages), random.randint(1, 2))
    case.note = " + ".join(names)
    return (
        DAMAGES.are_compatible(tuple(names)) and DAMAGES.make(case, tuple(names), random) and is_certain(case)
    )


@given(edit=edits(), context=st.integers(1, 5), seed=st.integers(0, 2**32))
def test_damaged_but_certain_diff_gives_intended_file(
    edit: tuple[list[str], list[str]], context: int, seed: int
) -> None:
    before, after = edit
    for draw in range(20):
        texts = [{PATH: Text(lines=list(lines)), "other.txt": Text(lines=["x"])} for lines in (before, after)]
        case = Case(before=texts[0], after=texts[1], parts=parts_of(diff_of(before, after, context=context)))
        if before != after and damage_case(case, Random(seed + draw)):
            break
    else:
        return
    note(f"{case.note}\n{case.text}")
    with TemporaryDirectory() as place:
        write_files(Path(place), case.before)
        apply(case.text, Path(place))
        assert files(Path(place)) == {name: text.data for name, text in case.after.items()}


@given(edit=edits(), context=st.integers(1, 5))
def test_applied_diff_can_be_undone(edit: tuple[list[str], list[str]], context: int) -> None:
    before, after = edit
    with TemporaryDirectory() as place:
        write_files(Path(place), {PATH: Text(lines=before)})
        start = files(Path(place))
        if is_refused(lambda: apply(diff_of(before, after, context=context), Path(place))):
            assert files(Path(place)) == start
            return
        assert files(Path(place)) == {PATH: Text(lines=after).data}
        if not is_refused(lambda: apply(diff_of(before, after, context=context), Path(place), reverse=True)):
            assert files(Path(place)) == start


@given(lines=st.lists(st.sampled_from([*PIECES, *MORE_PIECES, *BLOCK]), max_size=25))
def test_refused_diff_pieces_change_nothing(lines: list[str]) -> None:
    is_unharmed_if_refused("\n".join(lines))


@given(
    text=st.text(max_size=300),
    start=st.sampled_from(
        ["", "--- a/t\n+++ b/t\n@@ -1 +1 @@\n", "@@\n-a\n+", "*** Begin Patch\n*** Update File: t\n"]
    ),
)
def test_refused_text_changes_nothing(text: str, start: str) -> None:
    is_unharmed_if_refused(start + text)


@given(
    edit=edits(),
    cuts=st.lists(
        st.tuples(st.integers(0, 2_000), st.integers(0, 5), st.text("+- @\n\r\t\\ax", max_size=3)), max_size=4
    ),
)
def test_refused_corrupted_diff_changes_nothing(
    edit: tuple[list[str], list[str]], cuts: list[tuple[int, int, str]]
) -> None:
    text = diff_of(*edit)
    for at, length, put_in in cuts:
        text = text[: at % (len(text) + 1)] + put_in + text[at % (len(text) + 1) + length :]
    is_unharmed_if_refused(text, {PATH: Text(lines=edit[0])})


def is_unharmed_if_refused(text: str, more: dict[str, Text] | None = None) -> None:
    with TemporaryDirectory() as place:
        root = Path(place) / "root"
        write_files(
            root,
            {"t": Text(lines=["a", "b", "", "a"]), "d/u": Text(lines=["a"], final=False), **(more or {})},
        )
        before = files(Path(place))
        if is_refused(lambda: apply(text, root)):
            assert files(Path(place)) == before
        else:
            assert files(Path(place)) != before
            assert all(name.startswith("root/") for name in files(Path(place)))


def is_refused(action: Callable[[], object]) -> bool:
    """Return whether it raised a PatchError; any other exception is a bug."""
    try:
        action()
    except PatchError:
        return True
    return False
