from pressroom.titles import shorten, title_case


def test_small_words_stay_small():
    assert title_case("the end of the affair") == "The End of the Affair"


def test_short_text_stays():
    assert shorten("Rain", 20) == "Rain"


def test_long_text_is_cut_at_a_word():
    assert shorten("A very long title about rain", 16) == "A very long…"
