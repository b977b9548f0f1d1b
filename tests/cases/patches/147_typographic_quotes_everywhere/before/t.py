def hi():
    """Greet - politely."""
    say("it's me")
    return "bye..."
