"""What both pictures of the README share: colours that are readable on light and dark pages, and text as SVG."""

from __future__ import annotations

from html import escape

LIGHT = {
    "back": "#ffffff",
    "edge": "#d0d7de",
    "text": "#1f2328",
    "dim": "#59636e",
    "bar": "#afb8c1",
    "accent": "#0969da",
    "red": "#cf222e",
    "green": "#1a7f37",
    "yellow": "#9a6700",
    "cyan": "#0e7490",
}
DARK = {
    "back": "#161b22",
    "edge": "#3d444d",
    "text": "#e6edf3",
    "dim": "#9198a1",
    "bar": "#57606a",
    "accent": "#58a6ff",
    "red": "#ff7b72",
    "green": "#56d364",
    "yellow": "#e3b341",
    "cyan": "#56d4dd",
}
SANS = "-apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, 'DejaVu Sans', sans-serif"
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', 'DejaVu Sans Mono', monospace"


def svg(width: int, height: int, title: str, font: str, body: list[str]) -> str:
    """A card with rounded corners, in the colours of the page it is on."""
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            f"<title>{escape(title, quote=False)}</title>",
            "<style>",
            f"text {{ font-family: {font}; white-space: pre; }}",
            ".bold { font-weight: 600; }",
            *_colours(LIGHT),
            "@media (prefers-color-scheme: dark) {",
            *_colours(DARK),
            "}",
            "</style>",
            f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="10" class="back"/>',
            *body,
            "</svg>",
            "",
        )
    )


def _colours(palette: dict[str, str]) -> list[str]:
    edge = f".back {{ stroke: {palette['edge']}; }}"
    lines = (f".{name}-line {{ fill: none; stroke: {palette[name]}; }}" for name in ("accent", "bar"))
    return [*(f".{name} {{ fill: {colour}; }}" for name, colour in palette.items()), *lines, edge]


def text(x: float, y: float, words: str, *classes: str, size: float, columns: float = 0) -> str:
    """Words in their classes; with `columns`, exactly so many pixels wide, whatever the font."""
    wide = f' textLength="{columns:.2f}" lengthAdjust="spacingAndGlyphs"' if columns else ""
    shape = f'class="{" ".join(classes)}" font-size="{size:g}"{wide}'
    return f'<text x="{x:g}" y="{y:g}" {shape}>{escape(words, quote=False)}</text>'
