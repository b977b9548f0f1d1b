"""Language models behind the Model port: catalog, clients, and test doubles."""
