from pressroom.slugs import slug


def test_slug():
    assert slug("The End of the Café!") == "end-cafe"


def test_only_small_words():
    assert slug("To the") == "to-the"
