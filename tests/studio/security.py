#!/usr/bin/python3
"""What the studio refuses: requests without the token, from other hosts' names and other pages, paths that lead out of
its folder, more than its limits.

    security.py CORTADO
"""
import json, os, socket, stat, subprocess, sys, time

from studio_place import TOKEN, Place, Studio, check, fashion

exe = os.path.abspath(sys.argv[1])
if not fashion(1):
    print('skipped: Fashion-MNIST is not installed')
    sys.exit(77)
place = Place(exe, 12)
outside = Place(exe, 12)
outside.write('secret.prototxt', 'name: "secret"')
place.write('inside.prototxt', 'name: "inside"')
os.symlink(outside.path('secret.prototxt'), place.path('link.prototxt'))
os.symlink(outside.name, place.path('away'))
os.symlink('inside.prototxt', place.path('near.prototxt'))
PAGES = ['/', '/studio.css', '/style.css', '/charts.js', '/js/app.js', '/js/run.js', '/icon.svg']
READS = ['/api/classifiers', '/api/folder', '/api/datasets', '/api/texts', '/api/text?path=inside.prototxt',
         '/api/models', '/api/runs', '/api/runs/feed', '/api/runs/compare?a=x&b=x', '/api/run?path=x',
         '/api/run/feed?path=x', '/api/run/metrics?path=x', '/api/run/report?path=x', '/api/jobs', '/api/job?id=1',
         '/api/model?name=lenet']
WRITES = ['/api/datasets', '/api/sheet', '/api/text', '/api/check', '/api/draw', '/api/classifier', '/api/runs',
          '/api/run/stop', '/api/run/snapshot', '/api/run/resume', '/api/look', '/api/job/stop']

def check_token(studio):
    own = {'Authorization': 'Bearer ' + TOKEN}
    wrong = [{}, {'Authorization': 'Bearer ' + TOKEN[:-1] + 'x'}, {'Authorization': 'Bearer ' + TOKEN + 'x'},
             {'Authorization': TOKEN}, {'Cookie': 'cortado-studio-%d=' % studio.port},
             {'Cookie': 'cortado-studio-%d=%s' % (studio.port, TOKEN[:-1])}, {'Cookie': 'cortado-studio=' + TOKEN}]
    for headers in wrong:
        for path in PAGES + READS: check(studio.ask('GET', path, headers=headers)[0] == 401, path, headers)
        for path in WRITES: check(studio.ask('POST', path, '{}', headers)[0] == 401, path, headers)
    status = studio.ask('GET', '/api/runs?token=' + TOKEN, headers={})[0]
    check(status == 401, 'a token in an address is for the page alone')
    check(studio.ask('GET', '/?token=' + TOKEN[:-1], headers={})[0] == 401)
    check(studio.ask('POST', '/?token=' + TOKEN, '', {})[0] == 401)
    for path in PAGES: check(studio.ask('GET', path, headers=own)[0] == 200, path)
    status, _, headers = studio.ask('GET', '/?token=' + TOKEN, headers={})
    cookie = headers['Set-Cookie']
    check(status == 303 and headers['Location'] == '/', status, headers)
    check('HttpOnly' in cookie and 'SameSite=Strict' in cookie and TOKEN in cookie, cookie)
    check(studio.ask('GET', '/', headers={'Cookie': 'a=b; ' + cookie.split(';')[0]})[0] == 200)

