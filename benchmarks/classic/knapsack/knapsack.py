"""The knapsack in which each thing fits once."""


def most_value(things, capacity):
    """The greatest value of things, given as (weight, value), that together weigh no more than `capacity`."""
    best = [0] * (capacity + 1)
    for weight, value in things:
        for room in range(weight, capacity + 1):
            best[room] = max(best[room], best[room - weight] + value)
    return best[capacity]
