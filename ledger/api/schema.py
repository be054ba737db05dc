"""The OpenAPI document: bodies are read by our own parser, so their models are named to it here."""

from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

PLACE = "#/components/schemas/{model}"
_taken: dict[str, type[BaseModel]] = {}
"""Every model that a route takes, by its name."""


def takes(model: type[BaseModel]) -> dict[str, Any]:
    """What a route says of its body."""
    if _taken.setdefault(model.__name__, model) is not model:
        raise ValueError(f"two models are called {model.__name__}; one would stand in the document for both")
    schema = {"$ref": PLACE.format(model=model.__name__)}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


class DescribedApp(FastAPI):
    """An application whose document has the request models too."""

    def openapi(self) -> dict[str, Any]:
        document = super().openapi()
        _, found = models_json_schema([(model, "validation") for model in _taken.values()], ref_template=PLACE)
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        for name, schema in found["$defs"].items():
            schemas.setdefault(name, schema)
        return document
