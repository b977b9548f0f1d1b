from prime_sieve import primes_up_to


def test_none():
    assert primes_up_to(0) == []
    assert primes_up_to(1) == []


def test_some():
    assert primes_up_to(10) == [2, 3, 5, 7]
    assert primes_up_to(13) == [2, 3, 5, 7, 11, 13]


def test_up_to_a_square():
    assert primes_up_to(25) == [2, 3, 5, 7, 11, 13, 17, 19, 23]
    assert primes_up_to(9)[-1] == 7
