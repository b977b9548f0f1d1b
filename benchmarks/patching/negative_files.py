"""Diffs that must be refused because of the files that they name, or as a whole."""

from random import Random

from benchmarks.patching.cases import NOWHERE, Case, Hunk, Part, Row, Text
from benchmarks.patching.damage import Table
from benchmarks.patching.negatives import WORD, reword

REFUSED_FILES = Table()
OUTSIDE = (
    "../outside/{}",
    "a/../../outside/{}",
    "/tmp/outside/{}",
    "C:\\{}",
    "C:/{}",
    "x/../../outside/{}",
    "..\\outside\\{}",
)
GIT = (
    ".git/config",
    ".GIT/config",
    "sub/.git/config",
    ".git./config",
    "./.git/config",
    ".git \u200c/config",
    ".g\u200cit/config",
    "git~1/config",
)


@REFUSED_FILES.add("creates what exists", stage=0)
def create_existing_file(case: Case, random: Random) -> bool:
    path = random.choice(sorted(case.before))
    rows = [Row(mark="+", text=text, at=0) for text in ("first", "second")]
    git = [f"diff --git a/{path} b/{path}", "new file mode 100644"] if random.random() < 0.5 else []
    part = Part(
        path="",
        target=path,
        git=git,
        old=NOWHERE,
        new=f"b/{path}",
        hunks=[Hunk(rows=rows, start=0, new_start=1)],
    )
    case.parts = [*(part for part in case.parts if path not in (part.path, part.target)), part]
    return bool(case.before[path].lines)


@REFUSED_FILES.add("renames onto what exists", stage=0)
def rename_onto_file(case: Case, random: Random) -> bool:
    if len(case.before) < 2:
        return False
    old, new = random.sample(sorted(case.before), 2)
    case.parts = [
        Part(
            path=old,
            target=new,
            git=[f"diff --git a/{old} b/{new}", f"rename from {old}", f"rename to {new}"],
            old="",
            new="",
            hunks=[],
        )
    ]
    return True


@REFUSED_FILES.add("deletes what differs", stage=0)
def delete_other_file(case: Case, random: Random) -> bool:
    path = random.choice(sorted(case.before))
    text = case.before[path]
    places = [at for at, line in enumerate(text.lines) if WORD.search(line)]
    if not 3 < len(text.lines) < 400 or not places or not text.final:
        return False
    rows = [Row(mark="-", text=line, at=at) for at, line in enumerate(text.lines)]
    git = [f"diff --git a/{path} b/{path}", "deleted file mode 100644"]
    case.parts = [
        Part(
            path=path,
            target="",
            git=git,
            old=f"a/{path}",
            new=NOWHERE,
            hunks=[Hunk(rows=rows, start=1, new_start=0)],
        )
    ]
    at = random.choice(places)
    text.lines[at] = reword(text.lines[at], random)
    return True


@REFUSED_FILES.add("binary", stage=0)
def add_binary_part(case: Case, random: Random) -> bool:
    if random.random() < 0.5 and case.changed:
        part = random.choice(case.changed)
        if not case.before[part.path].lines:
            return False
        case.before[part.path].lines[0] += "\0"
        return all(row.at for row in part.hunks[0].rows)
    binary_line = random.choice(
        (
            ["Binary files a/logo.png and b/logo.png differ"],
            ["GIT binary patch", "literal 3", "Kcmezm7zz", ""],
        )
    )
    part = Part(
        path="",
        target="logo.png",
        git=["diff --git a/logo.png b/logo.png", "index 1111111..2222222 100644", *binary_line],
        old="",
        new="",
        hunks=[],
    )
    case.parts.append(part)
    return True


@REFUSED_FILES.add("leads outside", stage=0)
def write_outside(case: Case, random: Random) -> bool:
    """Point the diff to a file outside the tree that exists and that the diff fits."""
    if not case.changed:
        return False
    part = case.changed[0]
    case.outside["name.py"] = case.before[part.path]
    name = random.choice(OUTSIDE).format("name.py")
    part.git, part.old, part.new = [], random.choice((f"a/{name}", name)), random.choice((f"b/{name}", name))
    case.parts = [part]
    return True


@REFUSED_FILES.add("through a symbolic link", stage=0)
def write_through_link(case: Case, random: Random) -> bool:
    if not case.changed:
        return False
    part = case.changed[0]
    case.outside["name.py"] = case.before[part.path]
    name = random.choice(("link/name.py", "link.py"))
    case.links = {"link": "../outside", "link.py": "../outside/name.py"}
    part.git, part.old, part.new = [], f"a/{name}", f"b/{name}"
    return len(case.parts) == 1


@REFUSED_FILES.add("into git's own files", stage=0)
def write_into_git(case: Case, random: Random) -> bool:
    name = random.choice(GIT)
    rows = [Row(mark="+", text=text, at=0) for text in ("[core]", "\tfsmonitor = ./evil")]
    if name == ".git/config":
        case.before[name] = Text(lines=["[core]", "\tbare = false"])
        rows = [
            Row(mark=" ", text="[core]", at=0),
            Row(mark="+", text="\tfsmonitor = ./evil", at=1),
            Row(mark=" ", text="\tbare = false", at=1),
        ]
        part = Part(
            path=name,
            target=name,
            git=[],
            old=f"a/{name}",
            new=f"b/{name}",
            hunks=[Hunk(rows=rows, start=1, new_start=1)],
        )
    else:
        part = Part(
            path="",
            target=name,
            git=[],
            old=NOWHERE,
            new=f"b/{name}",
            hunks=[Hunk(rows=rows, start=0, new_start=1)],
        )
    case.parts.append(part)
    return True


@REFUSED_FILES.add("changes nothing", stage=0)
def make_no_change(case: Case, random: Random) -> bool:
    for hunk in case.hunks:
        hunk.rows = [
            row
            for old in hunk.old
            for row in (Row(mark="-", text=old.text, at=old.at), Row(mark="+", text=old.text, at=old.at + 1))
        ]
    case.parts = case.changed
    return bool(case.hunks) and all(row.ends for hunk in case.hunks for row in hunk.rows)


@REFUSED_FILES.add("an unknown file", stage=0)
def change_unknown_file(case: Case, random: Random) -> bool:
    if not case.changed or not any(row.mark == "-" for row in case.changed[0].hunks[0].rows):
        return False
    part = case.changed[0]
    name = part.path.rpartition("/")[0] + "/no_such_file.py"
    part.git, part.old, part.new = [], f"a/{name}", f"b/{name}"
    return True


@REFUSED_FILES.add("no diff at all", stage=0)
def replace_diff_by_text(case: Case, random: Random) -> bool:
    case.parts = []
    case.above = [
        random.choice(
            (
                "I would change the function.",
                "def f():\n    return 1",
                "- first\n+ second",
                "---\ntitle: x\n---",
            )
        )
    ]
    return True
