#!/usr/bin/env python3
"""extract_picture.py REPORT TITLE FILE: writes one picture of a report.html as an SVG file.

TITLE is the picture's title or its beginning. The file has the light colors of the report, and a
white background, so that it can be shown on any page.
"""
import pathlib
import re
import sys


def light_colors(page):
    """Returns the colors that the first :root block of the report defines, by name."""
    block = re.search(r":root \{(.*?)\}", page, re.S)[1]
    return dict(re.findall(r"--([\w-]+):\s*([^;]+);", block))


def style_of(page):
    """Returns the rules for pictures, with colors instead of variables."""
    rules = re.findall(r"svg [^{}]*\{[^{}]*\}", re.search(r"<style>(.*?)</style>", page, re.S)[1])
    colors = light_colors(page)
    text = "\n".join(rule for rule in rules if not rule.startswith("svg { "))
    return re.sub(r"var\(--([\w-]+)\)", lambda name: colors[name[1]], text)


def picture(page, title):
    found = next((svg for svg in re.findall(r"<svg.*?</svg>", page, re.S)
                  if f"<title>{title}" in svg), None)
    if found is None:
        raise SystemExit(f"no picture is called {title}")
    head, rest = re.match(r"<svg ([^>]*)>(.*)", found, re.S).groups()
    width, height = re.search(r'viewBox="0 0 (\d+) (\d+)"', head).groups()
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" {head} '
            'font-family="system-ui, sans-serif">\n'
            f'<style>\n{style_of(page)}\n</style>\n<rect width="100%" height="100%" fill="#fff"/>'
            f"{rest}\n")


def main():
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    report, title, file = sys.argv[1:]
    pathlib.Path(file).write_text(picture(pathlib.Path(report).read_text(), title))


if __name__ == "__main__":
    main()
