"""Runs the commands of pages: every block marked `sh`, line by line, in one shell and one folder. Each line must return
0. A block marked `prototxt` or `python` whose first line is `# NAME` becomes that file. page_folders.py creates files
that the page expects, such as an old project or photographs."""
import os, pathlib, re, subprocess

import pytest

from tests.cli import page_folders

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = {'docs/tour': None, 'docs/from-pytorch': None, 'docs/own-images': None, 'docs/detection': None,  # needed module
         'docs/from-caffe': 'cortado-leveldb', 'docs/reading': 'cortado-hdf5',
         'docs/python-layers': 'libcortado_python.so'}


def blocks(page):
    """(language, lines) of every fenced block."""
    for match in re.finditer(r'^```(\w*)\n(.*?)^```$', page, re.M | re.S):
        yield match[1], match[2].rstrip('\n').split('\n')

def commands(lines):
    """The commands; continued lines are joined, comments and empty lines are dropped."""
    text = '\n'.join(lines).replace('\\\n', ' ')
    return [line for line in text.split('\n') if line.strip() and not line.lstrip().startswith('#')]

def script_of(page):
    """A bash script that runs the commands and reports which one failed."""
    lines = ['failed() { echo "FAILED ($1): $2" >&2; exit 1; }']
    for language, text in blocks(page):
        name = re.match(r'# (\S+)$', text[0])
        if language in ('prototxt', 'python') and name:
            lines += ["cat > %s <<'END_OF_FILE'" % name[1]] + text + ['END_OF_FILE']
        if language != 'sh': continue
        for command in commands(text):
            quoted = "'" + command.replace("'", "'\\''") + "'"
            lines += ['echo "\\$ "%s >&2' % quoted, command, 'code=$?; [ $code = 0 ] || failed $code %s' % quoted]
    return '\n'.join(lines) + '\n'


def test_links_lead_to_every_page():
    page = (ROOT / 'README.md').read_text(encoding='utf-8')
    assert not [name.name for name in (ROOT / 'docs').glob('*.md') if 'docs/' + name.name not in page]


@pytest.mark.parametrize('path', PAGES, ids=os.path.basename)
def test_commands_work(cortado, helper, tmp_path, monkeypatch, path):
    if PAGES[path]: helper(PAGES[path])
    page, name = (ROOT / (path + '.md')).read_text(encoding='utf-8'), os.path.basename(path)
    script = script_of(page)
    assert script.count('failed $code') >= 5
    folder = str(tmp_path / 'work')
    os.mkdir(folder)
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    monkeypatch.setenv('OMP_WAIT_POLICY', 'passive')
    monkeypatch.setenv('PATH', os.path.dirname(cortado), prepend=':')
    made = page_folders.MADE_FIRST[name](folder, cortado, list(blocks(page)))
    assert subprocess.run(['bash', '-c', script], cwd=folder, stdin=subprocess.DEVNULL).returncode == 0
    page_folders.CHECKED_AFTER.get(name, lambda *_: None)(folder, made)
