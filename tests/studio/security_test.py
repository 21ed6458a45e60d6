"""Requests that the studio refuses: without the token, with other host names or origins, with paths that lead out of
its folder, above its limits."""
import contextlib, json, os, pathlib, shutil, socket, time

import cv2, numpy, pytest

from tests.harness.servers import status_of
from tests.harness.waiting import is_within, wait_until
from tests.studio.studying import TOKEN, Studio, add_photos, first_photo

OWN = {'Authorization': 'Bearer ' + TOKEN}
PAGES = ['/', '/studio.css', '/style.css', '/charts.js', '/elements.js', '/formats.js', '/images.js', '/js/app.js',
         '/js/run.js', '/icon.svg']
READS = ['/api/starts?data=x', '/api/folder', '/api/datasets', '/api/texts', '/api/text?path=inside.prototxt',
         '/api/models', '/api/studio', '/api/bin', '/api/image?path=x', '/api/dataset?path=x', '/api/runs',
         '/api/runs/feed', '/api/run?path=x', '/api/run/feed?path=x', '/api/run/metrics?path=x',
         '/api/run/report?path=x', '/api/jobs', '/api/job?id=1', '/api/model?name=lenet']
WRITES = ['/api/datasets', '/api/sheet', '/api/text', '/api/check', '/api/draw', '/api/trainings', '/api/training/keep',
          '/api/training/discard', '/api/runs', '/api/run/stop', '/api/run/snapshot', '/api/run/resume', '/api/look',
          '/api/job/stop', '/api/runs/compare', '/api/dataset/read', '/api/dataset/pictures', '/api/folder',
          '/api/upload', '/api/rename', '/api/delete', '/api/bin/restore', '/api/bin/delete']


@pytest.fixture(scope='module', autouse=True)
def outside(place, tmp_path_factory):
    """A folder outside of the studio's, the target of links. Nothing may be written to it."""
    outside = add_photos(tmp_path_factory.mktemp('outside'), 12)
    (outside / 'secret.prototxt').write_text('name: "secret"')
    (place / 'inside.prototxt').write_text('name: "inside"')
    for name, target in (('link.prototxt', outside / 'secret.prototxt'), ('away', outside),
                         ('near.prototxt', 'inside.prototxt')): (place / name).symlink_to(target)
    yield outside
    assert (outside / 'secret.prototxt').read_text() == 'name: "secret"'
    assert sorted(os.listdir(outside)) == ['photos', 'secret.prototxt']


@pytest.fixture(scope='module')
def studio(start_studio):
    return start_studio('--max-body=1')


def test_token(studio):
    wrong = [{}, {'Authorization': 'Bearer ' + TOKEN[:-1] + 'x'}, {'Authorization': 'Bearer ' + TOKEN + 'x'},
             {'Authorization': TOKEN}, {'Cookie': 'cortado-studio-%d=' % studio.port},
             {'Cookie': 'cortado-studio-%d=%s' % (studio.port, TOKEN[:-1])}, {'Cookie': 'cortado-studio=' + TOKEN}]
    for headers in wrong:
        for path in PAGES + READS: assert studio.ask('GET', path, headers=headers)[0] == 401, (path, headers)
        for path in WRITES: assert studio.ask('POST', path, '{}', headers)[0] == 401, (path, headers)
    assert studio.ask('GET', '/api/runs?token=' + TOKEN, headers={})[0] == 401, \
        'a token in an address is for the page alone'
    assert studio.ask('GET', '/?token=' + TOKEN[:-1], headers={})[0] == 401
    assert studio.ask('POST', '/?token=' + TOKEN, '', {})[0] == 401
    for path in PAGES: assert studio.ask('GET', path, headers=OWN)[0] == 200, path
    status, _, headers = studio.ask('GET', '/?token=' + TOKEN, headers={})
    cookie = headers['Set-Cookie']
    assert status == 303 and headers['Location'] == '/'
    assert 'HttpOnly' in cookie and 'SameSite=Strict' in cookie and TOKEN in cookie
    assert studio.ask('GET', '/', headers={'Cookie': 'a=b; ' + cookie.split(';')[0]})[0] == 200


