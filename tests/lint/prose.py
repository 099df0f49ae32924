"""Reads the prose of a source tree: comments, docstrings, Markdown, and program messages.

paragraphs(path, text) yields (line, kind, paragraph), where kind is "comment", "label" (a line such
as "Errors: ..."), "page" or "message".
"""
import io
import re
import tokenize

CPP = {".hpp", ".cpp", ".cu", ".cuh"}
HASH = {".sh", ".sbatch", ".cmake", ".yaml", ".yml", "CMakeLists.txt", "mgpu-run"}

GENERATED = re.compile(r"<!-- keys: begin -->.*?<!-- keys: end -->", re.S)  # judged at its source
LABELS = ("Shapes|Units|Memory|Ranks|Errors|Source|Sources|Measured|Values|Tolerance|Format|"
          "Precondition|Usage|Columns|Example|Examples")
LABEL = re.compile(rf"(?:{LABELS}): +")
DIRECTIVE = re.compile(r"!|NOLINT|clang-format|clang-tidy|shellcheck |SBATCH|pragma|noqa|pylint|"
                       r"type:|-\*-|cmake-format|<!--")
COLUMNS = re.compile(r"\S {2,}\S")
ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+(?=\S)")
CPP_TOKEN = re.compile(
    r'R"(?P<raw>[^()\\\s]{0,16})\((?P<rawtext>.*?)\)(?P=raw)"'
    r'|"(?P<string>(?:[^"\\\n]|\\.)*)"'
    r"|'(?:\\[^'\n]{1,8}|[^'\\\n])'"
    r"|//(?P<comment>[^\n]*)"
    r"|/\*(?P<block>.*?)\*/", re.S)
JOINED = re.compile(r"\s*(?:\+[^;\"{}]*\+)?\s*")
ESCAPE = re.compile(r"\\[ntr]")


def _kind(path):
    return path.name if path.name in HASH else path.suffix


def is_read(path):
    """Returns whether this file's prose is read at all."""
    return _kind(path) in CPP | HASH | {".py", ".md"}


def paragraphs(path, text):
    """Yields every paragraph of prose in the file `path`, whose content is `text`."""
    kind = _kind(path)
    if kind in CPP:
        yield from _cpp(text, with_messages=path.parts[0] in ("src", "include", "kernels"))
    elif kind == ".py":
        yield from _python(text)
    elif kind == ".md":
        yield from _markdown(text)
    elif kind in HASH:
        yield from _hash(text)


def _split(lines, is_page=False):
    """Paragraphs of one block of lines [(number, text)]: ends at blank lines, labels and items."""
    start, words, kind, indent = 0, [], "comment", 0

    def flush():
        if words:
            yield start, "page" if is_page else kind, " ".join(words)

    for number, line in lines:
        item = ITEM.match(line)
        body = line[item.end():].strip() if item else line.strip()
        depth = item.end() if item else len(line) - len(line.lstrip())
        label = LABEL.match(body)
        body = body[label.end():] if label else body
        is_deep = depth >= (indent + 2 if words else 3) and kind != "label"
        is_code = not item and (is_deep or bool(COLUMNS.search(body)))
        if not body or label or item or is_code or DIRECTIVE.match(body):
            yield from flush()
            words, kind = [], "comment"
        if not body or is_code or DIRECTIVE.match(body):
            continue
        if not words:
            start, kind, indent = number, "label" if label else "comment", depth
        words.append(body)
    yield from flush()


def _blocks(comments):
    """Groups [(line, column, alone, marker, text)] of comments that continue each other."""
    block, last = [], None
    for line, column, alone, marker, text in comments:
        follows = (last and alone and line == last[0] + 1 and column == last[1]
                   and (marker == last[2]))
        if block and not follows:
            yield from _split(block)
            block = []
        block.append((line, text))
        last = (line, column, marker)
    if block:
        yield from _split(block)


def _cpp(text, with_messages):
    comments, strings = [], []
    starts = [0]
    for match in re.finditer("\n", text):
        starts.append(match.end())
    line, position = 1, 0
    for match in CPP_TOKEN.finditer(text):
        line += text.count("\n", position, match.start())
        position = match.start()
        if match["comment"] is not None:
            begin = starts[line - 1]
            alone = not text[begin:position].strip()
            marker = re.match(r"[/<!]*", match["comment"])[0]
            comments.append((line, position - begin, alone, marker,
                             match["comment"][len(marker):]))
        elif match["block"] is not None:
            lines = [re.sub(r"^\s*\*+", "", part) for part in match["block"].split("\n")]
            yield from _split([(line + i, part) for i, part in enumerate(lines)])
        elif match["string"] is not None and with_messages:
            strings.append((line, match.start(), match.end(), match["string"]))
    yield from _blocks(comments)
    yield from _messages(text, strings)


def _messages(text, strings):
    """Literals that read as sentences; those that follow each other or a `+` are one message."""
    joined, end = [], -1
    for line, begin, finish, string in strings:
        gap = text[end:begin] if end >= 0 else None
        if gap is not None and joined and len(gap) < 120 and JOINED.fullmatch(gap):
            joined[-1][1] += (" X " if gap.strip() else "") + string
        else:
            joined.append([line, string])
        end = finish
    for line, string in joined:
        for part in re.split(r"\\n", re.sub(r"</?\w[^<>]*>", " ", string)):
            part = part.replace('\\"', '"')
            if part.count(" ") >= 4 and not re.search(r"[<>]|\{\"|&\w+;|\w:\w+;", part):
                yield line, "message", part.strip()


def _python(text):
    comments, before = [], None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line, column = token.start
        if token.type == tokenize.COMMENT:
            alone = not token.line[:column].strip()
            comments.append((line, column, alone, "#", token.string.lstrip("#")))
        elif token.type == tokenize.STRING and before in (None, tokenize.NEWLINE, tokenize.INDENT,
                                                          tokenize.DEDENT):
            body = token.string.strip("rbuf").strip("\"'")
            first, *rest = body.split("\n")
            margin = min((len(r) - len(r.lstrip()) for r in rest if r.strip()), default=0)
            yield from _split([(line, first)] + [(line + 1 + i, r[margin:])
                                                 for i, r in enumerate(rest)])
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            before = token.type
    yield from _blocks(comments)


def _hash(text):
    comments = []
    for number, line in enumerate(text.split("\n"), 1):
        match = re.search(r"(?:^|\s)(#+)(?:\s|$)", line)
        if not match:
            continue
        before = line[:match.start(1)]
        if before.count('"') % 2 == 0 and before.count("'") % 2 == 0 and "${" not in before[-3:]:
            comments.append((number, match.start(1), not before.strip(), match[1],
                             line[match.end(1):]))
    yield from _blocks(comments)


def _markdown(text):
    block, fenced = [], False
    text = GENERATED.sub(lambda part: "\n" * part[0].count("\n"), text)
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            line = ""
        if fenced or line.startswith("#"):
            line = ""
        if line.lstrip().startswith("|"):
            yield from _split(block, is_page=True)
            block = []
            for cell in line.strip().strip("|").split("|"):
                if re.search("[A-Za-z]", cell):
                    yield number, "cell", cell.strip()
            continue
        block.append((number, line))
    yield from _split(block, is_page=True)
