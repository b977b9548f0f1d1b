"""Products of matrices as lists of rows."""


def product(left, right):
    """The matrix product; as many rows as `left`, as many columns as `right`."""
    if len(left[0]) != len(right):
        raise ValueError("the columns of the left must be as many as the rows of the right")
    return [
        [sum(row[k] * right[k][column] for k in range(len(right))) for column in range(len(right))]
        for row in left
    ]


def identity(size):
    return [[int(row == column) for column in range(size)] for row in range(size)]
