"""Reads the intended differences between two programs from a file of --expect.

A line is KIND CASES FILES NAME [NEW]; # begins a comment. CASES and FILES are shell patterns for
the table's cases and for paths in the run folder; NAME is an item of stored_items.py.

  renamed   *         results.h5  samples/finish_reason samples/reason
  renamed   train.*   results.h5  run@keys:data.little_texts run@keys:data.synthetic_texts
  old-only  generate* results.h5  samples/is_cut
  new-only  *         results.h5  samples/status
  differs   teacher*  results.h5  samples/text*

A name includes everything inside the item: a group its data sets, a data set its attributes,
`blocks` the tensor `blocks.0.bias`. NAME may be a pattern, except after `renamed`. The name "." is
the whole file. A table's attribute with the list of columns follows renamed, old-only and new-only
automatically. `(bytes)` means the file's bytes, which are compared if all items are equal.
"""
import dataclasses
import fnmatch
import re
import shlex

KINDS = {"renamed": 5, "old-only": 4, "new-only": 4, "differs": 4}
WHOLE_FILE = "."
_SEPARATOR = re.compile(r"[/@:.]")


@dataclasses.dataclass
class Expectation:
    """One line. `met` counts what it excused."""
    line: str
    kind: str
    cases: str
    files: str
    name: str
    new: str = ""
    met: int = 0

    def concerns(self, case, file):
        return fnmatch.fnmatchcase(case, self.cases) and fnmatch.fnmatchcase(file, self.files)

    def covers(self, item):
        return any(fnmatch.fnmatchcase(name, self.name) for name in _with_owners(item))


def _with_owners(item):
    """Returns the name, and those of all enclosing items."""
    yield item
    yield WHOLE_FILE
    for separator in _SEPARATOR.finditer(item):
        yield item[:separator.start()]


def read_expectations(text):
    """Parses lines. Raises ValueError that names the first invalid line."""
    expectations = []
    for number, line in enumerate(text.splitlines(), 1):
        words = shlex.split(line, comments=True)
        if not words:
            continue
        if KINDS.get(words[0]) != len(words):
            raise ValueError(f"line {number}: not KIND CASES FILES NAME [NEW]: {line}")
        expectations.append(Expectation(line.strip(), *words))
    return expectations


def unmet(expectations, cases):
    """Returns those that could have occurred in one of `cases`, but did not."""
    return [one for one in expectations if not one.met and
            any(fnmatch.fnmatchcase(case, one.cases) for case in cases)]


class FileExpectations:
    """The expectations for one file of one case."""

    def __init__(self, expectations, case, file):
        self._all = [one for one in expectations if one.concerns(case, file)]

    def excuse(self, kind, name):
        """Returns whether a difference is expected; counts it."""
        return self._count([one for one in self._all if one.kind == kind and one.covers(name)])

    def is_expected(self, kind, name):
        return any(one.kind == kind and one.covers(name) for one in self._all)

    def renamed(self, items, new_items):
        """Returns `items` under their new names, and how many names were found."""
        result, found = {}, 0
        for name, item in items.items():
            new = self.new_name(name)
            if new == name or name in new_items or new in items:
                result[name] = item
                continue
            result[new] = item
            self._rename_of(name).met += new in new_items
            found += new in new_items
        return result, found

    def new_name(self, name):
        """Returns the new name, or the name itself if no line renames it."""
        line = self._rename_of(name)
        return line.new + name[len(line.name):] if line else name

    def _rename_of(self, name):
        for one in self._all:
            if one.kind == "renamed" and (name == one.name or name.startswith(one.name) and
                                          _SEPARATOR.match(name, len(one.name))):
                return one
        return None

    @staticmethod
    def _count(expectations):
        for one in expectations:
            one.met += 1
        return bool(expectations)
