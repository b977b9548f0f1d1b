"""The sum of the best run of neighbours."""


def best_run(numbers):
    """The greatest sum of one or more neighbours."""
    best = running = numbers[0]
    for number in numbers[1:]:
        running = max(0, running + number)
        best = max(best, running)
    return best
