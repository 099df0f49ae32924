"""The rules for sentences: at most 30 words, a verb, the usual order, and terms of the field.

A tic is a phrase that reads as translated or private. Rephrase the sentence instead of widening a
rule; extend VERBS when a sentence has a verb that the list lacks.
"""
import re

MOST_WORDS = 30
LONG_FRAGMENT = 12  # words of a sentence in a comment from which it must have a verb

SHORT = re.compile(r"\b(e\.g|i\.e|cf|vs|etc|al|approx|resp|Fig|Sec|Eq|pp?|No|ca|Dr|incl|excl)\.")
END = re.compile(r"(?<=[.!?])[\"')\]`]*\s+(?=[\"'`(\[<*]*[A-Z0-9`'\"(\[])")
CODE = re.compile(r"`[^`]*`")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
WORD = re.compile(r"[^\s]*[A-Za-z0-9][^\s]*")

TICS = [(name, re.compile(pattern, re.I if name != "subject clause" else 0)) for name, pattern in [
    ("'behind' for 'after'", r"\bbehind\b"),
    ("'beside' for 'next to' or 'also'", r"\bbesides?\b"),
    ("'nobody', 'whoever'", r"\b(nobody|whoever|whosoever|whichever|nothing else)\b"),
    ("'as it is', 'as they are'", r"\bas (it|they|he) (is|are|was|were)\b(?! (called|told|given))"),
    ("'that is there'", r"\b(that|which) (is|are|was|were) (not )?(there|here)\b"),
    ("'is not there'", r"\b(is|are|was|were) not there\b"),
    ("'of its own'", r"\bof (its|their|his|one's) own\b"),
    ("'what X says'", r"\bwhat \S+( \S+)? (says?|said|told|tells?)\b"),
    ("'what it is that'", r"\bwhat (it|that) (is|was) (that|of)\b"),
    ("'there is none'", r"\bthere (is|are|was|were) none\b|\b(has|have|had) none\b"),
    ("'none of it'", r"\b(none|nothing|something|much|more|less|all|part|half) of (it|them)\b"
                     r"(?=[.,;:)]|$)"),
    ("'of it'", r"\bof it(?=[.,;:)]|$)"),
    ("'goes before', 'is to go'", r"\b(goes|go|stands|stand|comes) (before|behind|beside)\b"
                                  r"|\b(is|are|was|were) to (go|come|be)\b"),
    ("'that one's'", r"\b(that|this) one's\b"),
    ("'nothing:'", r"\b(nothing|none|nobody|one|both):"),
    ("'of before', 'of now'", r"\bof (before|now|old|then)\b"),
    ("'the former', 'the latter'", r"\bthe (former|latter)\b"),
    ("'so that none'", r"\bso that (none|nothing|nobody|no one)\b"),
    ("'likewise', 'thereof'", r"\b(likewise|thereof|therein|whereby|wherein|whereof|hitherto|"
                              r"henceforth|thereby|whence|thence|hence|thus)\b"),
    ("'seldom', 'in vain'", r"\b(seldom|in vain|forthwith|albeit|ere|lest|unto|dear(er|est)?)\b"),
    ("'otherwise than'", r"\botherwise than\b|\bspell\w* (\w+ )?otherwise\b"),
    ("'have come to an end'", r"\b(has|have|had|is|are) (come to (its|their|an) end|at an end)\b"),
    ("inverted order", r"^(only |also |never |always |not )?"
                       r"(learned|kept|written|given|counted|told|shown|taken|drawn|made|meant|"
                       r"wanted|asked|needed|measured|left|compared|tested|chosen|used|found|"
                       r"stored|"
                       r"known|seen|checked|printed|allowed|refused|missing|gone|free|ready|lost|"
                       r"true|first|last|next|alone|equal|different|new|old) "
                       r"(is|are|was|were|be|stays?|goes|go|comes?)\b"),
    ("inverted order", r"^(here|there|in|on|at|with|from|behind|before|after|between|above|below|"
                       r"under|of|to|so|such|then|thus)\b[^,.:]{0,40} "
                       r"(stands?|lies?|goes|comes?|belongs?|hangs?) "
                       r"(the|a|an|all|its|what|only)\b"),
    ("inverted order", r"\b(nor|neither) (is|are|was|were|do|does|did|can|has|have|may|must)\b"),
    ("subject clause", r"^(What|Who|Whose|Whom) [^?]*$"),
    ("text outside the repository", r"\b(algorithms|performance|findings|redesign|style|"
                                    r"gpu_attention)\.md\b|/work/"),
]]

# References to guides that are not in the repository, also in code: kGuide001, OfTheGuide. The name
# guide004 of an export format is an option of users.
GUIDES = re.compile(r"(?!(?<!\w)guide004\b)(?i:guides?[ _-]?\d{3})"
                    r"|(?:The|Of|OfA|In|InA)Guides?(?![a-z])"
                    r"|(?:\b|_)(?:the|of|of_a|in|in_a|that|test)_guides?(?![a-z])")

