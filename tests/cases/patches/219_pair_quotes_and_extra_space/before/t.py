def hi():
    return "bye..."
