"""A folder with a trained net, and servers that are started in it, for the tests of this folder."""
import atexit, http.client, json, os, re, signal, subprocess, sys, tempfile, time

import numpy

sys.path.append(os.path.join(os.path.dirname(__file__), '..', 'harness'))
import sockets

NET = '''name: "small"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 8 dim: 8 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv" convolution_param { num_output: 8 kernel_size: 3 } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip" inner_product_param { num_output: 4 } }
layer { name: "prob" type: "Softmax" bottom: "ip" top: "prob" }
'''
SHAPES = {'conv': [(8, 3, 3, 3), (8,)], 'ip': [(4, 288), (4,)]}

def check(is_so, *told):
    """An assertion that says what was there instead."""
    if not is_so: raise AssertionError(' '.join(str(one) for one in told))

def weights(path, seed):
    """A file of safetensors with drawn weights for NET; returns them."""
    draw, arrays = numpy.random.default_rng(seed), {}
    for layer, shapes in SHAPES.items():
        for name, shape in zip('01', shapes):
            arrays['%s.%s' % (layer, name)] = draw.normal(0, 0.3, shape).astype(numpy.float32)
    header, data = {}, b''
    for name, array in arrays.items():
        header[name] = {'dtype': 'F32', 'shape': array.shape, 'data_offsets': [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    with open(path, 'wb') as file: file.write(len(text).to_bytes(8, 'little') + text + data)
    return arrays

def scores(arrays, images):
    """NET in plain NumPy, in doubles."""
    images = images.astype(float)
    windows = numpy.lib.stride_tricks.sliding_window_view(images, (3, 3), (2, 3))  # N C 6 6 3 3
    conv = numpy.einsum('nchwij,ocij->nohw', windows, arrays['conv.0']) + arrays['conv.1'][:, None, None]
    ip = numpy.maximum(conv, 0).reshape(len(images), -1) @ arrays['ip.0'].T.astype(float) + arrays['ip.1']
    odds = numpy.exp(ip - ip.max(1, keepdims=True))
    return odds / odds.sum(1, keepdims=True)

class Place(tempfile.TemporaryDirectory):
    """A folder of models: small, with versions as they are asked for."""
    def __init__(self):
        super().__init__()
        self.arrays = {}
        self.add_version(1)

    def path(self, *names): return os.path.join(self.name, *names)

    def add_version(self, number, model='small'):
        folder = self.path('models', model, str(number))
        os.makedirs(folder)
        open(folder + '/deploy.prototxt', 'w').write(NET)
        open(folder + '/labels.txt', 'w').write('ape\nnut\nMary\nJesus\n')
        self.arrays[number] = weights(folder + '/weights.safetensors', number)

    def tls_flags(self):
        """--tls-cert and --tls-key for localhost, made now."""
        cert, key = self.path('cert.pem'), self.path('key.pem')
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert,
                        '-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'], check=True,
                       capture_output=True)
        return ['--tls-cert=' + cert, '--tls-key=' + key]

class Server:
    """`cortado serve` on ports that are free."""
    def __init__(self, exe, *flags, models=None, scheme='http'):
        self.log = tempfile.NamedTemporaryFile('w+')
        command = [exe, 'serve', '--port=0', '--grpc-port=0', *(['--models=' + models] if models else []), *flags]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self.log)
        atexit.register(self.process.kill)  # where a test fails
        self.port = self._port(r'HTTP on %s://\S*:(\d+)$' % scheme)
        self.grpc_port = self._port(r'gRPC on \S*:(\d+)$')

    def text(self): return open(self.log.name).read()

    def _port(self, pattern):
        for _ in range(300):
            found = re.search(pattern, self.text(), re.M)
            if found: return int(found[1])
            check(self.process.poll() is None, 'the server ended:', self.text())
            time.sleep(0.05)
        raise AssertionError('no port: ' + self.text())

    def stop(self, signal_number=signal.SIGTERM, code=0):
        self.process.send_signal(signal_number)
        check(self.process.wait(20) == code, 'exit', self.process.returncode, self.text())

    def resident_kb(self):
        status = open('/proc/%d/status' % self.process.pid).read()
        return int(re.search(r'VmRSS:\s+(\d+)', status)[1])

    def descriptors(self):
        """Those open, without the file by which each thread that computes sees whether it is held up."""
        folder, count = '/proc/%d/fd' % self.process.pid, 0
        for name in os.listdir(folder):
            try: count += not os.readlink(folder + '/' + name).endswith('/schedstat')
            except FileNotFoundError: pass
        return count

    def ask(self, method, path, body=None, headers={}):
        """(status, parsed JSON or the bytes, headers) of one request on a connection of its own."""
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=20)
        connection.request(method, path, body, headers)
        return self._read(connection)

    @staticmethod
    def _read(connection):
        answer = connection.getresponse()
        content = answer.read()
        if answer.getheader('Content-Type') == 'application/json' and content: content = json.loads(content)
        connection.close()
        return answer.status, content, answer.headers

    def infer(self, images, model='small', **more):
        body = {'inputs': [{'name': 'data', 'shape': images.shape, 'datatype': 'FP32',
                            'data': images.ravel().tolist()}], **more}
        return self.ask('POST', '/v2/models/%s/infer' % model, json.dumps(body))

    def raw(self, content, wait=5): return sockets.raw(self.port, content, wait)

def images(count, seed=0): return numpy.random.default_rng(seed).normal(0, 1, (count, 3, 8, 8)).astype(numpy.float32)