def check_origin(studio):
    """Names that somebody else may have pointed here, and other pages in the same browser."""
    own = {'Authorization': 'Bearer ' + TOKEN}
    here = 'http://127.0.0.1:%d' % studio.port
    for name in ('evil.example', 'evil.example:%d' % studio.port, '127.0.0.1', '127.0.0.1:1', 'localhost.evil.example'):
        check(studio.ask('GET', '/', headers={**own, 'Host': name})[0] == 403, name)
        check(studio.ask('GET', '/?token=' + TOKEN, headers={'Host': name})[0] == 403, name)
    check(studio.ask('GET', '/', headers={**own, 'Host': 'localhost:%d' % studio.port})[0] == 200)
    for origin in ('http://evil.example', 'https://127.0.0.1:%d' % studio.port, 'http://127.0.0.1:1', 'null'):
        for method, path in (('POST', '/api/check'), ('GET', '/api/runs'), ('GET', '/api/runs/feed')):
            check(studio.ask(method, path, '{}' if method == 'POST' else None, {**own, 'Origin': origin})[0] == 403,
                  origin, path)
    check(studio.ask('POST', '/api/check', '{"text": "name: \\"x\\""}', {**own, 'Origin': here})[0] == 200)
    for site in ('cross-site', 'same-site'):
        check(studio.ask('GET', '/api/runs', headers={**own, 'Sec-Fetch-Site': site})[0] == 403, site)
    check(studio.ask('POST', '/api/check', '{}', {**own, 'Sec-Fetch-Site': 'none'})[0] == 403)
    headers = studio.ask('GET', '/')[2]
    policy = headers['Content-Security-Policy']
    check("default-src 'none'" in policy and "frame-ancestors 'none'" in policy and 'unsafe' not in policy, policy)
    check(headers['X-Content-Type-Options'] == 'nosniff' and headers['Referrer-Policy'] == 'no-referrer')
    check(headers['Access-Control-Allow-Origin'] is None)

def check_paths(studio):
    """Nothing outside is read, listed or written, whichever way it is named."""
    leads_out = ['../' + os.path.basename(outside.name) + '/secret.prototxt', outside.path('secret.prototxt'),
                 'link.prototxt', 'away/secret.prototxt',
                 'photos/../../' + os.path.basename(outside.name) + '/secret.prototxt', '/etc/passwd', 'near.prototxt',
                 'away', '..', '/', 'a/../..']
    for path in leads_out:
        for read in ('/api/text', '/api/folder', '/api/run', '/api/run/feed', '/api/run/report', '/api/run/metrics'):
            status, told, _ = studio.ask('GET', read, path=path)
            check(status in (400, 403, 404), read, path, status, told)
            check('secret"' not in str(told), read, path, told)
        text = path if path.endswith('.prototxt') else path + '/new.prototxt'
        for write, body in (('/api/text', {'path': text, 'text': 'x'}),
                            ('/api/datasets', {'name': 'x', 'source': path, 'side': 8}),
                            ('/api/sheet', {'path': path}), ('/api/runs', {'name': 'x', 'solver': path}),
                            ('/api/runs', {'name': 'x', 'solver': 'inside.prototxt', 'weights': path}),
                            ('/api/run/resume', {'path': path}), ('/api/run/stop', {'path': path}),
                            ('/api/classifier', {'name': 'x', 'data': path}),
                            ('/api/classifier', {'name': 'x', 'data': 'photos', 'from': path})):
            status, told, _ = studio.ask('POST', write, body)
            check(status in (400, 403, 404), write, body, status, told)
        check(studio.ask('POST', '/api/look', '', run=path, snapshot='x')[0] in (400, 403, 404), path)
    check(studio.ask('POST', '/api/look', '', run='photos', snapshot='../../x')[0] in (400, 403, 404))
    for name in ('../x', '.hidden', '-o', 'a/b', 'x' * 65, '', 'a b', 'a\nb', 'a\0b', 'a,b'):
        for write in '/api/datasets', '/api/runs', '/api/classifier':
            status, told, _ = studio.ask('POST', write, {'name': name, 'source': 'photos', 'solver': 'inside.prototxt',
                                                         'data': 'photos', 'side': 8})
            check(status == 400, write, name, status, told)
    check(studio.ask('POST', '/api/text', {'path': 'run.sh', 'text': 'x'})[0] == 400, 'only .prototxt is written')
    check(open(outside.path('secret.prototxt')).read() == 'name: "secret"')
    check(sorted(os.listdir(outside.name)) == ['photos', 'secret.prototxt'], os.listdir(outside.name))
    entries = [one['name'] for one in studio.get('/api/folder', path='')['entries']]
    check('away' not in entries and 'link.prototxt' not in entries and 'inside.prototxt' in entries, entries)
    check(studio.get('/api/text', path='inside.prototxt')['text'] == 'name: "inside"')
    os.mkfifo(place.path('pipe.prototxt'))
    check(studio.ask('GET', '/api/text', path='pipe.prototxt')[0] == 400, 'a pipe is not waited for')
    os.remove(place.path('pipe.prototxt'))

