class A:
    def go(self):
        return 1

    def stop(self):
        return 1


class B:
    def go(self):
        return 1

    def stop(self):
        return 1
