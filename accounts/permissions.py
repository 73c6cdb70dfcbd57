"""Roles and permissions, as the accounts app offers them; the table itself is `runtime.access`."""

from runtime.access import (
    LOWEST_ROLE,
    Caller,
    Denied,
    Permission,
    Role,
    demand,
    may,
    require,
    role_of,
)

__all__ = [
    "LOWEST_ROLE",
    "Caller",
    "Denied",
    "Permission",
    "Role",
    "demand",
    "may",
    "require",
    "role_of",
]
