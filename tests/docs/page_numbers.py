"""The results that the pages print, for tests of the runs that print them.

A processor with other vector units sums in another order, so a training there ends at other
weights. Values of trained models are compared with a tolerance, all others exactly.
"""
import re

import pages

RETURNS = 1.5  # of at most 17.25; three seeds of train_ad_cpu differ by 0.4
LOSS = 0.03
SHARES = 0.012  # of 1,034 texts: twelve labels


def result_of(page, beginning):
    """Returns the result line of a fenced block, in one line."""
    block = pages.block_with(page, beginning)
    return " ".join(block.split("Result:")[1].split())


def numbers(text):
    return [float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]


def returns_of_agents():
    """Returns {name in docs/train.md: return in each episode}."""
    text = (pages.TOP / "docs/train.md").read_text()
    table = re.search(r"\| return in episode \|.*\n\|[-|]+\n((?:\|.*\n)+)", text)[1]
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()]
    return {name: [float(value) for value in values] for name, *values in rows}


def counts_of(pattern, page):
    """Returns the numbers in a sentence of a page."""
    text = " ".join((pages.TOP / page).read_text().split())
    return [float(number) for number in re.search(pattern, text).groups()]
