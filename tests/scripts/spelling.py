"""Translates keys, options and failpoints between the spellings of two programs."""
import re


class Words:
    """Translates the other program's keys, options and failpoints to this program's."""

    def __init__(self, spelling):
        self._spelling = spelling  # words of the other program to words of this program

    def of(self, argument):
        """Translates KEY=VALUE or an option; each word may have another spelling."""
        name, equals, value = str(argument).partition("=")
        return self._own(name) + equals + self._own(value)

    def failpoint(self, plan):
        return "".join(self._own(word) for word in re.split(r"([:;@])", plan))

    def config(self, text):
        """Returns a configuration file with this program's keys."""
        if not self._spelling:
            return text
        import yaml  # not always installed, and rarely needed
        flat = dict(_flat("", yaml.safe_load(text)))
        return yaml.safe_dump(_nested({self._own(key): value for key, value in flat.items()}))

    def _own(self, word):
        return self._spelling.get(word, word)


def _flat(prefix, node):
    for name, value in node.items():
        if isinstance(value, dict):
            yield from _flat(f"{prefix}{name}.", value)
        else:
            yield prefix + name, value


def _nested(flat):
    tree = {}
    for key, value in flat.items():
        *outer, last = key.split(".")
        node = tree
        for name in outer:
            node = node.setdefault(name, {})
        node[last] = value
    return tree


def spelling_of(pairs, is_new):
    """Returns {word of the other program: word of this program} from texts OLD=NEW. `is_new` is
    true if this program is the new one."""
    words = [pair.partition("=")[::2] for pair in pairs]
    return {old: new for old, new in words} if is_new else {new: old for old, new in words}
