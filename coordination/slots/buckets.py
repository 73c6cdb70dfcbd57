"""The buckets a store is made of, one field per retention."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Self

from coordination.contract.bucket import Bucket
from coordination.rules.retention import SWEPT


@dataclass(frozen=True, slots=True, kw_only=True)
class Buckets:
    """Each bucket under its suffix."""

    leases: Bucket
    duties: Bucket
    epochs: Bucket
    rate: Bucket
    claims: Bucket
    ledger: Bucket
    cooldowns: Bucket
    status: Bucket
    config: Bucket
    budgets: Bucket
    channels: Bucket
    follows: Bucket
    fires: Bucket
    rebases: Bucket
    sandbox_runs: Bucket
    secrets: Bucket
    integrations: Bucket
    mailboxes: Bucket
    objects: Bucket
    custody: Bucket
    positions: Bucket

    @classmethod
    def of(cls, by_suffix: Mapping[str, Bucket]) -> Self:
        """The buckets a backend opened.

        Args:
            by_suffix: every suffix of `rules.retention.every_bucket`, and no other.
        """
        return cls(**by_suffix)

    def by_suffix(self) -> dict[str, Bucket]:
        """Every bucket under its suffix, in the order they are opened."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def each(self, wrap: Callable[[Bucket], Bucket]) -> Self:
        """The same set with every bucket wrapped."""
        return self.of({suffix: wrap(bucket) for suffix, bucket in self.by_suffix().items()})

    def swept(self) -> tuple[Bucket, ...]:
        """The buckets whose removal markers nothing but a sweep ends."""
        every = self.by_suffix()
        return tuple(every[kept.suffix] for kept in SWEPT)
