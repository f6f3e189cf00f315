"""One fixed container for a view that static/*.js draws; Gradio never renders its inside again."""

from __future__ import annotations

import json
from typing import Any

import gradio as gr

START = (
    "const go = () => window.Lab.mount({name}, element, props); "
    "window.Lab ? go() : window.addEventListener('lab:ready', go, {{once: true}});"
)


def view(name: str, given: Any = None) -> gr.HTML:
    """The container of view `name`; `given` is plain data its script reads once."""
    return gr.HTML(
        json.dumps(given),
        html_template="<div class='view'></div>",
        js_on_load=START.format(name=json.dumps(name)),
        apply_default_css=False,
        elem_id=f"view-{name}",
        elem_classes="bare",
    )