VERBS = """accept access accumulate act add adjust admit advance affect afford agree align allocate
allow answer appear append apply ask assert assign assume avoid await become begin belong bind block
boot bound break bring broadcast build bypass calculate call cancel carry cast catch cause change
check choose clear click close collect combine come commit compare compete compile complete compute
concatenate configure connect consist construct consume contain continue contribute control convert
copy correspond cost count cover create cross cut deal decide declare decode decline decrease define
delete deliver depend derive describe detect determine die differ disable disappear discard
distinguish distribute divide do download draw drop empty enable encode end enforce ensure enter
equal escape estimate evaluate exceed execute exist exit expand expect explain export express extend
extract fail fall feed fetch fill find finish fit fix flush fold follow forbid force forget fork
format forward free freeze generate get give go grow guarantee guess halve handle hang happen hash
hide hold identify ignore imply import include increase indicate inherit initialize insert install
instantiate intend interpret interrupt introduce invalidate invent invoke issue iterate join judge
jump keep kill know lack land last launch lead learn leave let lie like link list listen live load
locate lock log look lose make manage map mark mask match matter mean measure meet merge miss mix
modify move multiply name narrow need negate notice notify obey observe occupy occur offer omit open
operate overflow overlap overwrite own pad parse pass patch pay perform permit pin place point poll
pop predict prefer prepare preserve prevent print probe process produce promise protect prove
provide publish pull push put quantize query queue quote raise reach read receive recognize
recompute record recover reduce refer reference refuse register reject relate release rely remain
remember remove rename render repeat replace replay report represent request require reset resolve
respect respond restart restore restrict resume retry return reuse rewrite rotate round run sample
save say scale scan schedule score search see select send separate serialize serve set settle shard
share shift show shrink shut signal simulate skip sleep solve sort specify spell spend split stand
start state stay steal stop store stream stretch strip substitute subtract succeed suffice sum
support suppose suppress survive suspect swap switch sync synchronize take target tell terminate
test think throw tie time tokenize touch train transfer transform translate transpose travel treat
trim truncate try turn type understand undo unlock update use validate vanish vary verify view visit
wait wake walk want warn watch weigh win wish work worsen wrap write yield zero bring build compress
decompress overlay materialize dispatch broadcast coincide cycle tile unroll vectorize accelerate
allgather reside span emit invert normalize clamp clip blame seal quarantine simplify mirror mimic
emulate stage unpack pack warm profile benchmark lint regenerate reproduce deserialize memorize
escalate enqueue dequeue attach detach attend project embed backpropagate differentiate delay defer
ship host demand implement prefetch play""".split()
IRREGULAR = """is are was were be been being am has have had having does did done can could may
might must shall should will would cannot can't won't don't doesn't isn't aren't wasn't gave given
went gone came took taken made said told knew known saw seen found kept left lost held led lay lain
lies lying wrote written read ran began begun broke broken brought built bought caught chose chosen
cost cut drew drawn drove driven fell fallen fed felt fit forgot forgotten froze frozen got gotten
grew grown hid hidden hit hung hurt laid lent let lit meant met paid put rose risen sent set shown
shrank shrunk shut slept sold spent split spread stood stuck struck swept swum taught tore torn
threw thrown thought understood woke woken won wore worn dies died tied ties becomes became stole
stolen bound rebuilt reread rewrote rewritten overwrote overwritten withdrew lets""".split()


def _inflected(verb):
    yield verb
    stem = verb[:-1] if verb.endswith("e") else verb
    if re.search("(s|x|z|ch|sh|o)$", verb):
        yield verb + "es"
    elif re.search("[^aeiou]y$", verb):
        yield from (verb[:-1] + "ies", verb[:-1] + "ied")
    else:
        yield verb + "s"
    yield from (stem + "ed", stem + "ing")
    if re.search("[^aeiou][aeiou][bdglmnprt]$", verb):
        yield from (verb + verb[-1] + "ed", verb + verb[-1] + "ing")


# Of the forms, those that can be the verb of a sentence: no "-ing", and no "-ed" without help.
FINITE = set(IRREGULAR) | {form for verb in VERBS for form in _inflected(verb)
                           if not form.endswith("ing")}


def sentences(paragraph):
    """Returns the sentences of a paragraph, with inline code as one word."""
    text = LINK.sub(r"\1", CODE.sub(lambda code: code[0].replace(" ", "\N{NO-BREAK SPACE}"),
                                    paragraph))
    text = SHORT.sub(lambda match: match[0].replace(".", "\N{ONE DOT LEADER}"), text)
    return [part for part in END.split(text) if WORD.search(part)]


def words(sentence):
    """Returns how many words a sentence has. `code in backquotes` is one."""
    return len(WORD.findall(CODE.sub("code", sentence)))


def has_verb(sentence):
    return any(word in FINITE for word in re.findall(r"[a-z][a-z']*", sentence.lower()))


def guides(text):
    """Yields (line, name) for each reference to a guide in the text of a file."""
    for number, line in enumerate(text.splitlines(), 1):
        for found in GUIDES.finditer(line):
            yield number, found[0]


def complaints(kind, sentence):
    """Names what is wrong with one sentence of a paragraph of this kind."""
    parts = sentence.split(";") if kind in ("label", "cell") else [sentence]  # lists
    count = max(words(part) for part in parts)
    if count > MOST_WORDS:
        yield f"{count} words"
    plain = re.sub(r"`[^`]*`|\"[^\"]*\"", "X", sentence)
    for name, pattern in TICS:
        where = sentence if name.startswith("text outside") else plain
        if pattern.search(where.lstrip("\"'(*_ ")):
            yield name
    is_whole = (plain[:1].isupper() and plain.rstrip()[-1:] in ".:"  # neither a note after code
                and not re.search(r"[\[=]", plain))                 # nor shapes or a formula
    if kind in ("comment", "page") and is_whole and count >= LONG_FRAGMENT and not has_verb(plain):
        yield "no verb"
