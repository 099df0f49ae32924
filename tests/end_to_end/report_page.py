"""Parses report.html like a browser."""
import html.parser
import re

VOID = {"meta", "br", "hr", "img", "link", "input"}
SHAPES = {"line", "rect", "circle", "polyline", "polygon", "path"}  # closed by "/>" or by a tag


class Page(html.parser.HTMLParser):
    """The page's parts; raises AssertionError where tags do not close each other."""

    def __init__(self, text):
        super().__init__()
        self.headings, self.captions, self.views, self.tags = [], [], [], []
        self.words = []
        self._open = []
        self.feed(text)
        self.close()
        assert not self._open, f"left open: {self._open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if "data-view" in dict(attrs):
            self.views.append(dict(attrs)["data-view"])
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in SHAPES, f"<{tag}/> is not closed in HTML"
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open and self._open[-1] == tag, f"</{tag}> closes {self._open[-1:]}"
        self._open.pop()

    def handle_data(self, data):
        if not self._open or self._open[-1] == "style":
            return
        self.words.append(data)
        if self._open[-1] in ("h2", "h3"):
            self.headings.append(data)
        if self._open[-1] == "caption":
            self.captions.append(data)

    @property
    def text(self):
        return " ".join(self.words)


def read(test, folder):
    """Returns the page of a run directory. Fails if it needs a network or contains scripts."""
    text = (folder / "report.html").read_text(encoding="utf-8")
    test.assertLess(len(text.encode()), 2 << 20)
    test.assertNotRegex(text, r"(?i)@import|url\(|<script|javascript:")
    page = Page(text)
    for tag, attributes in page.tags:
        for name, value in attributes.items():
            test.assertFalse(name.startswith("on"), (tag, name))
            if name in ("src", "href", "xlink:href", "action", "data"):
                test.assertFalse(re.match(r"(?i)\s*(\w+:)?//", value), (tag, name, value))
    test.assertNotRegex(page.text, r"\bnan\b|\binf\b")
    return page
