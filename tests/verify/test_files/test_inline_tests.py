from coder.verify.test_files import has_inline_tests, inline_tests, replace_inline_tests

OLD = """pub fn double(n: u8) -> u8 { n + 1 }

pub mod text {
    pub fn first() -> char { 'a' }
    #[cfg(test)]
    mod tests { /* old inner */ }
}

#[cfg(test)]
mod tests {
    #[test]
    fn old() {}
}
"""
NEW = """pub fn double(n: u8) -> u8 { n * 2 }

pub mod text {
    pub fn first() -> char { 'b' }
    #[cfg(test)]
    mod tests { /* new inner */ }
}

/// Doubles twice.
#[tokio::test]
async fn outside() {}

#[cfg(all(test, unix))]
mod tests {
    #[test]
    fn new() {}
}
"""


def test_moves_tests_between_versions_without_their_sources() -> None:
    mixed = replace_inline_tests(OLD, NEW)
    assert all(part in mixed for part in ("n + 1", "'a'", "new inner", "fn outside", "fn new"))
    assert not any(part in mixed for part in ("n * 2", "'b'", "old inner", "fn old"))
    assert mixed.index("new inner") < mixed.index("fn outside")
    assert inline_tests(mixed) == inline_tests(NEW)


def test_recognizes_sources_without_tests() -> None:
    assert has_inline_tests(OLD)
    assert not has_inline_tests('#[cfg(feature = "latest")]\nfn latest() {}\n// #[cfg(test)]\n')
