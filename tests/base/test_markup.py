"""Elements of pages and drawings, letter by letter."""

from __future__ import annotations

import pytest

from presman import __version__
from presman.base.markup import Markup, drawing, element, joined, label, level, picture, safe


@pytest.mark.parametrize(
    ("made", "written"),
    [
        (element("p", "a<b", Markup("<i/>"), class_="c", hidden=None), '<p class="c">a&lt;b<i/></p>'),
        (element("rect"), "<rect/>"),
        (element("rect", "t"), "<rect>t</rect>"),
        (
            element("g", viewBox="0 0", stroke_width=1.04, opacity=0.75, x=12.0),
            '<g viewBox="0 0" stroke-width="1" opacity="0.8" x="12"></g>',
        ),
        (element("a", title=Markup("&amp;"), name='"'), '<a title="&amp;" name="&quot;"></a>'),
        (safe("a\x00b\ufffe"), "a\ufffdb\ufffd"),
        (joined(["<", Markup("<b/>")]), "&lt;<b/>"),
        (label(1.0, 2, "a"), '<text x="1" y="2" text-anchor="middle" fill="#57606a">a</text>'),
        (
            label(1.0, 2, "a", "end", "#000000", 16),
            '<text x="1" y="2" text-anchor="end" fill="#000000" font-size="16">a</text>',
        ),
        (
            level(10.04, "x", 90, 970),
            '<path d="M90 10.0H970" stroke="#d0d7de"/><text x="82" y="14" text-anchor="end" fill="#57606a">x</text>',
        ),
        (
            drawing(420, 'a"b', [Markup("<i/>")]),
            '<svg viewBox="0 0 1000 420" role="img" aria-label="a&quot;b"><i/></svg>',
        ),
        (
            picture([[Markup("<a/>")], [Markup("<b/>"), Markup("<c/>")]], 50),
            '<svg xmlns="http://www.w3.org/2000/svg" width="1000" height="100" viewBox="0 0 1000 100"'
            ' font-family="DejaVu Sans, Liberation Sans, Noto Sans, Helvetica, Arial, sans-serif" font-size="13">'
            f'<metadata>presman {__version__}</metadata>'
            '<rect width="1000" height="100" fill="#ffffff"/><g transform="translate(0 0)"><a/></g>'
            '<g transform="translate(0 50)"><b/><c/></g></svg>\n',
        ),
    ],
)  # fmt: skip
def test_each_value_has_its_text(made: str, written: str) -> None:
    assert made == written


def test_a_picture_of_no_panel_has_the_height_of_one() -> None:
    assert 'height="50"' in picture([], 50)
