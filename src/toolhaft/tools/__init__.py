"""Built next."""
