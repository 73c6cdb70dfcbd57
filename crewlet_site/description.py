"""The API with what every operation may answer besides what it says itself.

Who may call, what a body may be and what a store that does not answer means are the same for all,
so they are described in one place.
"""

from typing import Any, Final, override

from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema

ANY: Final = {
    401: "No token of this fleet and no session.",
    403: "The role lacks what this needs, or a session sent no CSRF token.",
    500: "A fault of this node; its log has the reference.",
    503: "The store could not be asked, or this node stops. With `outcome: unknown` a write may "
    "have landed: send the same `request_id` again.",
}
WITH_BODY: Final = {
    400: "The body cannot be read.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    422: "A field cannot be taken.",
}
REFUSAL: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["error", "detail"],
    "properties": {
        "error": {"type": "string", "description": "A code to decide by."},
        "detail": {"type": "string", "description": "A sentence to read."},
    },
}


class DescribedAPI(NinjaAPI):
    """Describes the refusals that its handlers make."""

    @override
    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, Any] | None = None
    ) -> OpenAPISchema:
        """The description, completed."""
        schema = super().get_openapi_schema(path_prefix=path_prefix, path_params=path_params)
        for operations in schema["paths"].values():
            for operation in operations.values():
                also = ANY | (WITH_BODY if "requestBody" in operation else {})
                for status, meaning in also.items():
                    operation["responses"].setdefault(status, _refusal(meaning))
        return schema


def _refusal(meaning: str) -> dict[str, Any]:
    content = {"application/json": {"schema": REFUSAL}}
    return {"description": meaning, "content": content}
