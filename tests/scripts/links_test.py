"""Links in the project's pages point to files and headings that exist."""
import pathlib, re, subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = sorted(path for path in ROOT.rglob('*.md') if not re.match(r'build|\.', path.relative_to(ROOT).parts[0]))


def anchor(heading):
    """A heading's anchor on GitHub: lower case, no punctuation, hyphens for spaces."""
    text = re.sub(r'\[([^]]*)\]\([^)]*\)', r'\1', heading).replace('`', '').lower()
    return re.sub(r'[^\w\- ]', '', text).replace(' ', '-')


def without_code(text):
    return re.sub(r'`[^`\n]*`', '', re.sub(r'```.*?```', '', text, flags=re.S))


def test_there_are_pages():
    assert len(PAGES) > 30


@pytest.mark.parametrize('page', PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_are_not_broken(page):
    broken = []
    for target in re.findall(r'\]\(([^)\s]+)\)', without_code(page.read_text())):
        if re.match(r'https?:|mailto:', target): continue
        file, _, fragment = target.partition('#')
        path = (page.parent / file).resolve() if file else page
        if not path.exists(): broken.append(target)
        elif fragment and fragment not in map(anchor, re.findall(r'^#+ (.*)$', path.read_text(), re.M)):
            broken.append(target)
    assert not broken
