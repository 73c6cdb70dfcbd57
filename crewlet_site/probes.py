"""What machines ask a node: is the process well, may it get traffic, and its figures.

None of these asks the store: they read the hub's projections. What is not known is absent from
`/health` and has no sample in `/metrics`; it is never a zero.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from ninja.errors import AuthenticationError
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    GC_COLLECTOR,
    PLATFORM_COLLECTOR,
    PROCESS_COLLECTOR,
    CollectorRegistry,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric

from accounts.tokens import ApiAuth
from company import services as documents
from coordination.contract.leases import Lease
from crewlet_site.refusals import refusal
from fleet.services.reports import NodeReport, read_report
from runtime import hub
from runtime.reading import Known, Reading

STARTED_AT: Final = datetime.now(UTC)
UNWELL: Final = frozenset({"shed", "stuck"})


@login_not_required
@never_cache
@require_safe
def health(_request: HttpRequest) -> HttpResponse:
    """Always 200: whether this process is well, and what it knows of its node."""
    own = _own_presence()
    report = read_report(own.meta) if own is not None else NodeReport()
    is_configured = _is_configured()
    body: dict[str, Any] = {
        "status": _status(report, is_configured),
        "node": settings.NODE_ID,
        "configured": is_configured,
        "version": settings.BUILD,
        "started_at": STARTED_AT,
        "queue": "jetstream-embedded" if settings.BOOTSTRAP.stream.is_embedded else "jetstream",
        "shutting_down": settings.HOME.draining.exists(),
        "in_flight": report.in_flight,
        "posture": report.posture,
        "nodes": _count(hub.presences()),
        "seats": _own_seats(),
    }
    return JsonResponse({name: value for name, value in body.items() if value is not None})


@login_not_required
@never_cache
@require_safe
def ready(_request: HttpRequest) -> HttpResponse:
    """200 when this node should get traffic, else 503 with the first reason against it."""
    own = _own_presence()
    posture = read_report(own.meta).posture if own is not None else None
    reason = ""
    if settings.HOME.draining.exists():
        reason = "draining"
    elif not _is_configured():
        reason = "unconfigured"
    elif posture in UNWELL:
        reason = str(posture)
    if reason:
        return JsonResponse({"ready": False, "reason": reason}, status=503)
    return JsonResponse({"ready": True})


@login_not_required
@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Figures for Prometheus; a token or a session is needed, as for everything else."""
    try:
        ApiAuth()(request)
    except AuthenticationError:
        response = refusal(401, "invalid_token", "Send a token as 'Authorization: Bearer …'.")
        response.headers["WWW-Authenticate"] = "Bearer"
        return response
    return HttpResponse(generate_latest(_registry), content_type=CONTENT_TYPE_LATEST)


def _status(report: NodeReport, is_configured: bool | None) -> str:
    if settings.HOME.draining.exists():
        return "shutting_down"
    if is_configured is False:
        return "unconfigured"
    return report.posture if report.posture in {*UNWELL, "isolated"} else "ok"


def _is_configured() -> bool | None:
    """Whether a company document is applied here; None when this node's database does not say."""
    try:
        return documents.applied_revision() is not None
    except DatabaseError:
        return None


def _own_presence() -> Lease | None:
    reading = hub.presences()
    if not isinstance(reading, Known):
        return None
    wanted = f"node:{settings.NODE_ID}"
    return next((lease for lease in reading.value if str(lease.resource) == wanted), None)


def _own_seats() -> list[str] | None:
    reading = hub.seats()
    if not isinstance(reading, Known):
        return None
    return sorted(
        str(lease.resource).partition(":")[2]
        for lease in reading.value
        if str(lease.owner).startswith(f"{settings.NODE_ID}:")
    )


def _count(reading: Reading[tuple[Any, ...]]) -> int | None:
    return len(reading.value) if isinstance(reading, Known) else None


class _Fleet:
    """The projections' figures at the moment of a scrape."""

    def collect(self) -> Iterable[Metric]:
        """One sample a known figure, and for each projection whether it is known."""
        link = hub.link()
        yield GaugeMetricFamily(
            "crewlet_store_up", "Whether the last question to the store was answered.", int(link.up)
        )
        yield from self._projections()

    def _projections(self) -> Iterator[Metric]:
        known = GaugeMetricFamily(
            "crewlet_projection_known", "Whether a projection is the present answer.", labels=["of"]
        )
        for name, reading in (
            ("nodes", hub.presences()),
            ("seats_held", hub.seats()),
            ("seats_paused", hub.pauses()),
        ):
            count = _count(reading)
            known.add_metric([name], int(count is not None))
            if count is not None:
                yield GaugeMetricFamily(f"crewlet_{name}", f"Live records: {name}.", count)
        yield known


_registry = CollectorRegistry(auto_describe=False)
for _collector in (PROCESS_COLLECTOR, PLATFORM_COLLECTOR, GC_COLLECTOR, _Fleet()):
    _registry.register(_collector)
