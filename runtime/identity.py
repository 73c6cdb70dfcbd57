"""Who this process is in the store, and clearing away what its earlier incarnations held.

An owner is `{node id}:{process}-{random}`: one incarnation of one process, never shared, so that
nobody renews a lease whose work another process covers.
"""

import functools
import logging
import secrets
from typing import Final

from coordination.contract.answers import Owner
from coordination.contract.store import Store
from coordination.rules.keys import ResourceClass
from runtime import portal

RANDOM_BYTES: Final = 4

_log = logging.getLogger("crewlet.identity")


def mint_owner(node_id: str, process: str) -> Owner:
    """A fresh incarnation."""
    return Owner(f"{node_id}:{process}-{secrets.token_hex(RANDOM_BYTES)}")


@functools.cache
def owner_of(node_id: str, process: str) -> Owner:
    """This process's own incarnation; a forked child is another."""
    return mint_owner(node_id, process)


async def release_earlier(store: Store, owner: Owner, *classes: ResourceClass) -> int:
    """Give back what earlier incarnations of this very process hold, under their own epochs.

    Only where no peer can exist (`coordination.type: local`); it saves waiting out their TTL. Other
    processes of the node are left alone: the worker's duties outlive a restarted node process.

    Returns:
        How many leases were released.
    """
    prefix = f"{owner.rpartition('-')[0]}-"
    released = 0
    for one in classes:
        for lease in await store.leases.list_live(one):
            if lease.owner.startswith(prefix) and lease.owner != owner:
                await store.leases.release(lease)
                _log.info(
                    "earlier_lease_released resource=%s owner=%s", lease.resource, lease.owner
                )
                released += 1
    return released


portal.on_reset(owner_of.cache_clear)
