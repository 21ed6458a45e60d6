"""Plausible faults of a programmer, planted in the text of C++ and Python sources.

In C++ each fault is an alternative that `cortado_planted::on(NUMBER)` chooses at run time, so that one build has all of
them. Lines keep their numbers, so that a compiler's error at a line names the faults to leave out.
"""
import re

LONGEST = 400  # characters of an expression
WORD = r'(?<![\w.])'
SWAPS = [  # (kind, pattern, replacement), for one place of an expression
    ('bound', r' < ', ' <= '), ('bound', r' <= ', ' < '), ('bound', r' > ', ' >= '), ('bound', r' >= ', ' > '),
    ('test', r' == ', ' != '), ('test', r' != ', ' == '), ('test', r' && ', ' || '), ('test', r' \|\| ', ' && '),
    ('test', r'(?<![\w)\]])!(?=[\w(:])', ''), ('test', WORD + r'true\b', 'false'), ('test', WORD + r'false\b', 'true'),
    ('sign', r' \+ ', ' - '), ('sign', r' - ', ' + '), ('factor', r' \* ', ' + '), ('factor', r' / ', ' * '),
    ('bound', r'std::max\b', 'std::min'), ('bound', r'std::min\b', 'std::max'),
    ('side', r'\.h\b(?!\()', '.w'), ('side', r'\.w\b(?!\()', '.h'), ('side', r'\bheight\b', 'width'),
    ('side', r'\bwidth\b', 'height'), ('side', r'\.front\(\)', '.back()'), ('side', r'\.back\(\)', '.front()'),
    ('number', WORD + r'(\d+)(?![\w.])', lambda found: str(int(found[1]) + 1)),
    ('factor', WORD + r'(\d+\.\d+f?)\b', r'2 * \1'),
]


class Fault:
    def __init__(self, number, file, first, last, kind, before, after):
        self.number, self.file, self.first, self.last, self.kind = number, file, first, last, kind
        self.before, self.after = before, after

    def __str__(self):
        return '%s:%d: %s: %s  ->  %s' % (self.file, self.first, self.kind, ' '.join(self.before.split()),
                                          ' '.join(self.after.split()) or '(dropped)')


def without_comments(text):
    """The text with comments and the insides of literals as spaces of the same length."""
    parts = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:\\\n|[^\n])*|'
                       r'R"(\w*)\(.*?\)\1"', re.S | re.M)
    return parts.sub(lambda found: re.sub(r'[^\n]', ' ', found[0]), text)


