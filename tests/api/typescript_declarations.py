"""Reads declarations of TypeScript, as far as those of the client for JavaScript go: interfaces and classes with their members."""
import re

_BLOCK = re.compile(r"^(?:export )?(?:interface|class) (\w+)(?:<[^>]*>)?(?: extends (\w+))?(?: implements [^{]*)? \{(.*?)\}$",
                    re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"/\*\*.*?\*/|//[^\n]*", re.DOTALL)
_PROPERTY = re.compile(r"^(?:readonly )?(\w+)\??: ")
_METHOD = re.compile(r"^(\w+)\((.*)\): (.*)$")


def snake(name):
    """Converts a name to the interface's form: timeoutSeconds becomes timeout_seconds."""
    return re.sub(r"[A-Z]", lambda letter: "_" + letter.group().lower(), name)


def apart(text, separator):
    """The parts of `text` between separators that are in no bracket."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "{([<") - (letter in "})]" or letter == ">" and text[at - 1] != "=")
        if letter == separator and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [part.strip() for part in (*parts, text[start:]) if part.strip()]


class Declarations:
    def __init__(self, text):
        self._bodies = {}  # by name: whose members it has as well, and its own
        for name, base, body in _BLOCK.findall(_COMMENT.sub("", text)):
            self._bodies[name] = (base, [" ".join(member.split()) for member in apart(body, ";")])

    def names(self):
        return set(self._bodies)

    def properties(self, name):
        """Returns the properties, including those of extended types."""
        base, members = self._bodies[name]
        own = {found.group(1) for found in map(_PROPERTY.match, members) if found}
        return own | (self.properties(base) if base in self._bodies else set())

    def methods(self, name):
        """Returns the methods of a class or an interface: the name, and for each parameter its name and type. A
        property with the type of another's method, as Processes["run"], has that one's parameters."""
        found = {}
        for member in self._bodies[name][1]:
            if method := _METHOD.match(member):
                found[method.group(1)] = [self._parameter(each) for each in apart(method.group(2), ",")]
            elif elsewhere := re.match(r'^(\w+): (\w+)\["(\w+)"\]$', member):
                if elsewhere.group(2) in self._bodies and elsewhere.group(3) in self.methods(elsewhere.group(2)):
                    found[elsewhere.group(1)] = self.methods(elsewhere.group(2))[elsewhere.group(3)]
        return found

    def options(self, kind):
        """Returns the members of a parameter's type: of an interface, of an inline type, or of several with &
        between."""
        names = set()
        for part in apart(kind, "&"):
            if omitted := re.fullmatch(r'Omit<(\w+), "(\w+)">', part):
                names |= self.options(omitted.group(1)) - {omitted.group(2)}
            elif part.startswith("{"):
                names |= {_PROPERTY.match(each).group(1) for each in apart(part[1:-1], ";")}
            else:
                names |= self.properties(part)
        return names

    @staticmethod
    def _parameter(text):
        name, _, kind = text.partition(":")
        return name.rstrip("?"), kind.strip()
