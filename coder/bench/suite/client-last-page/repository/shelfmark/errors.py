"""What goes wrong between here and the server."""


class ServiceError(Exception):
    """The server answered with an error."""

    def __init__(self, status, message):
        super().__init__(f"{status}: {message}")
        self.status = status


class NotFound(ServiceError):
    """There is no such thing."""
