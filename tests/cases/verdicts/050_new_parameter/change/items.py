import re


def split_items(text, separators=False):
    return re.split("(,)" if separators else ",", text)
