#!/usr/bin/python3
"""What a server refuses over gRPC: tokens, TLS, sizes, deadlines, full queues, rubbish; calls that are cancelled; its
end while calls are under way. Skipped without Triton's client (scripts/test_venv.sh).

    grpc_limits.py CORTADO VENV
"""
import os, sys

from test_venv import enter

exe, venv = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
enter(venv)

import signal, socket, threading, time

import grpc
from tritonclient.grpc import service_pb2 as messages, service_pb2_grpc as calls

from serving import Place, Server, check, images

place = Place()
Code = grpc.StatusCode

def stub_of(server, **options): return calls.GRPCInferenceServiceStub(
    grpc.insecure_channel('127.0.0.1:%d' % server.grpc_port, **options))

def request(rows=1, shape=None, content=None, model='small'):
    message = messages.ModelInferRequest(model_name=model)
    message.inputs.add(name='data', datatype='FP32', shape=shape or [rows, 3, 8, 8])
    message.raw_input_contents.append(images(rows).tobytes() if content is None else content)
    return message

def code_of(call, *arguments, **options):
    try: call(*arguments, **options)
    except grpc.RpcError as error: return error.code()
    return Code.OK

def check_requests():
    server = Server(exe, '--max-body=1', models=place.path('models'))
    stub = stub_of(server)
    without = request()
    without.raw_input_contents.clear()
    twice = request()
    twice.inputs.add(name='data', datatype='FP32', shape=[1, 3, 8, 8])
    twice.raw_input_contents.append(twice.raw_input_contents[0])
    for wanted, message in [
            (Code.OK, request()), (Code.INVALID_ARGUMENT, request(17)), (Code.INVALID_ARGUMENT, without),
            (Code.INVALID_ARGUMENT, twice), (Code.INVALID_ARGUMENT, request(shape=[1 << 60, 1 << 60, 8, 8])),
            (Code.INVALID_ARGUMENT, request(shape=[-1, 3, 8, 8])), (Code.INVALID_ARGUMENT, request(shape=[0, 3, 8, 8])),
            (Code.INVALID_ARGUMENT, request(content=b'x')), (Code.NOT_FOUND, request(model='../small')),
            (Code.INVALID_ARGUMENT, messages.ModelInferRequest(model_name='small')),
            (Code.RESOURCE_EXHAUSTED, request(content=b'x' * (2 << 20)))]:
        check(code_of(stub.ModelInfer, message) == wanted, wanted, str(message)[:200])
    os.kill(server.process.pid, signal.SIGSTOP)  # a server that is late
    os.waitpid(server.process.pid, os.WUNTRACED)
    late = [stub.ModelInfer.future(request(), timeout=0.2) for _ in range(5)]
    check({one.exception().code() for one in late} == {Code.DEADLINE_EXCEEDED})
    os.kill(server.process.pid, signal.SIGCONT)
    numbers = request()
    numbers.raw_input_contents.clear()
    numbers.inputs[0].contents.fp32_contents.extend([0] * 192)
    check(len(stub.ModelInfer(numbers).outputs[0].contents.fp32_contents) == 4)
    with socket.create_connection(('127.0.0.1', server.grpc_port)) as rubbish: rubbish.sendall(os.urandom(5000))
    server.stop()

def check_cancelled_and_busy():
    """More calls at once than the queue takes: each is answered or told to come again; cancelled ones leave nothing."""
    server = Server(exe, '--queue=4', '--max-batch=1', models=place.path('models'))
    stub = stub_of(server)
    for _ in range(20):
        futures = [stub.ModelInfer.future(request()) for _ in range(50)]
        for future in futures[::2]: future.cancel()
        codes = {future.exception().code() if future.exception() else Code.OK for future in futures[1::2]}
        check(codes <= {Code.OK, Code.RESOURCE_EXHAUSTED}, codes)
    check(code_of(stub.ModelInfer, request()) == Code.OK)
    server.stop()

def check_secrets():
    token = 'abcdefghijklmnopqrstuvwxyz'
    with open(place.path('token'), 'w') as file: file.write(token)
    server = Server(exe, '--token-file=' + place.path('token'), *place.tls_flags(), models=place.path('models'),
                    scheme='https')
    trusted = grpc.ssl_channel_credentials(open(place.path('cert.pem'), 'rb').read())
    stub = calls.GRPCInferenceServiceStub(grpc.secure_channel('localhost:%d' % server.grpc_port, trusted))
    check(stub.ServerReady(messages.ServerReadyRequest()).ready)
    for metadata in (), (('authorization', 'Bearer ' + token[:-1] + 'x'),), (('authorization', token),):
        check(code_of(stub.ModelInfer, request(), metadata=metadata) == Code.UNAUTHENTICATED)
        check(code_of(stub.RepositoryModelUnload, messages.RepositoryModelUnloadRequest(model_name='small'),
                      metadata=metadata) == Code.UNAUTHENTICATED)
        check(code_of(stub.ModelMetadata, messages.ModelMetadataRequest(name='small'),
                      metadata=metadata) == Code.UNAUTHENTICATED)
    check(code_of(stub.ModelInfer, request(), metadata=(('authorization', 'Bearer ' + token),)) == Code.OK)
    check(code_of(stub_of(server).ServerLive, messages.ServerLiveRequest(), timeout=5) == Code.UNAVAILABLE)
    server.stop()

def check_end():
    """Calls that gRPC has taken but no method has begun end as cancelled then; those begun are answered."""
    server = Server(exe, models=place.path('models'))
    codes = []
    def ask():
        stub = stub_of(server)
        for _ in range(2000):
            codes.append(code_of(stub.ModelInfer, request(8)))
            if codes[-1] != Code.OK: return
    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads: thread.start()
    time.sleep(0.5)
    server.stop()
    for thread in threads: thread.join()
    check(codes.count(Code.OK) > 8 and set(codes) <= {Code.OK, Code.UNAVAILABLE, Code.CANCELLED},
          set(codes))

for step in check_requests, check_cancelled_and_busy, check_secrets, check_end:
    step()
    print(step.__name__, 'well')
