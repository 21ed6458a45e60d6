"""Requests of web pages: those of other origins and other host names are refused, listed ones get CORS headers, and
programs are served as before."""
import pytest

UNLOAD = '/v2/repository/models/none/unload'
READS = ['/', '/metrics', '/v2', '/v2/health/ready', '/v2/models/small', '/v2/models/stats', '/nothing']
WRITES = ['/v1/classify', '/v2/models/small/infer', '/v2/repository/index', '/v2/repository/models/small/load',
          '/v2/repository/models/small/unload']


def status(server, method, path, **headers):
    return server.ask(method, path, '' if method == 'POST' else None,
                      {name.replace('_', '-'): value for name, value in headers.items()})[0]


@pytest.fixture(scope='module')
def listening(start_server): return start_server('--host=0.0.0.0')


@pytest.fixture(scope='module')
def sharing(start_server):
    """A server that pages of two other origins may use."""
    return start_server('--allow-origin=https://Page.example/,http://lab.example:3000')


def test_other_pages_are_refused(server, listening):
    for one in server, listening:
        here = 'http://127.0.0.1:%d' % one.port
        for origin in ('http://evil.example', here.replace('http', 'https'), 'http://127.0.0.1:1', 'null', here + '.x'):
            for path in READS: assert status(one, 'GET', path, Origin=origin) == 403, (origin, path)
            for path in WRITES: assert status(one, 'POST', path, Origin=origin) == 403, (origin, path)
        for site in 'cross-site', 'same-site':
            assert status(one, 'POST', UNLOAD, Sec_Fetch_Site=site) == 403
            assert status(one, 'GET', '/v2', Sec_Fetch_Site=site) == 403
        assert status(one, 'GET', '/', Sec_Fetch_Site='cross-site', Sec_Fetch_Mode='navigate') == 200, 'a link'
        assert status(one, 'POST', UNLOAD, Sec_Fetch_Site='cross-site', Sec_Fetch_Mode='navigate') == 403, 'a form'
        assert one.ask('GET', '/v2/models/small/ready')[0] == 200, 'nothing was unloaded'


def test_own_page_is_served(server, listening):
    for one in server, listening:
        for name in 'localhost', '127.0.0.1', '[::1]', 'gpu', 'app.localhost', '192.168.0.7', 'LocalHost':
            host = '%s:%d' % (name, one.port)
            own = {'Host': host, 'Origin': 'http://' + host, 'Sec_Fetch_Site': 'same-origin'}
            assert status(one, 'GET', '/v2', **own) == 200, name
            assert status(one, 'POST', UNLOAD, **own) == 404, 'the model is not found, but was looked for'


def test_names_of_other_pages_are_refused(server, listening):
    """DNS rebinding: the page's own name leads to this machine."""
    for name in 'evil.example', 'evil.example:8080', '127.0.0.1.evil.example', 'localhost.evil.example', '1.2.3':
        for one in server, listening:
            assert status(one, 'POST', UNLOAD, Host=name, Origin='http://' + name) == 403, name
            assert status(one, 'GET', '/v2', Host=name, Sec_Fetch_Site='same-origin') == 403, name
        assert status(server, 'GET', '/v2', Host=name) == 403, 'old browsers send no more than Host'
    told = server.ask('GET', '/v2', headers={'Host': 'gpu.example:80'})[1]
    assert '--allow-origin=http://gpu.example:80' in told['error']


def test_programs_are_served(server, listening):
    for name in 'localhost', '127.0.0.1:%d', 'cortado', 'cortado_serve:8080', '10.0.0.3:8080', '[fe80::1]:8080':
        for one in server, listening:
            host = name % one.port if '%' in name else name
            assert status(one, 'GET', '/v2', Host=host) == 200, name
            assert status(one, 'POST', UNLOAD, Host=host) == 404, name
    for name in 'cortado.ns.svc.cluster.local:8080', 'gpu.example':
        assert status(listening, 'GET', '/v2', Host=name) == 200, name
    assert b' 200 ' in server.raw(b'GET /v2/health/live HTTP/1.0\r\n\r\n').split(b'\r\n')[0]


def test_a_token_or_tls_makes_names_safe(start_server, tmp_path):
    """Another page does not know the token, and has no certificate for its name."""
    (tmp_path / 'token').write_text('abcdefghijklmnopqrstuvwxyz\n')
    server = start_server('--host=0.0.0.0', '--token-file=%s' % (tmp_path / 'token'))
    own = {'Host': 'gpu.example', 'Origin': 'http://gpu.example', 'Authorization': 'Bearer abcdefghijklmnopqrstuvwxyz'}
    assert status(server, 'POST', UNLOAD, **own) == 404
    assert status(server, 'POST', UNLOAD, **{**own, 'Origin': 'http://evil.example'}) == 403


def test_listed_pages(sharing):
    for origin in 'https://page.example', 'http://lab.example:3000':
        page = {'Origin': origin, 'Sec-Fetch-Site': 'cross-site'}
        for method, path, wanted in ('GET', '/v2', 200), ('POST', UNLOAD, 404), ('GET', '/nothing', 404):
            code, _, headers = sharing.ask(method, path, '' if method == 'POST' else None, page)
            assert code == wanted and headers['Access-Control-Allow-Origin'] == origin and headers['Vary'] == 'Origin'
        code, _, headers = sharing.ask('OPTIONS', '/v2/models/small/infer', headers={
            **page, 'Access-Control-Request-Method': 'POST',
            'Access-Control-Request-Headers': 'authorization,content-type'})
        assert code == 204 and headers['Access-Control-Allow-Origin'] == origin
        assert 'POST' in headers['Access-Control-Allow-Methods']
        assert headers['Access-Control-Allow-Headers'] == 'authorization,content-type'
    asks = {'Access-Control-Request-Method': 'POST'}
    for origin in ('http://page.example', 'https://page.example:8443', 'https://lab.example:3000',
                   'https://x.page.example'):
        for method, more in ('POST', {}), ('OPTIONS', asks):
            code, _, headers = sharing.ask(method, UNLOAD, '', {'Origin': origin, **more})
            assert code == 403 and headers['Access-Control-Allow-Origin'] is None, origin
    assert status(sharing, 'GET', '/v2', Host='lab.example:8080') == 200, "a listed page's host is a name of the server"
    code, _, headers = sharing.ask('GET', '/v2')
    assert code == 200 and headers['Access-Control-Allow-Origin'] is None and headers['Vary'] == 'Origin'
    assert sharing.ask('OPTIONS', '/v2')[0] == 405


@pytest.mark.parametrize('value', ['*', 'page.example', 'ftp://page.example', 'https://page.example/path', 'https://',
                                   'https://a b', 'https://a:x', 'null'])
def test_origins_are_checked(run, models, value):
    run('serve', '--models=%s' % models.path, '--port=0', '--grpc-port=-1', '--allow-origin=' + value, code=2)
