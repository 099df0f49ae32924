"""Writes Unicode data of the tokenizers wheel as two C++ headers.

  python3 tests/oracle/unicode_tables.py src/text

Made with tokenizers 0.23.3 and PCRE2 10.42 (Unicode 14). The wheel mixes several versions of
Unicode, so each table comes from the part that uses it: its regular expressions, its character
tests, its lower case. For a class of the regular expressions only the difference from PCRE2 is
written; a class from which PCRE2 must lose characters is written in full. Run it again after either
library changes, and review the changes.
"""
import ctypes
import ctypes.util
import importlib.metadata
import pathlib
import sys

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

# Characters that tokenizer files name in their expressions; the program refuses others.
CLASSES = [r"\s", r"\d"] + [r"\p{%s}" % name for name in (
    "L Lu Ll Lt Lm Lo M Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp "
    "Han").split()]
POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
ALL = "".join(map(chr, POINTS))


def removed_by(pre_tokenizer):
    """Returns the characters that a pre-tokenizer with behavior "removed" removes."""
    kept = set()
    for _, (begin, end) in pre_tokenizer.pre_tokenize_str(ALL):
        kept.update(POINTS[begin:end])
    return {c for c in POINTS if c not in kept}


class Pcre2:
    """Finds the characters that PCRE2 has in a class of regular expressions."""
    UTF, UCP = 0x00080000, 0x00020000

    def __init__(self):
        self.lib = ctypes.CDLL(ctypes.util.find_library("pcre2-8"))
        for name in "compile match_data_create_from_pattern get_ovector_pointer".split():
            getattr(self.lib, f"pcre2_{name}_8").restype = ctypes.c_void_p
        self.text = ALL.encode()
        self.offsets = {}
        offset = 0
        for c in POINTS:
            self.offsets[offset] = c
            offset += len(chr(c).encode())

    def version(self):
        text = ctypes.create_string_buffer(64)
        self.lib.pcre2_config_8(10, text)  # PCRE2_CONFIG_UNICODE_VERSION
        return text.value.decode()

    def members(self, name):
        lib, error, place = self.lib, ctypes.c_int(), ctypes.c_size_t()
        pattern = (name + "+").encode()
        code = ctypes.c_void_p(lib.pcre2_compile_8(pattern, ctypes.c_size_t(len(pattern)),
                                                   self.UTF | self.UCP, ctypes.byref(error),
                                                   ctypes.byref(place), None))
        data = ctypes.c_void_p(lib.pcre2_match_data_create_from_pattern_8(code, None))
        found, start = set(), 0
        while lib.pcre2_match_8(code, self.text, ctypes.c_size_t(len(self.text)),
                                ctypes.c_size_t(start), 0x40000000, data, None) > 0:
            bounds = ctypes.cast(lib.pcre2_get_ovector_pointer_8(data),
                                 ctypes.POINTER(ctypes.c_size_t))
            found.update(self.offsets[o] for o in range(bounds[0], bounds[1]) if o in self.offsets)
            start = bounds[1]
        return found


def ranges(members):
    runs = []
    for c in sorted(members):
        if runs and runs[-1][1] == c - 1:
            runs[-1][1] = c
        else:
            runs.append([c, c])
    return runs


def lower_runs():
    """Returns [first, last, step, shift] for single characters; [from, to...] for the others."""
    lower = normalizers.Lowercase()
    runs, several = [], []
    for c in POINTS:
        to = [ord(x) for x in lower.normalize_str(chr(c))]
        if to == [c]:
            continue
        if len(to) > 1:
            several.append([c] + to)
            continue
        shift = to[0] - c
        last = runs[-1] if runs else None
        step = c - last[1] if last else 0
        if last and last[3] == shift and step <= 2 and last[2] in (0, step):
            last[1], last[2] = c, step
        else:
            runs.append([c, c, 0, shift])
    return [[a, b, max(s, 1), d] for a, b, s, d in runs], several