def test_token_file(cortado, place, tmp_path):
    """The token is in no command line and no environment, of the studio's children neither."""
    secret = 'of-a-file.with+base64/chars=='
    (tmp_path / 'token').write_text(' %s\r\n' % secret)
    with Studio(cortado, place, '--token-file=%s' % (tmp_path / 'token'), token=None) as studio:
        assert studio.token == secret
        own = {'Authorization': 'Bearer ' + secret}
        cookie = studio.ask('GET', '/?token=' + secret, headers={})[2]['Set-Cookie']
        assert studio.ask('GET', '/api/runs', headers={'Cookie': cookie.split(';')[0]})[0] == 200
        assert studio.ask('POST', '/api/datasets', {'name': 'x', 'source': 'photos', 'side': 8}, own)[0] == 200
        seen = 0
        for _ in range(200):
            for folder in pathlib.Path('/proc').glob('[0-9]*'):
                try:
                    if parent_of(folder) != studio.process.pid and int(folder.name) != studio.process.pid: continue
                    text = (folder / 'cmdline').read_bytes() + (folder / 'environ').read_bytes()
                except (OSError, IndexError): continue
                seen += int(folder.name) != studio.process.pid
                assert secret.encode() not in text, text
            if seen > 3: break
            time.sleep(0.01)
        assert seen, 'there was a child'


def parent_of(folder): return int((folder / 'stat').read_text().rsplit(')', 1)[1].split()[1])


@pytest.mark.parametrize('program', ['studio', 'serve'])
@pytest.mark.parametrize('code, words, content', [
    (2, 'too short', 'short'), (2, 'too short', ''), (2, 'at most 256', 'x' * 257),
    (2, 'letters', 'two tokens in a line'), (2, 'letters', 'sixteen-and-more\nsecond-line-of-it'),
    (2, 'letters', 'of-other-letters-\u00e9'),
    (5, 'No such file', None), (5, 'regular', 'pipe'), (5, 'bytes', 'x' * 5000)])
def test_token_files_are_checked(run, tmp_path, program, code, words, content):
    """By one rule for both programs."""
    path = tmp_path / 'token'
    if content == 'pipe': os.mkfifo(path)
    elif content is not None: path.write_text(content)
    told = run(program, *([str(tmp_path)] if program == 'studio' else []), '--port=0', '--token-file=%s' % path,
               code=code, timeout=20).stderr
    assert words in told


def test_a_token_and_a_token_file(run, tmp_path):
    (tmp_path / 'token').write_text(TOKEN)
    run('studio', str(tmp_path), '--port=0', '--token=' + TOKEN, '--token-file=%s' % (tmp_path / 'token'), code=2)
    assert 'too short' in run('studio', str(tmp_path), '--port=0', '--token=short', code=2).stderr


def test_origin(studio):
    """Host names of DNS rebinding, and other pages in the same browser."""
    for name in 'evil.example', 'evil.example:%d' % studio.port, '127.0.0.1', '127.0.0.1:1', 'localhost.evil.example':
        assert studio.ask('GET', '/', headers={**OWN, 'Host': name})[0] == 403, name
        assert studio.ask('GET', '/?token=' + TOKEN, headers={'Host': name})[0] == 403, name
    assert studio.ask('GET', '/', headers={**OWN, 'Host': 'localhost:%d' % studio.port})[0] == 200
    for origin in 'http://evil.example', 'https://127.0.0.1:%d' % studio.port, 'http://127.0.0.1:1', 'null':
        for method, path, body in (('POST', '/api/check', '{}'), ('GET', '/api/runs', None),
                                   ('GET', '/api/runs/feed', None)):
            assert studio.ask(method, path, body, {**OWN, 'Origin': origin})[0] == 403, (origin, path)
    here = {**OWN, 'Origin': 'http://127.0.0.1:%d' % studio.port}
    assert studio.ask('POST', '/api/check', '{"text": "name: \\"x\\""}', here)[0] == 200
    for site in 'cross-site', 'same-site':
        assert studio.ask('GET', '/api/runs', headers={**OWN, 'Sec-Fetch-Site': site})[0] == 403, site
    assert studio.ask('POST', '/api/check', '{}', {**OWN, 'Sec-Fetch-Site': 'none'})[0] == 403
    headers = studio.ask('GET', '/')[2]
    policy = headers['Content-Security-Policy']
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and 'unsafe' not in policy
    assert headers['X-Content-Type-Options'] == 'nosniff' and headers['Referrer-Policy'] == 'no-referrer'
    assert headers['Access-Control-Allow-Origin'] is None


