"""A singly linked list."""

from dataclasses import dataclass


@dataclass
class Node:
    value: object
    following: "Node | None" = None


def made_of(values):
    head = None
    for value in reversed(list(values)):
        head = Node(value, head)
    return head


def values(head):
    found = []
    while head is not None:
        found.append(head.value)
        head = head.following
    return found


def reverse(head):
    """Turn the list round in place, and return its new head."""
    previous = None
    while head is not None:
        following = head.following
        head.following = previous
        previous = head
        head = following
    return head
