"""Runs the commands of pages: every block marked `sh`, line by line, in one shell and one folder. Each line must return
0. A block marked `prototxt` or `python` whose first line is `# NAME` becomes that file. page_folders.py creates files
that the page expects, such as an old project or photographs.

A block after the comment `<!-- not run: REASON -->` is skipped. `cortado serve` and `cortado studio` run in the
background until the next server starts or the page ends. They listen on free ports, which replace the page's ports."""
import os, pathlib, re, shlex, shutil, socket, subprocess

import pytest

from tests.cli import page_commands_test, page_folders

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = {'docs/tour': '', 'docs/from-pytorch': '', 'docs/own-images': '', 'docs/detection': '',  # needed programs
         'docs/from-caffe': 'cortado-leveldb', 'docs/reading': 'cortado-hdf5',
         'docs/python-layers': 'libcortado_python.so', 'docs/inference': '', 'docs/weights': '',
         'docs/quantization': '', 'docs/scores': '', 'docs/cpu': 'avx512_bf16', 'docs/gpu': '', 'docs/scaling': '',
         'docs/onnx': 'cortado-onnx', 'docs/classic-caffe': 'cortado-onnx', 'docs/from-opencv-dnn': 'cortado-onnx',
         'docs/runs': 'cortado-serve', 'docs/serving': 'cortado-serve curl openssl',
         'docs/studio': 'cortado-studio curl openssl', 'docs/data': '', 'docs/solvers': ''}
SERVERS = {'serve': 8080, 'studio': 8090}
PORTS = ['8080', '8081', '8090']
GENERATED = {'docs/commands'}  # its blocks are the examples of help

FUNCTIONS = '''
failed() { echo "FAILED ($1): $2" >&2; exit 1; }
started() {  # started PORT COMMAND: waits until the port of the server in the background answers
  server=$!
  until (exec 3<>/dev/tcp/127.0.0.1/$1) 2>/dev/null; do
    kill -0 $server 2>/dev/null || failed 1 "$2"
    sleep 0.1
  done
}
stopped() {
  [ -z "$server" ] && return
  kill $server
  wait $server || failed $? 'the end of a server'
  server=
}
trap 'kill $(jobs -p) 2>/dev/null' EXIT
'''


def blocks(page):
    """(language, lines) of every fenced block; the language is 'not run' if a comment says so."""
    for match in re.finditer(r'^(<!-- not run: .+ -->\n)?```(\w*)\n(.*?)^```$', page, re.M | re.S):
        yield 'not run' if match[1] else match[2], match[3].rstrip('\n').split('\n')

def is_complete(command):
    try: shlex.split(command, comments=True)
    except ValueError: return False  # an open quote
    return True

def commands(lines):
    """The commands; continued lines are joined, comments and empty lines are dropped."""
    found = []
    for line in '\n'.join(lines).replace('\\\n', ' ').split('\n'):
        if found and not is_complete(found[-1]): found[-1] += '\n' + line
        elif line.strip() and not line.lstrip().startswith('#'): found.append(line)
    return found

def script_of(page):
    """A bash script that runs the commands and reports which one failed."""
    lines = [FUNCTIONS]
    for language, text in blocks(page):
        name = re.match(r'# (\S+)$', text[0])
        if language in ('prototxt', 'python') and name:
            lines += ["cat > %s <<'END_OF_FILE'" % name[1]] + text + ['END_OF_FILE']
        if language != 'sh': continue
        for command in commands(text):
            quoted = "'" + command.replace("'", "'\\''") + "'"
            lines += ['echo "\\$ "%s >&2' % quoted]
            server = re.match(r'cortado (serve|studio) ', command)
            if server:
                port = SERVERS[server[1]]
                flags = '--port=%d ' % port + '--grpc-port=8081 ' * (server[1] == 'serve')
                lines += ['stopped', '{ exec %s%s%s\n} &' % (server[0], flags, command[server.end():]),
                          'started %d %s' % (port, quoted)]
            else: lines += [command, 'code=$?; [ $code = 0 ] || failed $code %s' % quoted]
    return '\n'.join(lines + ['stopped', ''])

def with_free_ports(script):
    sockets = [socket.create_server(('127.0.0.1', 0)) for _ in PORTS]
    for port, free in zip(PORTS, sockets): script = re.sub(r'\b%s\b' % port, str(free.getsockname()[1]), script)
    for free in sockets: free.close()
    return script


def needs_instructions(cortado, name):
    if name not in subprocess.run([cortado, 'devices'], capture_output=True, text=True, check=True).stdout:
        pytest.skip('the CPU lacks ' + name)


def test_links_lead_to_every_page():
    page = (ROOT / 'README.md').read_text(encoding='utf-8')
    assert not [name.name for name in (ROOT / 'docs').glob('*.md') if 'docs/' + name.name not in page]


@pytest.mark.parametrize('path', page_commands_test.PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_are_run_or_marked(path):
    name = str(path.relative_to(ROOT).with_suffix(''))
    if name in GENERATED: return
    for language, lines in blocks(path.read_text(encoding='utf-8')):
        assert language, 'a block without a language: %s' % lines[0]
        if language in ('sh', 'bash', 'console'): assert name in PAGES, 'neither run nor marked: %s' % lines[0]
        if language == 'text': assert not [line for line in lines if re.match(r'(\$ )?cortado [a-z]', line)], lines


def test_every_page_is_a_test_of_ctest():
    text = (ROOT / 'tests/cli/CMakeLists.txt').read_text()
    assert re.search(r'foreach\(page ([^)]*)\)', text)[1].split() == [os.path.basename(path) for path in PAGES]


@pytest.mark.parametrize('path', PAGES, ids=os.path.basename)
def test_commands_work(cortado, helper, tmp_path, monkeypatch, path):
    for needed in PAGES[path].split():
        if re.match('(lib)?cortado', needed): helper(needed)
        elif needed == 'avx512_bf16': needs_instructions(cortado, needed)
        elif not shutil.which(needed): pytest.skip('%s is not installed' % needed)
    page, name = (ROOT / (path + '.md')).read_text(encoding='utf-8'), os.path.basename(path)
    script = with_free_ports(script_of(page))
    assert script.count('failed $code') >= 1
    folder = str(tmp_path / 'work')
    os.mkdir(folder)
    # HTTP errors are exit codes, and example hosts are this machine.
    (tmp_path / '.curlrc').write_text('silent\nshow-error\nfail-with-body\nconnect-to = "server.example::127.0.0.1:"\n')
    monkeypatch.setenv('CURL_HOME', str(tmp_path))
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    monkeypatch.setenv('PATH', os.path.dirname(cortado), prepend=':')
    made = page_folders.MADE_FIRST[name](folder, cortado, list(blocks(page)))
    code = subprocess.run(['bash', '-c', script], cwd=folder, stdin=subprocess.DEVNULL).returncode
    assert code == 0
    page_folders.CHECKED_AFTER.get(name, lambda *_: None)(folder, made)
