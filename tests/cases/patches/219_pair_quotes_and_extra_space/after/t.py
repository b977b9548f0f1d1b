def hi():
    return "so long..."
