"""Reads the pages: tables after a marker, fenced blocks, and the words of pictures."""
import pathlib
import re

TOP = pathlib.Path(__file__).resolve().parents[2]
FORMATS = TOP / "docs/formats.md"
CODE = re.compile(r"`([^`]+)`")


def table(marker, page=FORMATS):
    """Returns the rows after <!-- MARKER -->, as lists of cells."""
    text = page.read_text()
    start = text.index(f"<!-- {marker} -->\n|")
    rows = re.match(r"<.*\n\|.*\n\|[-|]+\n((?:\|.*\n)+)", text[start:])[1]
    return [[cell.strip() for cell in row[1:-1].split("|")] for row in rows.splitlines()]


def keys_of_names():
    """Returns the markers of tables that names() reads."""
    return set(re.findall(r"<!-- names: (\w+) -->", FORMATS.read_text()))


def names(key):
    """Returns the names in the first column of a table, in order."""
    return [name for cells in table(f"names: {key}") for name in CODE.findall(cells[0])]


def fields(key):
    """Returns {name in the first column: names in the second one}."""
    return {CODE.findall(cells[0])[0]: set(CODE.findall(cells[1]))
            for cells in table(f"names: {key}")}


def block_with(page, text):
    """Returns the fenced block that contains `text`."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", (TOP / page).read_text(), re.M | re.S)
    return next(block for block in blocks if text in block)


def python_blocks(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)


def shape(text):
    """Returns `text` with # for each number, also for one of thousands such as 12.3k."""
    return re.sub(r"\d[\d,]*(\.\d+)?(k\b)?", "#", text)


def words_of_picture(svg):
    """Returns style, title, and texts of axes and curves of an SVG file, with # for each number."""
    style = re.search(r"<style>(.*?)</style>", svg, re.S)[1].strip()
    title = re.search(r"<title>(.*?)</title>", svg)[1]
    texts = re.findall(r'<text class="(?!tick)([^"]*)"[^>]*>([^<]*)', svg)
    return style, title, [(css, shape(text)) for css, text in texts]
