"""docs/troubleshooting.md quotes messages that the sources have, word for word."""
import pathlib, re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ['bindings', 'data', 'engine', 'formats', 'layers', 'proto', 'serving', 'solvers', 'tools']
NOT_OURS = {'No such file or directory'}  # of the system
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def literals():
    """The strings of all sources, adjacent ones joined."""
    found = []
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob('*'):
            if path.suffix in ('.cc', '.h', '.cu'):
                text = re.sub(r'(?m)^\s*//.*$', '', path.read_text(encoding='utf-8', errors='replace'))
                found += LITERAL.findall(re.sub(r'(?<!\\)"\s*\n\s*"', '', text))
    return '\n'.join(found)


SOURCES = literals()


def messages():
    page = (ROOT / 'docs/troubleshooting.md').read_text(encoding='utf-8')
    for row in re.findall(r'(?m)^\| `(.+?)`', page):
        yield row


@pytest.mark.parametrize('message', messages())
def test_messages_are_in_the_sources(message):
    for part in re.split(r'\.\.\.|(?<=: )(?=[A-Z])', message):
        assert part.strip(' :;') in NOT_OURS or part.strip(' :;') in SOURCES, part
