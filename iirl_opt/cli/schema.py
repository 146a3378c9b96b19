"""The command `schema`: what a model file may hold, in the form that editors read."""

from __future__ import annotations

import json

import typer

__all__ = ["schema"]


def schema() -> None:
    """Print the JSON Schema of model files, by which editors complete and check them."""
    from iirl_opt.library import model_schema

    typer.echo(json.dumps(model_schema(), indent=1, ensure_ascii=False))
