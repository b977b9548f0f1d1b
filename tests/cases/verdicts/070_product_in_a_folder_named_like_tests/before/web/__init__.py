from web.test.client import Client

__all__ = ['Client']
