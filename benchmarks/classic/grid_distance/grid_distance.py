"""Steps in a graph without weights."""

from collections import deque


def distances(graph, start):
    """How many steps each node that can be reached is away from `start`."""
    found = {start: 0}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for neighbour in graph.get(node, ()):
            if neighbour not in found:
                found[neighbour] = found[start] + 1
                waiting.append(neighbour)
    return found
