"""Decision whether a damaged diff is unambiguous, made from what is left of it and by no applier."""

import unicodedata

from benchmarks.patching.cases import Case, Hunk, Row

LOOKS = str.maketrans(
    {
        "\u2019": "'",
        "\u2018": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u2013": "-",
        "\u2014": "-",
        "\u2011": "-",
        "\u2026": "...",
        "\u00a0": " ",
    }
)


def fold(text: str) -> str:
    """Return a line without what a reader does not see: white space, and the choice among signs that look
    alike.
    """
    return " ".join(unicodedata.normalize("NFC", text.translate(LOOKS)).split())


def is_certain(case: Case) -> bool:
    """Return whether a careful reader, with the file beside the diff, would have no doubt where each hunk
    goes.
    """
    for part in case.changed:
        lines = case.before[part.path].lines
        numbered = all(
            hunk.start == hunk.old[0].at + 1 for hunk in part.hunks if hunk.old and hunk.old[0].at >= 0
        )
        if not all(
            _is_certain(hunk, lines, numbered=numbered and hunk.header is None) for hunk in part.hunks
        ):
            return False
    return True


def starts(texts: list[str], lines: list[str], *, exact: bool = False) -> list[int]:
    """Return the indices at which these lines occur consecutively."""
    if not exact:
        texts, lines = [fold(text) for text in texts], [fold(line) for line in lines]
    first = [at for at, line in enumerate(lines) if line == texts[0]] if texts else []
    return [at for at in first if lines[at : at + len(texts)] == texts]


def _is_certain(hunk: Hunk, lines: list[str], *, numbered: bool) -> bool:
    if hunk.applied:
        old, new = ([row.text for row in rows] for rows in (hunk.old, hunk.new))
        return sum(map(_has_content, new)) > 1 and len(starts(new, lines)) == 1 and not starts(old, lines)
    known_rows = [row for row in hunk.old if row.at >= 0 and fold(row.text) == fold(lines[row.at])]
    telling = [row for row in known_rows if _has_content(row.text)]
    made_up = [
        row
        for row in hunk.old
        if (_is_evidence(row) and row not in known_rows) or (row.at < 0 and not _is_evidence(row))
    ]
    if len(telling) <= len(made_up) or not _is_anchored(hunk):
        return False
    whole = [row.at for row in hunk.old] == list(range(hunk.old[0].at, hunk.old[0].at + len(hunk.old)))
    exact = all(row.text == lines[row.at] and row.marked for row in known_rows) and len(known_rows) == len(
        hunk.old
    )
    if whole and exact and (numbered or (hunk.pinned and hunk.header is not None)):
        return True
    if starts([row.text for row in hunk.new], lines):
        return False  # the line may be present already
    if whole and exact:
        return len(starts([row.text for row in known_rows], lines, exact=True)) == 1
    return _segments_are_unique(hunk, lines) or _has_one_match(known_rows, lines)


def _has_content(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _is_anchored(hunk: Hunk) -> bool:
    """Return whether each run of added lines stands beside the lines that it belongs between."""
    rows = hunk.rows
    for index, row in enumerate(rows):
        if row.mark == " " or (index and rows[index - 1].mark != " "):
            continue
        end = next((later for later in range(index, len(rows)) if rows[later].mark == " "), len(rows))
        if removed := [rows[inner].at for inner in range(index, end) if rows[inner].mark == "-"]:
            if any(not removed[0] <= rows[inner].at <= removed[-1] + 1 for inner in range(index, end)):
                return False  # a line between the added and the removed ones is missing
            continue
        above = next((rows[inner] for inner in range(index - 1, -1, -1) if _is_evidence(rows[inner])), None)
        below = next((rows[inner] for inner in range(end, len(rows)) if _is_evidence(rows[inner])), None)
        if not (above or below) or (above and not _is_elision(above) and above.at != row.at - 1):
            return False
        if below and not _is_elision(below) and below.at != row.at:
            return False
    return True


def _is_elision(row: Row) -> bool:
    return row.at < 0


def _is_evidence(row: Row) -> bool:
    """Return whether the row is a line of the file, or a sign that lines were left out, rather than an
    invented line.
    """
    return row.at >= 0 or row.text.strip(" #./*") == ""


def _segments_are_unique(hunk: Hunk, lines: list[str]) -> bool:
    """Return whether each run of neighbouring lines that holds a change occurs in one place only."""
    segments: list[list[Row]] = [[]]
    previous = None
    for row in hunk.rows:
        same = row.at >= 0 and (previous is None or row.at == previous.at + (previous.mark != "+"))
        is_known = row.mark == "+" or (row.at >= 0 and fold(row.text) == fold(lines[row.at]))
        if not (same and is_known):
            segments.append([])
        if is_known:
            segments[-1].append(row)
        previous = row if is_known else None
    changed_segments = [segment for segment in segments if any(row.mark != " " for row in segment)]
    return all(
        len(starts([row.text for row in segment if row.mark != "+"], lines)) == 1
        for segment in changed_segments
    )


def _has_one_match(rows: list[Row], lines: list[str]) -> bool:
    """Return whether these lines can be found in this order, as close together, in one way only."""
    texts, folded_lines = [fold(row.text) for row in rows], [fold(line) for line in lines]
    span = rows[-1].at - rows[0].at + 3
    matches = []
    for at in (at for at, line in enumerate(folded_lines) if line == texts[0]):
        places = [at]
        for text in texts[1:]:
            if (
                place := next(
                    (
                        later
                        for later in range(places[-1] + 1, min(at + span, len(folded_lines)))
                        if folded_lines[later] == text
                    ),
                    None,
                )
            ) is None:
                break
            places.append(place)
        if len(places) == len(texts):
            matches.append(places)
    return matches == [[row.at for row in rows]]
