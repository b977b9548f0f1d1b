"""Diffs that must be refused, and nothing written."""

import re
from copy import deepcopy
from random import Random

from tests.benchmarks.patching.cases import NOWHERE, Case, Hunk, Part, Row, Text, patched
from tests.benchmarks.patching.certainty import folded, starts
from tests.benchmarks.patching.damage import Table
from tests.benchmarks.patching.damaged_files import applied_already, planted
from tests.benchmarks.patching.damaged_lines import enclosing

NEGATIVES = Table()
SAFE = ("undamaged", "wrong counts", "no a/ and b/", "Markdown fence", "prose around", "CRLF diff", "blank context without its space")
"""Damages that tell nothing about the place."""
WORD = re.compile(r"[A-Za-z_]{2,}|[0-9]+")
OUTSIDE = ("../outside/{}", "a/../../outside/{}", "/tmp/outside/{}", "C:\\{}", "C:/{}", "x/../../outside/{}", "..\\outside\\{}")
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


@NEGATIVES.add("removes what is not there", stage=0)
def stale(case: Case, random: Random) -> bool:
    """One of the lines to be removed has another word in the file."""
    row, part = _removed(case, random)
    if row is None or part is None:
        return False
    lines = case.before[part.path].lines
    lines[row.at] = _reworded(lines[row.at], random)
    case.note = f"The file has {lines[row.at]!r} for {row.text!r}."
    gone = folded(row.text) not in map(folded, lines) and folded(lines[row.at]) not in {
        folded(line) for line in case.after[part.target].lines
    }
    return gone and folded(lines[row.at]) != folded(row.text)


@NEGATIVES.add("removes what was deleted", stage=0)
def stale_gone(case: Case, random: Random) -> bool:
    row, part = _removed(case, random)
    if row is None or part is None:
        return False
    lines = case.before[part.path].lines
    del lines[row.at]
    case.note = f"The file has no {row.text!r}."
    hunk = next(hunk for hunk in part.hunks if any(other is row for other in hunk.rows))
    return folded(row.text) not in map(folded, lines) and not starts([other.text for other in hunk.new], lines)


@NEGATIVES.add("made for another version", stage=0)
def other_version(case: Case, random: Random) -> bool:
    """The file of a neighbour stands where the diff's file was; what is to be removed is not in it."""
    row, part = _removed(case, random)
    others = [text for path, text in case.before.items() if part and path != part.path and text.lines]
    if row is None or part is None or not others:
        return False
    case.before[part.path] = deepcopy(random.choice(others))
    return folded(row.text) not in map(folded, case.before[part.path].lines)


@NEGATIVES.add("inserts beside what is not there", stage=0)
def stale_insertion(case: Case, random: Random) -> bool:
    part = random.choice(case.changed) if case.changed else None
    found = [hunk for hunk in part.hunks if all(row.mark != "-" for row in hunk.rows)] if part else []
    if part is None or not found:
        return False
    lines = case.before[part.path].lines
    hunk = random.choice(found)
    for row in hunk.old:
        lines[row.at] = _reworded(_reworded(lines[row.at], random), random) + "_" if WORD.search(lines[row.at]) else lines[row.at]
    texts = [row.text for row in hunk.old if WORD.search(row.text)]
    return bool(texts) and not any(folded(text) in map(folded, lines) for text in texts)


@NEGATIVES.add("twins, nothing tells", stage=0)
def twins(case: Case, random: Random) -> bool:
    hunk = planted(case, random)
    if hunk:
        hunk.header, hunk.start = random.choice(("@@", "@@ @@", "@@ ... @@")), 0
    return bool(hunk)


@NEGATIVES.add("twins, a line number beside", stage=0)
def twins_near(case: Case, random: Random) -> bool:
    hunk = planted(case, random)
    if not hunk:
        return False
    found = starts([row.text for row in hunk.old], case.before[case.changed[0].path].lines)
    hunk.start, hunk.section = hunk.start + random.choice((-3, -2, -1, 1, 2, 3)), ""
    return hunk.start > 0 and hunk.start - 1 not in found and len(case.changed[0].hunks) == 1


@NEGATIVES.add("twins in one function", stage=0)
def twins_inside(case: Case, random: Random) -> bool:
    """Both stand in the function that the header names."""
    part = case.changed[0] if case.changed else None
    if part is None or len(part.hunks) != 1 or not part.hunks[0].old:
        return False
    hunk, lines = part.hunks[0], case.before[part.path].lines
    texts = [row.text for row in hunk.old]
    opener = enclosing(lines, hunk.old[0].at)
    shallow = opener < 0 or any(text.strip() and len(text) - len(text.lstrip()) <= _depth(lines[opener]) for text in texts)
    if shallow or not lines[opener].endswith(":") or len(starts(texts, lines)) != 1 or not WORD.search(" ".join(texts)):
        return False
    hunk.header, hunk.start = f"@@ {lines[opener].strip()}", 0
    lines[opener + 1 : opener + 1] = texts
    return len(starts(texts, lines)) == 2 and opener + 1 + len(texts) < hunk.old[0].at + len(texts)


