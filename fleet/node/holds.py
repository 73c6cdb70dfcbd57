"""Which seats are on hold here because somebody paused them.

The first certified answer replaces what was known; while the pauses cannot be read, the ones last
read stay in force: a pause that cannot be read has not been lifted.
"""

import logging
from collections.abc import Mapping

from coordination.contract.pauses import Pause
from runtime.hub.hub import Hub
from runtime.reading import Known

_log = logging.getLogger("crewlet.node")


class PauseHolds:
    """The pauses this node obeys, by handle."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._in_force: Mapping[str, Pause] = {}
        self.has_answer = False  # until then a seat's deliveries are deferred

    @property
    def in_force(self) -> Mapping[str, Pause]:
        """Pauses by handle."""
        return self._in_force

    def refresh(self) -> None:
        """Take over what the hub knows now."""
        reading = self._hub.pauses.reading()
        known = reading if isinstance(reading, Known) else reading.last
        if known is None:
            return
        self.has_answer = True
        before, self._in_force = self._in_force, {pause.handle: pause for pause in known.value}
        for handle in sorted(self._in_force.keys() - before.keys()):
            pause = self._in_force[handle]
            _log.info("seat_hold_taken handle=%s by=%s", handle, pause.by)
        for handle in sorted(before.keys() - self._in_force.keys()):
            _log.info("seat_hold_lifted handle=%s", handle)
