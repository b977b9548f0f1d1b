import pytest

from tally.main import main


@pytest.fixture
def chapter(tmp_path):
    def written(name, text):
        file = tmp_path / name
        file.write_text(text, encoding="utf-8")
        return str(file)

    return written


def test_words(chapter, capsys):
    assert main([chapter("a.txt", "one two")]) == 0
    assert capsys.readouterr().out.split()[0] == "2"


def test_total(chapter, capsys):
    main(["--lines", chapter("a.txt", "x\n"), chapter("b.txt", "x\ny\n")])
    assert capsys.readouterr().out.splitlines()[-1].split() == ["3", "total"]


def test_too_few(chapter):
    assert main(["--min", "3", chapter("a.txt", "one two")]) == 3


def test_missing(capsys):
    assert main(["nowhere.txt"]) == 1
    assert "nowhere.txt" in capsys.readouterr().err


def test_one_of_two_is_missing(chapter):
    assert main(["nowhere.txt", chapter("a.txt", "one two")]) == 1