def test_paths(studio, place, outside):
    """Nothing outside is read, listed or written, with any spelling of the path."""
    leads_out = ['../%s/secret.prototxt' % outside.name, '%s/secret.prototxt' % outside,
                 'photos/../../%s/secret.prototxt' % outside.name, '/etc/passwd', 'near.prototxt', 'away', '..', '/',
                 'a/../..']
    for path in leads_out:
        for read in ('/api/text', '/api/folder', '/api/image', '/api/dataset', '/api/run', '/api/run/feed',
                     '/api/run/report', '/api/run/metrics'):
            status, told, _ = studio.ask('GET', read, path=path)
            assert status in (400, 403, 404), (read, path, told)
            assert 'secret"' not in str(told), (read, path)
        text = path if path.endswith('.prototxt') else path + '/new.prototxt'
        for write, body in (('/api/text', {'path': text, 'text': 'x'}),
                            ('/api/datasets', {'name': 'x', 'source': path, 'side': 8}),
                            ('/api/sheet', {'path': path}), ('/api/runs', {'name': 'x', 'solver': path}),
                            ('/api/runs', {'name': 'x', 'solver': 'inside.prototxt', 'weights': path}),
                            ('/api/runs/compare', {'paths': [path]}), ('/api/dataset/read', {'path': path}),
                            ('/api/dataset/pictures', {'path': path, 'set': 'train'}), ('/api/delete', {'path': path}),
                            ('/api/rename', {'path': path, 'name': 'x'}), ('/api/folder', {'path': path + '/new'}),
                            ('/api/run/resume', {'path': path}), ('/api/run/stop', {'path': path}),
                            ('/api/trainings', {'name': 'x', 'data': path}), ('/api/training/keep', {'path': path}),
                            ('/api/training/discard', {'path': path}),
                            ('/api/trainings', {'name': 'x', 'data': 'photos', 'from': path})):
            status, told, _ = studio.ask('POST', write, body)
            assert status in (400, 403, 404), (write, body, told)
        assert studio.ask('POST', '/api/look', '', run=path, snapshot='x')[0] in (400, 403, 404), path
        assert studio.ask('POST', '/api/upload', 'x', path=path + '/new.jpg')[0] in (400, 403, 404), path
    assert studio.ask('POST', '/api/look', '', run='photos', snapshot='../../x')[0] in (400, 403, 404)
    entries = [one['name'] for one in studio.get('/api/folder', path='')['entries']]
    assert 'away' not in entries and 'link.prototxt' not in entries and 'inside.prototxt' in entries
    assert studio.get('/api/text', path='inside.prototxt')['text'] == 'name: "inside"'
    os.mkfifo(place / 'pipe.prototxt')
    assert studio.ask('GET', '/api/text', path='pipe.prototxt')[0] == 400, 'a pipe is not waited for'
    (place / 'pipe.prototxt').unlink()


@pytest.mark.parametrize('name', ['../x', '.hidden', '-o', 'a/b', 'x' * 65, '', 'a b', 'a\nb', 'a\0b', 'a,b'])
def test_names(studio, name):
    for write in '/api/datasets', '/api/runs', '/api/trainings':
        assert studio.ask('POST', write, {'name': name, 'source': 'photos', 'solver': 'inside.prototxt',
                                          'data': 'photos', 'side': 8})[0] == 400, write


@pytest.mark.parametrize('name', ['../x', '.hidden', '-o', 'a/b', 'x' * 201, '', 'a\nb', 'a\0b', 'a,b', 'a"b', 'a\\b',
                                  'trailing '])
def test_file_names(studio, place, name):
    """Names of uploads and new names of folders."""
    before = sorted(os.listdir(place / 'photos'))
    assert studio.ask('POST', '/api/rename', {'path': 'photos/bag', 'name': name})[0] in (400, 403), name
    if name and '/' not in name:
        assert studio.ask('POST', '/api/upload', 'x', path='photos/%s/x.jpg' % name)[0] in (400, 403)
    assert studio.ask('POST', '/api/upload?path=photos/%ff.jpg', 'x')[0] == 400, 'not UTF-8'
    assert sorted(os.listdir(place / 'photos')) == before


