class A:
    def go(self):
        self.x = 1
        self.y = 2
        self.z = 3


class B:
    """Second."""

    # helpers

    def stop(self):
        return None
