"""What is read is sent compressed; what answers a form is not."""

import gzip

import pytest
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from crewlet_site.middleware import Compressed

LONG = "<p>idle</p>" * 500


def answer(method: str, accepts: str = "gzip, br") -> HttpResponse:
    def view(_request: HttpRequest) -> HttpResponse:
        return HttpResponse(LONG)

    request = RequestFactory().generic(method, "/fleet/", headers={"Accept-Encoding": accepts})
    response = Compressed(view)(request)
    assert isinstance(response, HttpResponse)
    return response


def test_a_page_is_compressed_for_whoever_accepts_it() -> None:
    response = answer("GET")
    assert response["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in response["Vary"]
    assert len(response.content) < len(LONG) / 10
    assert gzip.decompress(response.content).decode() == LONG


def test_its_length_does_not_tell_what_it_holds() -> None:
    assert len({len(answer("GET").content) for _ in range(20)}) > 1


def test_whoever_does_not_accept_it_gets_it_plain() -> None:
    assert answer("GET", accepts="br").content.decode() == LONG


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_an_answer_to_a_form_is_left_as_it_is(method: str) -> None:
    response = answer(method)
    assert "Content-Encoding" not in response
    assert response.content.decode() == LONG


def test_static_files_keep_the_form_they_were_prepared_in() -> None:
    order = settings.MIDDLEWARE
    compressed = order.index("crewlet_site.middleware.Compressed")
    assert order.index("whitenoise.middleware.WhiteNoiseMiddleware") < compressed
