"""Wiring only; fixtures live in tests/support and beside their tests."""
