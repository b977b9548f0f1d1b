"""Paying with as few coins as possible."""

import math


def fewest_coins(coins, amount):
    """How many coins are needed, or None where the amount cannot be paid."""
    fewest = [0] + [math.inf] * amount
    for total in range(1, amount + 1):
        for coin in coins:
            if coin <= total:
                fewest[total] = min(fewest[total], fewest[total - coin])
    return None if fewest[amount] == math.inf else fewest[amount]
