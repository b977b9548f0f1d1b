def split_items(text):
    return text.split(",")
