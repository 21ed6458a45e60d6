#!/usr/bin/python3
"""Lists comparisons in C++ tests whose expected and actual values come from one function of the project, as in
EXPECT_EQ(infer(a), infer(b)): a fault in it changes both. --only: only functions that no comparison sets against
anything else. The list is for reading; such a comparison is right where a relation is what is tested.

    same_origin.py [--only] [FOLDER of tests/ ...]
"""
import collections, re, sys

from check_reach import FUNCTION, ROOT, text_of

TEST = re.compile(r'^TEST(?:_[FP])?\((\w+), (\w+)\) \{\n(.*?)^\}', re.M | re.S)
COMPARISON = re.compile(r'\b((?:EXPECT|ASSERT)_(?:EQ|NEAR|FLOAT_EQ|DOUBLE_EQ|STREQ)|'
                        r'expect_(?:near|equal|close)\w*|same_bits)\(')
CALL = re.compile(r'\b([a-z]\w*)\(')


def arguments(text, start):
    """The arguments of the call whose parenthesis opens before `start`."""
    depth, found, begin, quoted = 0, [], start, False
    for i in range(start, len(text)):
        c = text[i]
        if c == '"' and text[i - 1] != '\\': quoted = not quoted
        if quoted: continue
        if c in '([{': depth += 1
        elif c in ')]}':
            if depth == 0: return found + [text[begin:i]]
            depth -= 1
        elif c == ',' and depth == 0:
            found.append(text[begin:i])
            begin = i + 1
    return found


def functions_in(path):
    return {found[1] for line in text_of(path).splitlines() if (found := FUNCTION.match(line.strip()))}


def project_functions():
    names = set()
    for folder in ('engine', 'data', 'layers', 'proto', 'solvers', 'formats', 'tools', 'serving'):
        for path in (ROOT / folder).rglob('*.h'): names |= functions_in(path)
    for path in (ROOT / 'tests').rglob('*.[ch]*'):  # a helper of the tests with the same name
        if path.suffix in ('.cc', '.h'): names -= functions_in(path)
    return names - {'alignas'}


def origins(expression, values, functions, seen=()):
    """The project's functions that the expression's value depends on, through local variables."""
    found = {name for name in CALL.findall(expression) if name in functions}
    for name in set(re.findall(r'\b[a-z]\w*\b', expression)):
        if name in values and name not in seen:
            for value in values[name]: found |= origins(value, values, functions, (*seen, name))
    return found


def comparisons(body, functions):
    """Yields (line, origins of the one side, origins of the other)."""
    values = collections.defaultdict(list)
    for statement in re.split(r';\n', body):
        one = statement.strip()
        found = re.search(r'(?:^|\n|[(,&] ?)(?:[\w:<>,&* ]+ )?(\w+) = (.*)', one, re.S)
        if found and not COMPARISON.match(one): values[found[1]].append(found[2])
    for found in COMPARISON.finditer(body):
        both = arguments(body, found.end())[:2]
        if len(both) == 2:
            yield body[:found.start()].count('\n'), *(origins(side, values, functions) for side in both)


def main():
    only, folders = '--only' in sys.argv, [word for word in sys.argv[1:] if word[0] != '-']
    functions, shared, apart = project_functions(), collections.defaultdict(list), collections.Counter()
    for path in sorted((ROOT / 'tests').rglob('*_test.cc')):
        if folders and path.parent.name not in folders: continue
        text = text_of(path)
        for test in TEST.finditer(text):
            first = text[:test.start(3)].count('\n') + 1
            for line, one, other in comparisons(test[3], functions):
                for name in one & other:
                    shared[name].append('%s:%d %s.%s' % (path.relative_to(ROOT), first + line, test[1], test[2]))
                for name in one ^ other: apart[name] += 1
    for name in sorted(shared, key=lambda each: (apart[each], each)):
        if only and apart[name]: continue
        print('%s: %d with itself, %d with others' % (name, len(shared[name]), apart[name]))
        for place in shared[name][:None if only else 3]: print('  ' + place)
    print('%d functions, %d comparisons' % (len(shared), sum(len(each) for each in shared.values())))


main()
