"""Every handler of a FieldError reports its field: by with_field() or layer_mistake(), or by another FieldError."""
import pathlib, re

FOLDERS = ['engine', 'proto', 'formats', 'data', 'layers', 'solvers', 'tools', 'serving', 'bindings']


def block_at(text, brace):
    """The block that begins with this brace."""
    depth = 0
    for end in range(brace, len(text)):
        depth += {'{': 1, '}': -1}.get(text[end], 0)
        if depth == 0: return text[brace:end + 1]


def handlers(source):
    for folder in FOLDERS:
        for path in sorted(pathlib.Path(source, folder).rglob('*')):
            if path.suffix not in ('.cc', '.cu', '.h'): continue
            text = path.read_text()
            for found in re.finditer(r'catch \(const FieldError& (\w+)\) \{', text):
                line = text.count('\n', 0, found.start()) + 1
                yield path.relative_to(source), line, found.group(1), block_at(text, found.end() - 1)


def test_each_handler_reports_the_field(source):
    seen = list(handlers(source))
    assert len(seen) > 20
    wrong = []
    for path, line, name, block in seen:
        kept = re.sub(r'throw FieldError\([^;]*;', '', block)
        if re.search(r'\b%s\.(message|what)\(\)' % name, kept): wrong.append('%s:%d' % (path, line))
    assert not wrong, 'use with_field() of core/field_text.h: ' + ', '.join(wrong)
