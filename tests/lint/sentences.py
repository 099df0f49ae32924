#!/usr/bin/env python3
"""sentences.py [--counts] [FOLDER...]: prints the sentences that are hard to read.

It reads comments, docstrings, pages and the program's messages. In all texts, names of code
included, it also finds references to guides outside the repository. Without a FOLDER it reads the
whole repository. --counts prints one line per folder instead of one per sentence.
"""
import collections
import os
import pathlib
import sys

import prose
import sentence_rules

TOP = pathlib.Path(__file__).resolve().parents[2]
TODO = pathlib.Path(__file__).with_name("sentences_todo.txt")
NOT_OURS = {".git", ".deps", "runs", "outputs", "bundle", ".venv", "__pycache__"}
SKIPPED = {"tests/lint/sentence_rules.py", "tests/lint/sentences_test.py",  # they quote the tics
           *(str(path.relative_to(TOP))  # the program prints these
             for path in TOP.glob("conf/*/full.yaml"))}


def files(top):
    """Yields every file of the repository, as a path relative to `top`."""
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders
                            if name not in NOT_OURS and not name.startswith("build"))
        for name in sorted(names):
            yield pathlib.Path(folder, name).relative_to(top)


def violations(top, wanted=lambda path: True):
    """Yields (path, line, complaint, sentence) for each bad sentence in the wanted files."""
    for path in files(top):
        if str(path) in SKIPPED or not wanted(path):
            continue
        content = (top / path).read_bytes()
        if b"\0" in content:
            continue
        text = content.decode(errors="replace")
        for line, name in sentence_rules.guides(text):
            yield path, line, "text outside the repository", name
        if not prose.is_read(path):
            continue
        for line, kind, paragraph in prose.paragraphs(path, text):
            for sentence in sentence_rules.sentences(paragraph):
                for complaint in sentence_rules.complaints(kind, sentence):
                    yield path, line, complaint, sentence


def todo():
    """Returns the folders and files that are not swept yet."""
    lines = TODO.read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def is_under(path, places):
    return any(str(path) == place or str(path).startswith(place + "/") for place in places)


def main(arguments):
    places = [argument.rstrip("/") for argument in arguments if not argument.startswith("--")]
    found = list(violations(TOP, lambda path: not places or is_under(path, places)))
    if "--counts" in arguments:
        counts = collections.Counter(str(path.parent) for path, *_ in found)
        for folder, count in sorted(counts.items()):
            print(f"{count:5} {folder}")
    else:
        for path, line, complaint, sentence in found:
            print(f"{path}:{line}: {complaint}: {sentence}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
