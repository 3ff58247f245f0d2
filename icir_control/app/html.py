"""HTML: a page that needs no network, and the tables and pictures in it."""

import html
from base64 import b64encode
from collections.abc import Iterable, Sequence

COLOURS = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#56B4E9', '#E69F00', '#555555')
"""Of curves, on pages and in plots: Okabe and Ito's, which the colour-blind tell apart.

Their yellow is too pale for a line.
"""

FIRST, MARKED = 'first', 'marked'
"""Classes of rows of a table: the first one of a group, and one that stands out."""

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 1200px; padding: 0 1em }
table { border-collapse: collapse; margin: 1em 0; font-variant-numeric: tabular-nums }
td, th { padding: 0.15em 1em 0.15em 0; text-align: left; vertical-align: top }
tr.first td { border-top: 1px solid #ccc }
tr.marked td { background: #fff3c4 }
img { max-width: 100% }
video { width: 49%; min-width: 400px }
"""


def page(title: str, parts: Iterable[str]) -> str:
    """Return a page with a title and some parts, which are HTML."""
    name = html.escape(title)
    head = f'<meta charset="utf-8"><title>{name}</title><style>{_STYLE}</style>'
    body = '\n'.join([f'<h1>{name}</h1>', *parts])
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>\n{body}\n</body></html>\n'


def table(
    head: Sequence[object], rows: Sequence[Sequence[object]], classes: Sequence[str] = ()
) -> str:
    """Return a table of texts.

    Args:
        head: A cell for each column.
        rows: Likewise.
        classes: Of each row, `FIRST`, `MARKED` or empty; none at all for plain rows.
    """

    def line(cells: Sequence[object], tag: str, kind: str = '') -> str:
        inner = ''.join(f'<{tag}>{html.escape(str(cell))}</{tag}>' for cell in cells)
        return f'<tr{f" class={kind}" if kind else ""}>{inner}</tr>'

    kinds = classes or [''] * len(rows)
    body = [line(cells, 'td', kind) for cells, kind in zip(rows, kinds, strict=True)]
    return '\n'.join([f'<table>{line(head, "th")}', *body, '</table>'])


def image(png: bytes) -> str:
    """Return a picture from the bytes of its PNG file."""
    return f'<img src="data:image/png;base64,{b64encode(png).decode()}">'
