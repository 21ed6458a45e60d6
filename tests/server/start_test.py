"""The start of a server: with a folder of models of which one is damaged or still being copied, and on addresses that
other machines can reach."""
import http.client, json, re, signal, subprocess, time

import pytest

from tests.cli import fixtures

NET = '''name: "small"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 2 } } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 2 } }
'''
BODY = json.dumps({'inputs': [{'name': 'data', 'shape': [1, 2], 'datatype': 'FP32', 'data': [1, 2]}]})


def add_model(folder, name):
    place = folder / name / '1'
    place.mkdir(parents=True)
    (place / 'deploy.prototxt').write_text(NET)
    fixtures.caffemodel(str(place / 'weights.caffemodel'),
                        fixtures.layer_weights('ip', 'InnerProduct', fixtures.blob([2, 2], [1, 0, 0, 1]),
                                               fixtures.blob([2], [0, 0])))
    return place


class Server:
    def __init__(self, cortado, log, *flags):
        self.log = open(log, 'w+')
        self.process = subprocess.Popen([cortado, 'serve', '--port=0', '--grpc-port=0', '--threads=1', *flags],
                                        stderr=self.log)

    def __enter__(self): return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(30) == 0

    def told(self): return open(self.log.name).read()

    def wait(self, pattern):
        until = time.monotonic() + 60
        while not re.search(pattern, self.told()):
            assert time.monotonic() < until and self.process.poll() is None, self.told()
            time.sleep(0.05)
        return re.search(pattern, self.told())

    def ask(self, method, target, body=None):
        port = int(self.wait(r'HTTP on http://\S*:(\d+)')[1])
        connection = http.client.HTTPConnection('127.0.0.1', port, timeout=30)
        connection.request(method, target, body)
        answer = connection.getresponse()
        return answer.status, answer.read()


@pytest.fixture
def serve(cortado, helper, tmp_path):
    helper('cortado-serve')
    return lambda *flags: Server(cortado, tmp_path / 'log', *flags)


DAMAGES = ('net', 'weights', 'no weights', 'no version')


def test_damaged_models_do_not_stop_the_others(serve, tmp_path):
    """They are loaded once they are whole."""
    models = tmp_path / 'models'
    add_model(models, 'good')
    places = {damage: add_model(models, damage.replace(' ', '_')) for damage in DAMAGES}
    whole = (places['net'] / 'weights.caffemodel').read_bytes()
    (places['net'] / 'deploy.prototxt').write_text('layer {')
    (places['weights'] / 'weights.caffemodel').write_bytes(whole[:-9])
    (places['no weights'] / 'weights.caffemodel').unlink()
    places['no version'].rename(models / 'no_version/coming')
    names = [place.parent.name for place in places.values()]
    with serve('--models=%s' % models) as server:
        assert server.ask('POST', '/v2/models/good/infer', BODY)[0] == 200
        assert server.ask('GET', '/v2/health/ready')[0] == 200
        states = {one['name']: one for one in json.loads(server.ask('POST', '/v2/repository/index', '')[1])}
        assert states['good']['state'] == 'READY'
        for name in names:
            assert server.ask('GET', '/v2/models/%s/ready' % name)[0] == 503
            assert states[name]['state'] != 'READY' and states[name]['reason']
            assert 'model %s cannot be loaded' % name in server.told()
        (models / 'no_version/coming').rename(places['no version'])
        (places['net'] / 'deploy.prototxt').write_text(NET)
        for damage in 'weights', 'no weights': (places[damage] / 'weights.caffemodel').write_bytes(whole)
        for name in names:
            server.wait('model %s, version 1, is served' % name)
            assert server.ask('POST', '/v2/models/%s/infer' % name, BODY)[0] == 200
            assert server.told().count('model %s cannot be loaded' % name) <= 2


def test_start_fails_if_no_model_can_be_loaded(cortado, helper, run, tmp_path):
    helper('cortado-serve')
    (add_model(tmp_path / 'models', 'bad') / 'deploy.prototxt').write_text('layer {')
    run('serve', '--models=%s' % (tmp_path / 'models'), '--port=0', '--grpc-port=-1', code=3)


@pytest.mark.parametrize('host, warns', [('127.0.0.1', False), ('0.0.0.0', True)])
def test_access_by_other_machines_is_a_warning(serve, tmp_path, host, warns):
    add_model(tmp_path / 'models', 'good')
    with serve('--models=%s' % (tmp_path / 'models'), '--host=' + host) as server:
        server.wait('HTTP on')
        assert ('need no token' in server.told()) == warns and ('without TLS' in server.told()) == warns


def test_addresses_are_decoded(serve, tmp_path):
    add_model(tmp_path / 'models', 'a-b')
    with serve('--models=%s' % (tmp_path / 'models')) as server:
        for path in ('/v2/models/a%2db/ready', '/v2/%6dodels/%61-b/ready'): assert server.ask('GET', path)[0] == 200
        for code, name in ((404, 'a%2Fb'), (400, 'a%zz'), (400, 'a%'), (404, '%2e%2e'), (404, 'a%00')):
            assert server.ask('GET', '/v2/models/%s/ready' % name)[0] == code, name