def closing(text, at):
    """The place of the bracket that closes the one at `at`, or None."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] in '([{') - (text[i] in ')]}')
        if depth == 0: return i


def pieces(text, begin, end, separator=';'):
    """[(begin, end)] of what separators outside of brackets part."""
    found, depth, start = [], 0, begin
    for i in range(begin, end):
        depth += (text[i] in '([{') - (text[i] in ')]}')
        if depth == 0 and text[i] == separator:
            found.append((start, i))
            start = i + 1
    return found + [(start, end)]


def expressions(plain):
    """(begin, end) of conditions, returned and assigned values in C++ whose comments are spaces."""
    for found in re.finditer(r'\b(if|while|for) \(', plain):
        at = found.end() - 1
        end = closing(plain, at)
        if end is None: continue
        parts = pieces(plain, at + 1, end)
        if found[1] == 'for':
            if len(parts) != 3: continue
            part = parts[1]
        else:
            part = parts[-1]
            if re.match(r'\s*(const )?[\w:<>*&, ]+[ *&]\w+ = ', plain[part[0]:part[1]]): continue
        yield part
    for found in re.finditer(r'\breturn (?!\{)|(?<=\n)[ ]+(?!using |typedef |static |constexpr |inline )'
                             r'[\w:<>,*&.()\[\] ->]*?[\w)\]] [-+*]?= (?!\{)', plain):
        begin = found.end()
        first = pieces(plain, begin, min(len(plain), begin + LONGEST))[0]
        if first[1] < begin + LONGEST: yield first


def statements(plain):
    """(begin, end) of calls and assignments that are a line of their own."""
    for found in re.finditer(r'(?<=[;{})]\n)([ ]+)([\w.:>\[\]-]+\([^\n]*\)|[\w.>\[\]-]+ [-+*/|&]?= [^\n]*|'
                             r'(?:\+\+|--)[\w.>\[\]-]+);(?=\n)', plain):
        words = found[2]
        if re.match(r'(return|throw|using|case|delete|static_assert|if|for|while)\b', words): continue
        if closing(words, words.find('(')) is None and '(' in words: continue
        yield found.start(2), found.end(2) + 1


def line_of(text, at): return text.count('\n', 0, at) + 1


def plant_in_cpp(text, file, first_number, each=2, left_out=(), draws=None):
    """(the text with alternatives, its Faults). An expression gets at most `each`, drawn by `draws`. Faults whose
    numbers are in `left_out` keep them, but are not planted."""
    plain, edits, faults = without_comments(text), [], []
    number = first_number
    taken = []

    def free(begin, end): return all(end <= other[0] or begin >= other[1] for other in taken)

    for begin, end in sorted(set(expressions(plain)), key=lambda part: (part[1] - part[0], part)):
        shown = plain[begin:end]
        if not shown.strip() or '{' in shown or '?' in shown or not free(begin, end): continue
        places = [(kind, found, swap) for kind, pattern, swap in SWAPS for found in re.finditer(pattern, shown)]
        if not places: continue
        places = draws.sample(places, min(each, len(places)))
        taken.append((begin, end))
        before, alternatives = text[begin:end].strip(), ''
        for kind, found, swap in places:
            replaced = (text[begin:begin + found.start()] + found.expand(swap) if isinstance(swap, str)
                        else text[begin:begin + found.start()] + swap(found)) + text[begin + found.end():end]
            faults.append(Fault(number, file, line_of(text, begin), line_of(text, end), kind, before, replaced.strip()))
            if number not in left_out:
                alternatives += 'cortado_planted::on(%d) ? (%s) : ' % (number, one_line(replaced))
            number += 1
        if alternatives:
            space = re.match(r'\s*', text[begin:end])[0]
            edits.append((begin, end, '%s(%s(%s))' % (space, alternatives, text[begin:end][len(space):])))
    for begin, end in statements(plain):
        if not free(begin, end): continue
        faults.append(Fault(number, file, line_of(text, begin), line_of(text, end), 'dropped', text[begin:end], ''))
        if number not in left_out: edits.append((begin, begin, 'if (cortado_planted::on(%d)) {} else ' % number))
        number += 1
    for begin, end, new in sorted(edits, reverse=True): text = text[:begin] + new + text[end:]
    return text, faults


def one_line(words): return ' '.join(re.sub(r'//[^\n]*', '', words).split())


def plant_in_python(text, file, first_number, draws, each=2):
    """[(fault, the text with it)]: one text for each, because Python needs no build."""
    plain = re.sub(r'"""(?:.|\n)*?"""|\'\'\'(?:.|\n)*?\'\'\'|#[^\n]*|"[^"\n]*"|\'[^\'\n]*\'',
                   lambda found: re.sub(r'[^\n]', ' ', found[0]), text)
    swaps = [swap for swap in SWAPS if swap[0] != 'test'] + [
        ('test', r' == ', ' != '), ('test', r' and ', ' or '), ('test', r' or ', ' and '), ('test', r'\bnot ', ''),
        ('test', r'\bTrue\b', 'False'), ('test', r'\bFalse\b', 'True'), ('factor', r' // ', ' * ')]
    planted, at = [], 0
    for line in text.splitlines(keepends=True):
        shown, begin, at = plain[at:at + len(line)], at, at + len(line)
        places = [(kind, found, swap) for kind, pattern, swap in swaps for found in re.finditer(pattern, shown)]
        changes = [(kind, line[:found.start()] + (found.expand(swap) if isinstance(swap, str) else swap(found)) +
                    line[found.end():]) for kind, found, swap in draws.sample(places, min(each, len(places)))]
        call = re.fullmatch(r'( +)(?:[\w.]+\([^\n]*\)|[\w.\[\]]*[.\[][\w.\[\]]* [-+*/]?= [^\n]*)\n', shown)
        if call and not call[0].strip().startswith(('return', 'raise', 'def ')):
            changes.append(('dropped', '%spass\n' % call[1]))
        for kind, new in changes:
            number = first_number + len(planted)
            row = line_of(text, begin)
            planted.append((Fault(number, file, row, row, kind, line, '' if kind == 'dropped' else new),
                            text[:begin] + new + text[at:]))
    return planted
