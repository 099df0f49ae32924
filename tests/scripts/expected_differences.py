"""Differences between two programs that are meant, from a file of --expect.

A line is KIND CASES FILES NAME [NEW]; # begins a comment. CASES and FILES are shell patterns, of
the table's cases and of paths in the run folder; NAME is an item of stored_items.py.

  renamed   *         results.h5  samples/finish_reason samples/reason
  renamed   train.*   results.h5  run@keys:data.little_texts run@keys:data.synthetic_texts
  old-only  generate* results.h5  samples/is_cut
  new-only  *         results.h5  samples/status
  differs   teacher*  results.h5  samples/text*

A name stands for all that is in it, too: a group for its data sets, a data set for its
attributes, `blocks` for tensor `blocks.0.bias`. NAME may be a pattern, but not where `renamed`
stands before it. The name "." is the whole file. The list of columns that a table has as an
attribute follows renamed, old-only and new-only by itself. `(bytes)` is the file's own bytes,
which are compared where all items are equal.
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
    """The name, and those of all that it lies in."""
    yield item
    yield WHOLE_FILE
    for separator in _SEPARATOR.finditer(item):
        yield item[:separator.start()]


def read_expectations(text):
    """Raises ValueError that names the first line that cannot be read."""
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
    """Those that one of `cases` could have met, and none did."""
    return [one for one in expectations if not one.met and
            any(fnmatch.fnmatchcase(case, one.cases) for case in cases)]


class FileExpectations:
    """What is expected of one file of one case."""

    def __init__(self, expectations, case, file):
        self._all = [one for one in expectations if one.concerns(case, file)]

    def excuse(self, kind, name):
        """Whether a difference is expected; counts it."""
        return self._count([one for one in self._all if one.kind == kind and one.covers(name)])

    def is_expected(self, kind, name):
        return any(one.kind == kind and one.covers(name) for one in self._all)

    def renamed(self, items, new_items):
        """`items` by the names that they have in the new file, and how many were found there."""
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
        """The name itself where no line renames it."""
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