def digit_members():
    """Finds digits, which are split off, by placing them between letters."""
    pieces = pre_tokenizers.Digits(True).pre_tokenize_str("a" + "a".join(ALL) + "a")
    return {POINTS[begin // 2] for _, (begin, end) in pieces if begin % 2 == 1 and end == begin + 1}


def single_word_members():
    tokenizer = Tokenizer(models.BPE(vocab={"a": 0}, merges=[]))
    tokenizer.add_tokens([AddedToken("QW", single_word=True, normalized=False)])
    found = tokenizer.encode_batch([chr(c) + "QW" for c in POINTS])
    return {c for c, encoding in zip(POINTS, found) if 1 not in encoding.ids}


def stripped_members():
    tokenizer = Tokenizer(models.BPE(vocab={"a": 0, "<unk>": 1}, merges=[], unk_token="<unk>"))
    tokenizer.add_tokens([AddedToken("QW", lstrip=True, normalized=False)])
    found = tokenizer.encode_batch([chr(c) + "QW" for c in POINTS])
    return {c for c, encoding in zip(POINTS, found) if encoding.ids == [2]}


def wrapped(items, indent="    ", width=100):
    lines, line = [], indent
    for item in items:
        if len(line) + len(item) + 1 > width:
            lines.append(line.rstrip())
            line = indent
        line += item + " "
    return "\n".join(lines + [line.rstrip()])


def number(value):
    return f"0x{value:X}" if value > 9 else str(value)


def numbers(name, rows, kind, about):
    cells = ["{" + ", ".join(number(v) for v in row) + "}," for row in rows]
    return (f"/// {about}\ninline constexpr std::array<{kind}, {len(rows)}> {name} = {{{{\n"
            f"{wrapped(cells)}\n}}}};\n")


def classes():
    pcre2, rows = Pcre2(), []
    for name in CLASSES:
        theirs = removed_by(pre_tokenizers.Split(Regex(name), "removed"))
        ours = pcre2.members(name)
        full = bool(ours - theirs)
        runs = ranges(theirs if full else theirs - ours)
        text = "".join((r"\x{%X}" % a) + (r"-\x{%X}" % b if b > a else "") for a, b in runs)
        pieces = [text[i:i + 88] for i in range(0, len(text), 88)] or [""]
        body = "\n".join(f'     R"({piece})"' for piece in pieces)
        rows.append(f'    {{R"({name})", {"true" if full else "false"}, {len(theirs)},\n{body}}},')
    return pcre2.version(), "\n".join(rows), len(rows)


HEADER = """#pragma once

// Generated by tests/oracle/unicode_tables.py from tokenizers %s and a PCRE2 with
// Unicode %s. Do not edit.

#include <array>
#include <string_view>

#include "code_points.hpp"

namespace mgpu::text {

// clang-format off
"""
FOOTER = """// clang-format on

}  // namespace mgpu::text
"""


def main():
    folder = pathlib.Path(sys.argv[1])
    version, rows, count = classes()
    runs, several = lower_runs()
    assert all(len(row) == 3 for row in several), "a lower case of more than two characters"
    whitespace = removed_by(pre_tokenizers.WhitespaceSplit())
    assert whitespace == stripped_members(), "two kinds of white space"
    header = HEADER % (importlib.metadata.version("tokenizers"), version)
    (folder / "regex_classes.hpp").write_text(
        f'{header}inline constexpr std::string_view kPcreUnicode = "{version}";\n\n'
        "/// Characters that PCRE2 lacks in a class; with `true`, all characters of the class.\n"
        f"inline constexpr std::array<RegexClass, {count}> kRegexClasses = {{{{\n{rows}\n}}}};\n"
        f"{FOOTER}")
    tables = [
        numbers("kWhitespace", ranges(whitespace), "CodeRange", "White space."),
        numbers("kDigits", ranges(digit_members()), "CodeRange",
                "Characters that the pre-tokenizer Digits splits off."),
        numbers("kPunctuation", ranges(removed_by(pre_tokenizers.Punctuation("removed"))),
                "CodeRange", "Characters that the pre-tokenizer Punctuation splits off."),
        numbers("kWord", ranges(single_word_members()), "CodeRange",
                "Characters that belong to a word when they touch an added token with single_word."),
        numbers("kLowerRuns", runs, "LowerRun",
                "Each `step`-th character from `first` to `last` has a lower case `shift` code points away."),
        numbers("kLowerSpecial", several, "LowerSpecial", "Characters whose lower case has two characters."),
    ]
    (folder / "unicode_tables.hpp").write_text(header + "\n".join(tables) + FOOTER)


if __name__ == "__main__":
    main()
