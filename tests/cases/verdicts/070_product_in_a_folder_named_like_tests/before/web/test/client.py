class Client:
    def get(self, path):
        return 500
