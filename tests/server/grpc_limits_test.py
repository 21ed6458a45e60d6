"""Requests that the server refuses over gRPC: tokens, TLS, sizes, deadlines, full queues, random bytes; cancelled
calls; its exit during calls. Skipped without Triton's client (scripts/dev/test_venv.sh)."""
import os, pathlib, signal, socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.harness.venv import use_venv
from tests.harness.waiting import wait_until
from tests.server.serving import images

use_venv()
pytest.importorskip('tritonclient.grpc')
import grpc
from tritonclient.grpc import service_pb2 as messages, service_pb2_grpc as calls

Code = grpc.StatusCode


def stub_of(server):
    return calls.GRPCInferenceServiceStub(grpc.insecure_channel('127.0.0.1:%d' % server.grpc_port))


def request(rows=1, shape=None, content=None, model='small'):
    message = messages.ModelInferRequest(model_name=model)
    message.inputs.add(name='data', datatype='FP32', shape=shape or [rows, 3, 8, 8])
    message.raw_input_contents.append(images(rows).tobytes() if content is None else content)
    return message


def without_content():
    message = request()
    message.raw_input_contents.clear()
    return message


def twice():
    message = request()
    message.MergeFrom(messages.ModelInferRequest(inputs=message.inputs, raw_input_contents=message.raw_input_contents))
    return message


def code_of(call, *arguments, **options):
    try: call(*arguments, **options)
    except grpc.RpcError as error: return error.code()
    return Code.OK


@pytest.fixture(scope='module')
def server(start_server):
    return start_server('--max-body=1')


@pytest.mark.parametrize('code, message', [
    (Code.OK, request()), (Code.INVALID_ARGUMENT, request(17)), (Code.INVALID_ARGUMENT, without_content()),
    (Code.INVALID_ARGUMENT, twice()), (Code.INVALID_ARGUMENT, request(shape=[1 << 60, 1 << 60, 8, 8])),
    (Code.INVALID_ARGUMENT, request(shape=[-1, 3, 8, 8])), (Code.INVALID_ARGUMENT, request(shape=[0, 3, 8, 8])),
    (Code.INVALID_ARGUMENT, request(content=b'x')), (Code.NOT_FOUND, request(model='../small')),
    (Code.INVALID_ARGUMENT, messages.ModelInferRequest(model_name='small')),
    (Code.RESOURCE_EXHAUSTED, request(content=b'x' * (2 << 20)))])
def test_requests(server, code, message):
    assert code_of(stub_of(server).ModelInfer, message) == code


def test_deadlines(server):
    stub = stub_of(server)
    os.kill(server.process.pid, signal.SIGSTOP)  # a stopped server misses deadlines
    try:
        os.waitpid(server.process.pid, os.WUNTRACED)
        late = [stub.ModelInfer.future(request(), timeout=0.2) for _ in range(5)]
        assert {one.exception().code() for one in late} == {Code.DEADLINE_EXCEEDED}
    finally: os.kill(server.process.pid, signal.SIGCONT)


def test_numbers_in_messages(server):
    numbers = without_content()
    numbers.inputs[0].contents.fp32_contents.extend([0] * 192)
    assert len(stub_of(server).ModelInfer(numbers).outputs[0].contents.fp32_contents) == 4


def test_rubbish(start_server):
    server = start_server()
    with socket.create_connection(('127.0.0.1', server.grpc_port)) as rubbish: rubbish.sendall(os.urandom(5000))
    server.stop()


def test_cancelled_and_busy(start_server):
    """More calls than the queue holds: each is answered or refused as busy; cancelled ones leave no state."""
    stub = stub_of(start_server('--queue=4', '--max-batch=1'))
    for _ in range(20):
        futures = [stub.ModelInfer.future(request()) for _ in range(50)]
        for future in futures[::2]: future.cancel()
        codes = {future.exception().code() if future.exception() else Code.OK for future in futures[1::2]}
        assert codes <= {Code.OK, Code.RESOURCE_EXHAUSTED}
    assert code_of(stub.ModelInfer, request()) == Code.OK


def test_secrets(start_server, tls, tmp_path):
    token = 'abcdefghijklmnopqrstuvwxyz'
    (tmp_path / 'token').write_text(token)
    server = start_server('--token-file=%s' % (tmp_path / 'token'), *tls.flags, scheme='https')
    trusted = grpc.ssl_channel_credentials(pathlib.Path(tls.cert).read_bytes())
    stub = calls.GRPCInferenceServiceStub(grpc.secure_channel('localhost:%d' % server.grpc_port, trusted))
    assert stub.ServerReady(messages.ServerReadyRequest()).ready
    for metadata in (), (('authorization', 'Bearer ' + token[:-1] + 'x'),), (('authorization', token),):
        for call, message in ((stub.ModelInfer, request()),
                              (stub.RepositoryModelUnload, messages.RepositoryModelUnloadRequest(model_name='small')),
                              (stub.ModelMetadata, messages.ModelMetadataRequest(name='small'))):
            assert code_of(call, message, metadata=metadata) == Code.UNAUTHENTICATED
    assert code_of(stub.ModelInfer, request(), metadata=(('authorization', 'Bearer ' + token),)) == Code.OK
    assert code_of(stub_of(server).ServerLive, messages.ServerLiveRequest(), timeout=5) == Code.UNAVAILABLE


def test_end(start_server):
    """Calls that gRPC has accepted but no method has started are cancelled; started ones are answered."""
    server, codes = start_server(), []
    def ask(_):
        stub = stub_of(server)
        for _ in range(2000):
            codes.append(code_of(stub.ModelInfer, request(8)))
            if codes[-1] != Code.OK: return
    with ThreadPoolExecutor(4) as pool:
        asked = pool.map(ask, range(4))
        wait_until(lambda: codes.count(Code.OK) > 8, 'answers')
        server.stop()
        list(asked)
    assert set(codes) <= {Code.OK, Code.UNAVAILABLE, Code.CANCELLED}
