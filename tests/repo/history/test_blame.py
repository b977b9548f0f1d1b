"""Parsing of `git blame --porcelain`."""

from coder.repo.history import format_blame, parse_blame

ADA, BEN = "a" * 40, "b" * 40
PORCELAIN = "\n".join(
    [
        f"{ADA} 1 1 2",
        *(
            "author Ada",
            "author-time 1577836800",
            "author-tz -0130",
            "summary adds boxes: all",
            "boundary",
            "filename old name.py",
        ),
        "\tone",
        f"{ADA} 2 2",
        f"\t{BEN} 1 1 is no header here",
        f"{BEN} 9 3 1",
        *("author ", "author-time 1577836800", "author-tz +9999", "summary ", "filename a.py"),
        "\tthree",
    ]
)


def test_groups_line_runs_into_rows_with_local_date() -> None:
    assert format_blame(parse_blame(PORCELAIN)).split("\n") == [
        "        1-2 aaaaaaaaaa 2019-12-31 Ada: adds boxes: all",
        "          3 bbbbbbbbbb 2020-01-01 : ",
    ]
