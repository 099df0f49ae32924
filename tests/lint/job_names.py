"""Finds names of jobs and recipes in the source files of modules that must not know them.

found_in(text, names) yields (line, excerpt): an include of a job's header, an identifier, or a
string with a job's name, key or folder.
"""
import pathlib
import re

TOP = pathlib.Path(__file__).resolve().parents[2]
MODULES = ("base", "config", "store", "report", "run", "rows", "app")
SECTIONS = ("reward",)  # recipes whose name is also a section of keys of a module
# Names that are also ordinary words of functions, and of types.
ORDINARY = {"train", "generate", "classify", "collect", "experiment", "ad", "reward", "value"}
ORDINARY_TYPES = {"Train", "Ad", "Reward", "Value"}

TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/'
    r'|(?P<include>^[ \t]*#include[^\n]*)'
    r'|R"(?P<mark>[^()\\\s]{0,16})\((?P<raw>.*?)\)(?P=mark)"'
    r'|(?P<strings>"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*)'  # "a" "b" is one string
    r"|'(?:\\[^'\n]{1,8}|[^'\\\n])'"
    r'|(?P<name>[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)', re.S | re.M)
SEAM = re.compile(r'"\s*"')
REGISTRIES = {"src/jobs/registry.cpp": "MGPU_JOBS", "src/recipes/registry.cpp": "MGPU_RECIPES"}


def registered(top=TOP):
    """Returns the names in the registries of jobs and recipes."""
    names = []
    for path, macro in REGISTRIES.items():
        text = (top / path).read_text(encoding="utf-8")
        line = re.search(rf"#define {macro}\(line\)((?:.*\\\n)*.*)", text)
        names += re.findall(r"\bline\((\w+)\)", line.group(1))
    return names


def in_string(text, names):
    """Yields the parts of a string that are a job's name, key or folder."""
    any_name = "|".join(names)
    any_section = "|".join(name for name in names if name not in SECTIONS)
    if text in names:
        yield text
    for pattern in (rf"(?<![\w./-])(?:{any_section})\.[a-z_]+",  # a key
                    rf"\b(?:job|recipe)s?\b[ :=`']{{1,3}}(?:{any_name})\b",
                    rf"\bconf/(?:{any_name})\b"):
        yield from re.findall(pattern, text)


def in_identifier(name, names):
    """Yields the identifier, if it names a job or recipe."""
    scopes = name.split("::")
    words = re.findall(r"[A-Z]?[a-z0-9]+", scopes[-1])
    in_scope = any(scope in ("jobs", "recipes") and after in names
                   for scope, after in zip(scopes, scopes[1:]))
    is_entry = re.fullmatch(rf"(?:{'|'.join(names)})_(?:job|recipe)", scopes[-1])
    nouns = set(names) - ORDINARY
    types = {each.capitalize() for each in names} - ORDINARY_TYPES
    if in_scope or is_entry or (nouns | types) & set(words):
        yield name


def in_include(line, names):
    """Yields the header, if it is a job's or a recipe's."""
    yield from re.findall(rf'[<"]((?:mgpu/)?(?:jobs|recipes)/(?:{"|".join(names)})/[^">]*)', line)


def found_in(text, names):
    """Yields the line and the excerpt of each name in the text of a source file."""
    for token in TOKEN.finditer(text):
        line = text.count("\n", 0, token.start()) + 1
        if token["include"]:
            found = in_include(token["include"], names)
        elif token["raw"] is not None:
            found = in_string(token["raw"], names)
        elif token["strings"]:
            found = in_string(SEAM.sub("", token["strings"])[1:-1], names)
        elif token["name"]:
            found = in_identifier(token["name"], names)
        else:
            continue
        for excerpt in found:
            yield line, excerpt


def files(top=TOP):
    """Yields the source files of the modules, as paths relative to `top`."""
    for module in MODULES:
        for folder in (f"include/mgpu/{module}", f"src/{module}"):
            for path in sorted((top / folder).rglob("*.[ch]pp")):
                yield path.relative_to(top)
