from pathlib import Path

from shop import total


def test_report():
    expected = (Path(__file__).parent / 'report.txt').read_text()
    assert f"total {total(['tea', 'cake'])}\n" == expected
