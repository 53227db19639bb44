"""Operators: Observable to Observable, one operator per file."""