def check_bodies(studio):
    for body in ('', '[]', '{', 'null', '"x"', '{"text": ' + '[' * 5000 + ']' * 5000 + '}', '{"text": 3}', '\xff{'):
        check(studio.ask('POST', '/api/check', body.encode('latin-1'))[0] == 400, body[:40])
    check(studio.ask('POST', '/api/runs', {'name': 'x', 'solver': 'inside.prototxt', 'set': ['--run=/tmp']})[0] == 400)
    check(studio.ask('POST', '/api/sheet', {'path': 'photos', 'transform': {'mean_file: "/etc/passwd"': 1}})[0] == 400)
    for target in '/api/text?path=%zz', '/api/run/metrics?path=x&from=-1':
        check(studio.ask('GET', target)[0] == 400, target)
    check(studio.ask('GET', '/api/nothing')[0] == 404 and studio.ask('PUT', '/api/text')[0] == 405)
    check(studio.ask('GET', '/js/../main.cc')[0] == 404)

def check_limits(studio):
    """--max-body=1."""
    own = 'Host: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n' % (studio.port, TOKEN)
    status = lambda text: int(text.split()[1]) if text.startswith(b'HTTP/1.1 ') else None
    check(status(studio.raw(('POST /api/look HTTP/1.1\r\n%sContent-Length: 2000000\r\n\r\n' % own).encode())) == 413)
    check(status(studio.raw(('GET / HTTP/1.1\r\n%sLong: %s\r\n\r\n' % (own, 'x' * 20000)).encode())) == 400)
    check(status(studio.raw(b'\x16\x03\x01 rubbish\r\n\r\n')) == 400)
    held = [socket.create_connection(('127.0.0.1', studio.port)) for _ in range(256)]
    time.sleep(0.3)
    check(status(studio.raw(b'')) == 503, 'the 257th is refused')
    for one in held: one.close()
    time.sleep(0.3)
    feed = ('GET /api/runs/feed HTTP/1.1\r\n%s\r\n' % own).encode()
    open_feeds = []
    for _ in range(65):
        connection = socket.create_connection(('127.0.0.1', studio.port), timeout=5)
        connection.sendall(feed)
        open_feeds.append((connection, connection.recv(4096)))
    check([status(got) for _, got in open_feeds] == [200] * 64 + [503], [status(got) for _, got in open_feeds])
    for connection, _ in open_feeds: connection.close()
    time.sleep(1.5)
    with socket.create_connection(('127.0.0.1', studio.port), timeout=5) as connection:
        connection.sendall(feed)
        check(status(connection.recv(4096)) == 200, 'room again when pages are closed')

def check_start():
    for flags, words in ((['--token=short'], '16 to 256'), (['--token=' + 'x;' * 10], '16 to 256'),
                         (['--port=70000'], 'the most')):
        done = subprocess.run([exe, 'studio', place.name, *flags], capture_output=True, text=True, timeout=20)
        check(done.returncode == 2 and words in done.stderr, flags, done.returncode, done.stderr)
    done = subprocess.run([exe, 'studio', place.path('none')], capture_output=True, text=True, timeout=20)
    check(done.returncode == 5, done.returncode, done.stderr)
    one, other = Studio(exe, place.name, token=None), Studio(exe, place.name, token=None)
    check(len(one.token) == 64 and one.token != other.token, one.token)
    listening = open('/proc/%d/net/tcp' % one.process.pid).read().split('\n')[1:]
    bound = [line.split()[1] for line in listening if line and int(line.split()[1].split(':')[1], 16) == one.port]
    check(bound and all(address.startswith('0100007F:') for address in bound), 'this machine alone', bound)
    one.stop(), other.stop()

studio = Studio(exe, place.name, '--max-body=1')
for step in check_token, check_origin, check_paths, check_bodies, check_limits:
    step(studio)
    print(step.__name__, 'well')
studio.stop()
check_start()
print('check_start well')