def test_uploads(studio, place):
    """Images and annotations, into folders of the user's own; nothing is overwritten."""
    def upload(path, content='x'): return studio.ask('POST', '/api/upload', content, path=path)
    assert upload('photos/new class/one.JPG')[0] == 200
    assert (place / 'photos/new class/one.JPG').read_text() == 'x'
    assert upload('photos/new class/one.JPG', 'other')[0] == 409
    assert (place / 'photos/new class/one.JPG').read_text() == 'x'
    for name in 'run.sh', 'x.prototxt', 'x.jpg.exe', '.jpg': assert upload('photos/' + name)[0] in (400, 415), name
    (place / 'runs/some').mkdir(parents=True)
    (place / 'runs/some/run.json').write_text('{}')
    assert upload('runs/some/x.jpg')[0] == 403 and upload('runs/some/deep/x.jpg')[0] == 403
    shutil.rmtree(place / 'runs')
    assert upload('photos/large.jpg', 'x' * 2000000)[0] == 413, '--max-body=1'
    assert upload('.studio/x.jpg')[0] == 400 and upload('photos/.hidden/x.jpg')[0] == 400
    assert os.listdir(place / 'photos/new class') == ['one.JPG'], 'no temporary file is left'
    shutil.rmtree(place / 'photos/new class')


def test_images(studio, place):
    """Only formats that browsers show, with the type of their content."""
    photo = first_photo(place, 'bag').read_bytes()
    webp = cv2.imencode('.webp', numpy.zeros((4, 4, 3), numpy.uint8))[1].tobytes()
    assert studio.ask('POST', '/api/upload', webp, path='pictures/a.webp')[0] == 200
    status, told, headers = studio.ask('GET', '/api/image', path='pictures/a.webp')
    assert status == 200 and told == webp and headers['Content-Type'] == 'image/webp'
    for name, content, expected in (('a.jpg', photo, 200), ('page.jpg', b'<script>alert(1)</script>', 415),
                                    ('a.svg', b'<svg xmlns="http://www.w3.org/2000/svg"/>', 415), ('empty', b'', 415)):
        (place / name).write_bytes(content)
        status, told, headers = studio.ask('GET', '/api/image', path=name)
        assert status == expected, (name, told)
        if status == 200: assert told == photo and headers['Content-Type'] == 'image/jpeg'
        if status == 200: assert 'sandbox' in headers['Content-Security-Policy']
        (place / name).unlink()
    assert studio.ask('GET', '/api/image', path='near.prototxt')[0] == 403


def test_bin(studio, place, outside):
    """Deleted files are moved; links in deleted folders are deleted, not their targets."""
    (place / 'old/deep').mkdir(parents=True)
    (place / 'old/deep/file').write_text('kept')
    (place / 'old/deep/away').symlink_to(outside)
    name = studio.post('/api/delete', path='old')['name']
    assert not (place / 'old').exists() and name.endswith('-old')
    assert [(one['path'], one['folder']) for one in studio.get('/api/bin')] == [('old', True)]
    assert studio.post('/api/bin/restore', name=name)['path'] == 'old' and studio.get('/api/bin') == []
    assert (place / 'old/deep/file').read_text() == 'kept'
    name = studio.post('/api/delete', path='old')['name']
    (place / 'old').mkdir()
    assert studio.ask('POST', '/api/bin/restore', {'name': name})[0] == 409, 'nothing is overwritten'
    (place / 'old').rmdir()
    for wrong in '../bin/' + name, name + '.json', 'none', '', '..':
        for write in '/api/bin/restore', '/api/bin/delete':
            assert studio.ask('POST', write, {'name': wrong})[0] in (403, 404), wrong
    studio.post('/api/bin/delete', name=name)
    assert os.listdir(place / '.studio/bin') == [] and studio.get('/api/bin') == []
    for path in '', '.studio', '.studio/bin', 'photos/../.studio', '.':
        assert studio.ask('POST', '/api/delete', {'path': path})[0] in (400, 403), path
        assert studio.ask('POST', '/api/rename', {'path': path, 'name': 'x'})[0] in (400, 403), path


