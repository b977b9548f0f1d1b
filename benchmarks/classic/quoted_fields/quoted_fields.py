"""Fields of a line, some of them in quotes."""


def fields(line: str, separator: str = ",") -> list[str]:
    """The fields; within double quotes a separator is text, and a doubled quote is one."""
    found, current, quoted, index = [], [], False, 0
    while index < len(line):
        character = line[index]
        if character == '"':
            if quoted and line[index + 1 : index + 2] == '"':
                current.append('"')
                index += 1
            else:
                quoted = True
        elif character == separator and not quoted:
            found.append("".join(current))
            current = []
        else:
            current.append(character)
        index += 1
    found.append("".join(current))
    return found
