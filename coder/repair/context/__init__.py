"""Context of a candidate edit: names in scope, donor code, conditions, imports."""
