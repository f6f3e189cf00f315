"""The page: tabs and wiring only. What a tab shows is drawn by static/*.js from our own routes."""

from __future__ import annotations

import gradio as gr

from forget_me_not.demo.tabs import compare, data, forget, inside, plasticity, train
from forget_me_not.demo.tabs.view import view
from forget_me_not.demo.words import LANGUAGES, words

TABS = (forget, data, train, inside, compare, plasticity)
"""In the order of the story; their numbers, and the keys 1 to n, follow from it."""

_NAMES = {language: {k: v for k, v in words(language).items() if k.startswith("tab.")} for language in LANGUAGES}
i18n = gr.I18n(**_NAMES)


def build() -> gr.Blocks:
    """The whole page, ready to be mounted."""
    with gr.Blocks(title="Forget-Me-Not", fill_width=True, analytics_enabled=False) as page:
        view("header")
        with gr.Tabs(elem_id="story"):
            for tab in TABS:
                with gr.Tab(i18n(f"tab.{tab.NAME}"), id=tab.NAME, elem_id=f"tab-{tab.NAME}"):
                    tab.build()
    return page


def theme() -> gr.themes.Base:
    """Gradio's variables point at our tokens, light and dark alike, so one table of tokens rules both."""
    base = gr.themes.Base(
        font=["Figtree", "Noto Sans JP", "Hiragino Sans", "Yu Gothic", "sans-serif"],
        font_mono=["ui-monospace", "monospace"],
        text_size=gr.themes.sizes.text_lg,
    )
    ours = {
        "body_background_fill": "var(--paper)",
        "background_fill_primary": "var(--card)",
        "background_fill_secondary": "var(--sunk)",
        "body_text_color": "var(--ink)",
        "body_text_color_subdued": "var(--ink-2)",
        "border_color_primary": "var(--line)",
        "border_color_accent": "var(--brand)",
        "color_accent_soft": "var(--brand-soft)",
        "block_background_fill": "transparent",
        "block_border_width": "0px",
        "block_shadow": "none",
        "panel_background_fill": "transparent",
        "panel_border_width": "0px",
    }
    dark = {f"{name}_dark": value for name, value in ours.items() if hasattr(base, f"{name}_dark")}
    return base.set(**ours, **dark, block_padding="0px", layout_gap="24px", block_radius="0px")
