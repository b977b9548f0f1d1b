def hi():
    """Greet - politely."""
    say("it's me")
    return "so long"
