"""A calculator for postfix notation."""

import operator

OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


class Malformed(ValueError):
    pass


def evaluate(expression: str) -> float:
    """The value of an expression such as `1 2 + 3 *`."""
    stack: list[float] = []
    for token in expression.split():
        if token in OPERATORS:
            if len(stack) < 2:
                raise Malformed(expression)
            left, right = stack.pop(), stack.pop()
            stack.append(OPERATORS[token](left, right))
        else:
            stack.append(float(token))
    if len(stack) != 1:
        raise Malformed(expression)
    return stack[0]
