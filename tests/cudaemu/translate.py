#!/usr/bin/env python3
"""translate.py FILE.cu OUT.cpp: rewrites the two CUDA constructs that g++ cannot parse.

  kernel<<<config>>>(arguments)  ->  ::cudaemu::Kernel("kernel", kernel).on(config)(arguments)
  extern __shared__ T name[];    ->  T* const name = static_cast<T*>(::cudaemu::dynamic_shared());

The headers in include/ provide everything else. Line numbers do not change.
"""
import pathlib
import re
import sys

NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
DYNAMIC = re.compile(r"extern\s+__shared__\s+(?:__align__\(\d+\)\s*)?([\w:<> ]+?)\s+(\w+)\[\];")


def blanked(text):
    """Replaces comments and strings in `text` by blanks, so that all offsets stay the same."""
    return NOT_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def name_begin(code, end):
    """Returns the begin of the name that ends at `end`: name, space::name or name<types>."""
    at = len(code[:end].rstrip())
    if code[at - 1] == ">":
        depth = 0
        while True:
            at -= 1
            depth += {">": 1, "<": -1}.get(code[at], 0)
            if depth == 0:
                break
    while re.match(r"[\w:]", code[at - 1]):
        at -= 1
    return at


def translate(text):
    text = DYNAMIC.sub(
        r"\1* const \2 = static_cast<\1*>(::cudaemu::dynamic_shared());", text)
    while (opened := (code := blanked(text)).find("<<<")) >= 0:
        closed = code.index(">>>", opened)
        begin = name_begin(code, opened)
        name = text[begin:opened].strip()
        breaks = "\n" * text[begin:opened].count("\n")
        text = (f'{text[:begin]}::cudaemu::Kernel("{" ".join(name.split())}", {name}){breaks}'
                f'.on({text[opened + 3:closed]}){text[closed + 3:]}')
    return text


def main():
    source, out = sys.argv[1:]
    text = translate(pathlib.Path(source).read_text(encoding="utf-8"))
    pathlib.Path(out).write_text(f'#line 1 "{source}"\n{text}', encoding="utf-8")


if __name__ == "__main__":
    main()