@NEGATIVES.add("twins by basename", stage=0)
def same_basename(case: Case, random: Random) -> bool:
    """Only the file's own name is given, and a second file of that name has the same content."""
    if len(case.changed) != 1 or len(case.parts) != 1 or "/" not in case.parts[0].path:
        return False
    part = case.parts[0]
    name = part.path.rpartition("/")[2]
    part.git, part.old, part.new = [], f"a/{name}", f"b/{name}"
    case.before[f"other/{name}"] = deepcopy(case.before[part.path])
    return name not in case.before and f"other/{name}" != part.path


@NEGATIVES.add("hunks that contradict", stage=0)
def contradiction(case: Case, random: Random) -> bool:
    found = [(part, hunk) for part in case.changed for hunk in part.hunks if {"+", "-"} <= {row.mark for row in hunk.rows}]
    if not found:
        return False
    part, hunk = random.choice(found)
    other = deepcopy(hunk)
    row = next(row for row in other.rows if row.mark == "+")
    row.text = _reworded(row.text, random) if WORD.search(row.text) else row.text + " other"
    part.hunks.insert(part.hunks.index(hunk) + 1, other)
    return folded(row.text) not in {folded(row.text) for row in hunk.rows}


@NEGATIVES.add("creates what exists", stage=0)
def creates_existing(case: Case, random: Random) -> bool:
    path = random.choice(sorted(case.before))
    rows = [Row(mark="+", text=text, at=0) for text in ("first", "second")]
    git = [f"diff --git a/{path} b/{path}", "new file mode 100644"] if random.random() < 0.5 else []
    part = Part(path="", target=path, git=git, old=NOWHERE, new=f"b/{path}", hunks=[Hunk(rows=rows, start=0, new_start=1)])
    case.parts = [*(part for part in case.parts if path not in (part.path, part.target)), part]
    return bool(case.before[path].lines)


@NEGATIVES.add("renames onto what exists", stage=0)
def renames_onto(case: Case, random: Random) -> bool:
    if len(case.before) < 2:
        return False
    old, new = random.sample(sorted(case.before), 2)
    case.parts = [
        Part(path=old, target=new, git=[f"diff --git a/{old} b/{new}", f"rename from {old}", f"rename to {new}"], old="", new="", hunks=[])
    ]
    return True


@NEGATIVES.add("deletes what differs", stage=0)
def deletes_other(case: Case, random: Random) -> bool:
    path = random.choice(sorted(case.before))
    text = case.before[path]
    places = [at for at, line in enumerate(text.lines) if WORD.search(line)]
    if not 3 < len(text.lines) < 400 or not places or not text.final:
        return False
    rows = [Row(mark="-", text=line, at=at) for at, line in enumerate(text.lines)]
    git = [f"diff --git a/{path} b/{path}", "deleted file mode 100644"]
    case.parts = [Part(path=path, target="", git=git, old=f"a/{path}", new=NOWHERE, hunks=[Hunk(rows=rows, start=1, new_start=0)])]
    at = random.choice(places)
    text.lines[at] = _reworded(text.lines[at], random)
    return True


@NEGATIVES.add("binary", stage=0)
def binary(case: Case, random: Random) -> bool:
    if random.random() < 0.5 and case.changed:
        part = random.choice(case.changed)
        case.before[part.path].lines[0] += "\0"
        return all(row.at for row in part.hunks[0].rows)
    told = random.choice((["Binary files a/logo.png and b/logo.png differ"], ["GIT binary patch", "literal 3", "Kcmezm7zz", ""]))
    part = Part(
        path="",
        target="logo.png",
        git=["diff --git a/logo.png b/logo.png", "index 1111111..2222222 100644", *told],
        old="",
        new="",
        hunks=[],
    )
    case.parts.append(part)
    return True


@NEGATIVES.add("leads outside", stage=0)
def outside(case: Case, random: Random) -> bool:
    """To a file that is there and that the diff fits."""
    if not case.changed:
        return False
    part = case.changed[0]
    case.outside["name.py"] = case.before[part.path]
    name = random.choice(OUTSIDE).format("name.py")
    part.git, part.old, part.new = [], random.choice((f"a/{name}", name)), random.choice((f"b/{name}", name))
    case.parts = [part]
    return True


