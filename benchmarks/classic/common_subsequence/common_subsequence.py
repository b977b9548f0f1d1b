"""The longest common subsequence."""


def longest_common(one: str, other: str) -> int:
    """How long the longest sequence of characters is that both hold in this order."""
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, first in enumerate(one, 1):
        for j, second in enumerate(other, 1):
            if first == second:
                table[i][j] = table[i - 1][j - 1] + 1
            else:
                table[i][j] = max(table[i - 1][j], table[i - 1][j - 1])
    return table[-1][-1]
