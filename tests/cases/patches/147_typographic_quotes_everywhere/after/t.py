def hi():
    """Greet - politely."""
    say("it's us")
    return "bye..."
