"""Celery for one node: a queue in files under the home, ticks from the registry of duties.

The queue is node-local on purpose: what makes a duty a singleton is its lease, so every node may
run worker and beat. Every tick expires after its cadence, or ticks would pile up behind a slow one.
"""

from typing import Any, Final

from celery import Celery
from celery.signals import worker_init, worker_ready, worker_shutdown
from django.conf import settings

from runtime import duties, ping, portal

QUEUE: Final = "duties"
LONG_QUEUE: Final = "long"

app = Celery("crewlet")
app.conf.update(
    broker_url="filesystem://localhost//",
    broker_transport_options={
        "data_folder_in": str(settings.HOME.celery / "queue"),
        "data_folder_out": str(settings.HOME.celery / "queue"),
        "control_folder": str(settings.HOME.celery / "control"),
        "store_processed": False,
    },
    broker_connection_retry_on_startup=True,
    task_ignore_result=True,
    task_default_queue=QUEUE,
    task_serializer="json",
    accept_content=["json"],
    timezone="UTC",
    worker_enable_remote_control=False,
    worker_send_task_events=False,
    worker_hijack_root_logger=False,
    worker_prefetch_multiplier=1,
    beat_schedule={
        duty.name: {
            "task": "crewlet.run_duty",
            "schedule": duty.cadence,
            "args": (duty.name,),
            "options": {"expires": duty.cadence.total_seconds()},
        }
        for duty in duties.registered()
    },
)


@app.task(name="crewlet.run_duty")  # type: ignore[untyped-decorator]
def run_duty(name: str) -> None:
    """Run a duty if this process wins or holds its lease."""
    duties.run(name)


@worker_init.connect  # type: ignore[untyped-decorator]
def _open(**_kwargs: Any) -> None:
    # At the start, not at the first tick: the supervisor asks the loop thread whether it runs.
    ping.serve(settings.HOME.socket("worker"))


@worker_ready.connect  # type: ignore[untyped-decorator]
def _tick_once(**_kwargs: Any) -> None:
    # Beat's first tick comes a cadence after its start; a duty nobody holds should not wait for it.
    for duty in duties.registered():
        run_duty.apply_async(args=(duty.name,), expires=duty.cadence.total_seconds())


@worker_shutdown.connect  # type: ignore[untyped-decorator]
def _close(**_kwargs: Any) -> None:
    portal.close()
