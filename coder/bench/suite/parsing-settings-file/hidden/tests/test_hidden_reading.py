import pytest

from plainconf import dump, load, parse
from plainconf.errors import Malformed


@pytest.mark.parametrize("value", ["a=b", "a=b=c", "=", "x == y", "postgresql://db/shop?sslmode=require&options=fast"])
def test_equals_signs_belong_to_the_value(value):
    assert parse(f"key = {value}")[""] == {"key": value}


def test_there_and_back():
    sections = {"": {}, "database": {"url": "db?a=b", "retries": 3}}
    assert parse(dump(sections)) == sections


def test_from_a_file(tmp_path):
    file = tmp_path / "settings.conf"
    file.write_text("[d]\nu = a=b\n", encoding="utf-8")
    assert load(file)["d"] == {"u": "a=b"}


def test_no_equals_sign():
    with pytest.raises(Malformed):
        parse("key")
