class P:
    def a(self):
        ...

    def b(self):
        return 1
