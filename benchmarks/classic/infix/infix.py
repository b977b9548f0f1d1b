"""From infix to postfix: Dijkstra's shunting yard."""

PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2}


def postfix(tokens: list[str]) -> list[str]:
    """The same expression in postfix notation; operators of one precedence are taken from the left."""
    output: list[str] = []
    waiting: list[str] = []
    for token in tokens:
        if token in PRECEDENCE:
            while waiting and waiting[-1] != "(" and PRECEDENCE[waiting[-1]] > PRECEDENCE[token]:
                output.append(waiting.pop())
            waiting.append(token)
        elif token == "(":
            waiting.append(token)
        elif token == ")":
            while waiting[-1] != "(":
                output.append(waiting.pop())
            waiting.pop()
        else:
            output.append(token)
    return output + waiting[::-1]