@NEGATIVES.add("through a symbolic link", stage=0)
def through_link(case: Case, random: Random) -> bool:
    if not case.changed:
        return False
    part = case.changed[0]
    case.outside["name.py"] = case.before[part.path]
    name = random.choice(("link/name.py", "link.py"))
    case.links = {"link": "../outside", "link.py": "../outside/name.py"}
    part.git, part.old, part.new = [], f"a/{name}", f"b/{name}"
    return len(case.parts) == 1


@NEGATIVES.add("into git's own files", stage=0)
def into_git(case: Case, random: Random) -> bool:
    name = random.choice(GIT)
    rows = [Row(mark="+", text=text, at=0) for text in ("[core]", "\tfsmonitor = ./evil")]
    if name == ".git/config":
        case.before[name] = Text(lines=["[core]", "\tbare = false"])
        rows = [
            Row(mark=" ", text="[core]", at=0),
            Row(mark="+", text="\tfsmonitor = ./evil", at=1),
            Row(mark=" ", text="\tbare = false", at=1),
        ]
        part = Part(path=name, target=name, git=[], old=f"a/{name}", new=f"b/{name}", hunks=[Hunk(rows=rows, start=1, new_start=1)])
    else:
        part = Part(path="", target=name, git=[], old=NOWHERE, new=f"b/{name}", hunks=[Hunk(rows=rows, start=0, new_start=1)])
    case.parts.append(part)
    return True


@NEGATIVES.add("changes nothing", stage=0)
def nothing(case: Case, random: Random) -> bool:
    for hunk in case.hunks:
        hunk.rows = [
            row for old in hunk.old for row in (Row(mark="-", text=old.text, at=old.at), Row(mark="+", text=old.text, at=old.at + 1))
        ]
    case.parts = case.changed
    return bool(case.hunks) and all(row.ends for hunk in case.hunks for row in hunk.rows)


@NEGATIVES.add("applied already", stage=0)
def all_applied(case: Case, random: Random) -> bool:
    case.parts = case.changed
    for part in case.parts:
        case.before[part.path].lines = patched(case.before[part.path].lines, part.hunks)
        lines = case.before[part.path].lines
        if any(starts([row.text for row in hunk.old], lines) or not hunk.old for hunk in part.hunks):
            return False
    return bool(case.parts)


@NEGATIVES.add("one hunk of several is stale", stage=0)
def partly_stale(case: Case, random: Random) -> bool:
    return len(case.hunks) > 1 and stale(case, random)


@NEGATIVES.add("stale beside an applied hunk", stage=0)
def stale_and_applied(case: Case, random: Random) -> bool:
    if not applied_already(case, random):
        return False
    applied = [hunk for hunk in case.hunks if hunk.applied]
    return stale(case, random) and not any(hunk is not other and not hunk.applied for hunk in applied for other in applied)


@NEGATIVES.add("an unknown file", stage=0)
def unknown_file(case: Case, random: Random) -> bool:
    if not case.changed or not any(row.mark == "-" for row in case.changed[0].hunks[0].rows):
        return False
    part = case.changed[0]
    name = part.path.rpartition("/")[0] + "/no_such_file.py"
    part.git, part.old, part.new = [], f"a/{name}", f"b/{name}"
    return True


@NEGATIVES.add("added lines alone, no place", stage=0)
def no_place(case: Case, random: Random) -> bool:
    found = [part for part in case.changed if case.before[part.path].lines]
    if not found:
        return False
    part = random.choice(found)
    part.hunks = [Hunk(rows=[Row(mark="+", text="import something", at=0)], start=0, new_start=0, header="@@")]
    return True


@NEGATIVES.add("no diff at all", stage=0)
def no_diff(case: Case, random: Random) -> bool:
    case.parts = []
    case.above = [random.choice(("I would change the function.", "def f():\n    return 1", "- first\n+ second", "---\ntitle: x\n---"))]
    return True


def _removed(case: Case, random: Random) -> tuple[Row | None, Part | None]:
    """A removed line with a word in it, and its part."""
    found = [
        (row, part)
        for part in case.changed
        for hunk in part.hunks
        if not hunk.applied
        for row in hunk.rows
        if row.mark == "-" and WORD.search(row.text)
    ]
    return random.choice(found) if found else (None, None)


def _reworded(line: str, random: Random) -> str:
    """The line with another word or number in it."""
    words = list(WORD.finditer(line))
    if not words:
        return line
    word = random.choice(words)
    other = str(int(word[0]) + 1) if word[0].isdigit() else random.choice((f"{word[0]}_old", f"not_{word[0]}", word[0][::-1] + "x"))
    return line[: word.start()] + other + line[word.end() :]


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
