#!/usr/bin/env python3
"""Tests that the modules with the code of all jobs have enough lines of tests per line of code."""
import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
MODULES = ("jobs", "run", "rows", "recipes")
LEAST = 0.35


def lines_in(*folders):
    files = [path for folder in folders for ending in ("*.cpp", "*.hpp")
             for path in (TOP / folder).rglob(ending)]
    return sum(len(path.read_bytes().splitlines()) for path in files)


def main():
    code = {m: lines_in(f"src/{m}", f"include/mgpu/{m}") for m in MODULES}
    tests = {m: lines_in(f"tests/{m}") for m in MODULES}
    for module in MODULES:
        print(f"{module:8s} {tests[module]:6d} lines of tests for {code[module]:6d} of code")
    ratio = sum(tests.values()) / sum(code.values())
    print(f"{ratio:.3f} lines of tests for a line of code, at least {LEAST}")
    sys.exit(0 if ratio >= LEAST else 1)


if __name__ == "__main__":
    main()
