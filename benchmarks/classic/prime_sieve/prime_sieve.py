"""The sieve of Eratosthenes."""


def primes_up_to(limit: int) -> list[int]:
    """All primes that are not greater than `limit`."""
    candidate = [True] * (limit + 1)
    candidate[:2] = [False] * min(2, limit + 1)
    number = 2
    while number * number < limit:
        if candidate[number]:
            for multiple in range(number * number, limit + 1, number):
                candidate[multiple] = False
        number += 1
    return [number for number, is_prime in enumerate(candidate) if is_prime]
