#!/usr/bin/env python3
"""The value of each configuration key is read in one source file.

Other files use what that file has read. A rule between keys may ask in any file whether a key is
set: is(KEY, "null") does not count as a read.
"""
import collections
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
GETTERS = "integer|number|flag|text|seconds|bytes|integers|texts|is"
KEY = r'"([a-z_0-9]+(?:\.[a-z_0-9]+)*)"'
# constexpr const char* kPath = "model.path";
CONSTANT = re.compile(r"constexpr const char\* (k\w+) =\s*" + KEY)
# config.text("model.path"), run.config.is("run.schedule", "static"), (*config_).flag("log.x")
GETTER = re.compile(r"config\w*(?:\(\)|\))?(?:\.|->)(" + GETTERS + r")\(\s*" + KEY +
                    r'(?:,\s*"(\w+)"\))?')
# read_number(config, "generate.top_p")
HELPER = re.compile(r"\bread_\w+\(config\w*,\s*" + KEY)


def with_names_of_keys(text):
    """Replaces the constants that the file defines by their values."""
    for name, key in CONSTANT.findall(text):
        text = re.sub(rf"\b{name}\b", f'"{key}"', text)
    return text


def keys_read_in(text):
    text = with_names_of_keys(text)
    keys = {key for getter, key, word in GETTER.findall(text) if (getter, word) != ("is", "null")}
    return keys | set(HELPER.findall(text))


def files_of_keys(top):
    files = collections.defaultdict(list)
    for folder in ("include", "src"):
        for path in sorted((top / folder).rglob("*.[ch]pp")):
            for key in keys_read_in(path.read_text(encoding="utf-8")):
                files[key].append(str(path.relative_to(top)))
    return files


def check_patterns():
    text = """
      a = config.text("model.path"); b = run.config.is("run.schedule",
                                                       "static");
      if (config.is("data.path", "null")) c = read_number(config, "generate.top_p");
      d = (*config_).flag("log.x"); throw config.problem("E107", "data.start", "");
      constexpr const char* kWidth = "generate.beam_width"; e = config.integer(kWidth);"""
    expected = {"model.path", "run.schedule", "generate.top_p", "log.x", "generate.beam_width"}
    assert keys_read_in(text) == expected, keys_read_in(text)


def main():
    check_patterns()
    files = files_of_keys(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else TOP)
    shared = {key: paths for key, paths in sorted(files.items()) if len(paths) > 1}
    for key, paths in shared.items():
        print(f"{key} is read in {len(paths)} files: {' '.join(paths)}")
    print(f"{len(files)} keys are read, {len(shared)} of them in more than one file")
    assert len(files) > 100, "the patterns find too few keys"
    sys.exit(1 if shared else 0)


if __name__ == "__main__":
    main()
