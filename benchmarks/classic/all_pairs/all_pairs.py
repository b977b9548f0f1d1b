"""Floyd and Warshall: the shortest way between all pairs."""

FAR = float("inf")


def all_pairs(lengths):
    """A matrix of shortest ways from a matrix of direct ones."""
    size = len(lengths)
    best = [list(row) for row in lengths]
    for via in range(size):
        for start in range(size):
            for end in range(size):
                way = best[start][via] + best[end][via]
                if way < best[start][end]:
                    best[start][end] = way
    return best
