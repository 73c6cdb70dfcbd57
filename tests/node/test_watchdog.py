"""The watchdog, watching a loop of its own."""

import asyncio
import subprocess
import sys
import threading
from datetime import timedelta

from fleet.node.watchdog import Watchdog

TTL = timedelta(seconds=0.3)


def test_a_loop_that_stands_still_longer_than_the_ttl_is_noticed() -> None:
    lags: list[float] = []
    bitten = threading.Event()

    def bite(lag: float) -> None:
        lags.append(lag)
        bitten.set()

    async def stand_still() -> None:
        beating = asyncio.create_task(Watchdog(TTL, bite=bite).run())
        await asyncio.sleep(0)
        assert bitten.wait(5)  # blocks the loop on purpose
        beating.cancel()

    asyncio.run(stand_still())
    assert lags[0] > TTL.total_seconds()


def test_a_disarmed_watchdog_bites_nobody() -> None:
    bitten = threading.Event()

    async def stand_still() -> None:
        dog = Watchdog(TTL, bite=lambda _: bitten.set())
        beating = asyncio.create_task(dog.run())
        await asyncio.sleep(0)
        dog.disarm()
        assert not bitten.wait(0.6)  # blocks the loop on purpose
        beating.cancel()

    asyncio.run(stand_still())


def test_the_process_ends_with_its_own_code_and_a_line_on_stderr() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from fleet.node.watchdog import end_process; end_process(50)"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 75
    assert "stood still for 50 s" in done.stderr
