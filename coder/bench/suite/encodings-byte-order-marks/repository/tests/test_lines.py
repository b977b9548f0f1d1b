from readtext import decode


def test_line_ends():
    assert decode(b"a\r\nb\rc\n") == "a\nb\nc\n"
