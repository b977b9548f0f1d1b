import pytest

from slugs import slugify


@pytest.mark.parametrize(
    ("text", "slug"),
    [("Hello, World", "hello-world"), ("Ångström 2", "angstrom-2"), ("--a--", "a"), ("", "untitled")],
)
def test_slugs(text, slug):
    assert slugify(text) == slug


def test_never_exceeds_its_length():
    for length in range(1, 20):
        slug = slugify("the quick brown fox", max_length=length)
        assert len(slug) <= length
        assert not slug.endswith("-")
