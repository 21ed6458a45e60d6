#!/usr/bin/python3
"""Runs what a page shows: every block marked `sh`, line by line, in one shell and one folder; each line must return 0.
A block marked `prototxt` or `python` whose first line is `# NAME` becomes that file. What the page takes for granted
(an old project, photographs) is made first (page_folders.py). pages.py CORTADO PAGE.md [KEPT_FOLDER]"""
import os, re, shutil, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import page_folders

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def blocks(page):
    """(language, lines) of every fenced block."""
    for match in re.finditer(r'^```(\w*)\n(.*?)^```$', page, re.M | re.S):
        yield match[1], match[2].rstrip('\n').split('\n')

def commands(lines):
    """Lines that continue each other are one; comments and empty lines are none."""
    text = '\n'.join(lines).replace('\\\n', ' ')
    return [line for line in text.split('\n') if line.strip() and not line.lstrip().startswith('#')]

def check_links(page):
    """README.md leads to every page."""
    for name in os.listdir(ROOT + '/docs'):
        if name.endswith('.md'): assert 'docs/' + name in page, 'README.md has no link to docs/' + name

def script_of(page):
    """Bash that runs the commands and says which one failed."""
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

def main():
    path = sys.argv[2]
    page, name = open(path, encoding='utf-8').read(), os.path.basename(path)
    script = script_of(page)
    wanted = script.count('failed $code')
    assert wanted >= 5, 'no commands in ' + path
    if name == 'README.md': check_links(page)
    with tempfile.TemporaryDirectory() as tmp:
        folder = tmp + '/work'
        os.mkdir(folder)
        exe = os.path.abspath(sys.argv[1])
        os.environ.update(XDG_CACHE_HOME=tmp + '/cache', OMP_WAIT_POLICY='passive',
                          PATH=os.path.dirname(exe) + ':' + os.environ['PATH'])
        made = page_folders.MADE_FIRST[name](folder, exe, list(blocks(page)))
        done = subprocess.run(['bash', '-c', script], cwd=folder, stdin=subprocess.DEVNULL)
        if len(sys.argv) > 3: shutil.copytree(folder, sys.argv[3], symlinks=True)
        if done.returncode == 0 and name in page_folders.CHECKED_AFTER: page_folders.CHECKED_AFTER[name](folder, made)
    print('%d commands of %s' % (wanted, path))
    sys.exit(done.returncode)


main()