def test_forged_origin(studio, place, outside):
    """An origin in the bin is a file that anyone may have written: it leads nowhere else."""
    (place / '.studio/bin/item').mkdir(parents=True)
    for path, expected in (('../%s/new' % outside.name, 403), ('away/new', 403), ('/tmp/x', 403), ('', 400)):
        (place / '.studio/bin/item.json').write_text(json.dumps({'path': path, 'deleted': 0}))
        assert studio.ask('POST', '/api/bin/restore', {'name': 'item'})[0] in (expected, 409), path
    (place / '.studio/bin/item.json').write_text('[' * 10000)
    assert studio.get('/api/bin') == []
    shutil.rmtree(place / '.studio/bin')


def test_bodies(studio):
    for body in '', '[]', '{', 'null', '"x"', '{"text": ' + '[' * 5000 + ']' * 5000 + '}', '{"text": 3}', '\xff{':
        assert studio.ask('POST', '/api/check', body.encode('latin-1'))[0] == 400, body[:40]
    for target, body in (('/api/runs', {'name': 'x', 'solver': 'inside.prototxt', 'set': ['--run=/tmp']}),
                         ('/api/sheet', {'path': 'photos', 'transform': {'mean_file: "/etc/passwd"': 1}}),
                         ('/api/text', {'path': 'run.sh', 'text': 'x'})):  # only .prototxt is written
        assert studio.ask('POST', target, body)[0] == 400, target
    for target in '/api/text?path=%zz', '/api/run/metrics?path=x&from=-1':
        assert studio.ask('GET', target)[0] == 400, target
    assert studio.ask('GET', '/api/nothing')[0] == 404 and studio.ask('PUT', '/api/text')[0] == 405
    assert studio.ask('GET', '/js/../main.cc')[0] == 404


def test_limits(studio):
    """--max-body=1."""
    own, before = 'Host: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n' % (studio.port, TOKEN), studio.descriptors()
    for status, head in ((413, 'POST /api/look HTTP/1.1\r\n%sContent-Length: 2000000\r\n\r\n' % own),
                         (400, 'GET / HTTP/1.1\r\n%sLong: %s\r\n\r\n' % (own, 'x' * 20000)),
                         (400, '\x16\x03\x01 rubbish\r\n\r\n')):
        assert status_of(studio.raw(head.encode())) == status, head[:40]
    wait_until(lambda: studio.descriptors() <= before, 'all are closed')
    def feed():
        connection = socket.create_connection(('127.0.0.1', studio.port), timeout=5)
        connection.sendall(('GET /api/runs/feed HTTP/1.1\r\n%s\r\n' % own).encode())
        return connection, status_of(connection.recv(4096))
    feeds = [feed() for _ in range(65)]
    assert [status for _, status in feeds] == [200] * 64 + [503]
    for connection, _ in feeds: connection.close()
    wait_until(lambda: feed()[1] == 200, 'room again when pages are closed')


@pytest.mark.parametrize('code, words, folder, flag', [
    (2, 'at least 16', '', '--token=short'), (2, 'at most 256', '', '--token=' + 'x;' * 10),
    (2, 'must be at most', '', '--port=70000'), (5, '', 'none', '--port=0')])
def test_usage_errors(run, place, code, words, folder, flag):
    assert words in run('studio', place / folder, flag, code=code, timeout=20).stderr


def test_start(start_studio):
    one, other = start_studio(token=None), start_studio(token=None)
    assert len(one.token) == 64 and one.token != other.token
    listening = open('/proc/%d/net/tcp' % one.process.pid).read().split('\n')[1:]
    bound = [line.split()[1] for line in listening if line and int(line.split()[1].split(':')[1], 16) == one.port]
    assert bound and all(address.startswith('0100007F:') for address in bound), 'this machine alone'


@pytest.mark.parametrize('drip', [False, True], ids=['idle', 'slow heads'])
def test_connections_without_a_request(studio, drip):
    """300 of them, more than may be open, do not keep others out; nor do those whose heads arrive slowly."""
    held = []
    for _ in range(300):
        held.append(socket.create_connection(('127.0.0.1', studio.port), timeout=5))
        if drip: held[-1].sendall(b'GET / HT')
    for _ in range(3):
        start = time.monotonic()
        assert studio.ask('GET', '/api/runs')[0] == 200
        assert is_within(time.monotonic() - start, 2)
        for connection in held if drip else []:
            with contextlib.suppress(ConnectionError): connection.sendall(b'x')
    for connection in held: connection.close()
