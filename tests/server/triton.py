#!/usr/bin/python3
"""Triton's own clients, unmodified, over HTTP and gRPC: what they are told must be triton.txt, line by line, and scores
NumPy's. Skipped without the clients (scripts/test_venv.sh).

    triton.py CORTADO VENV
"""
import os, sys

from test_venv import enter

exe, venv = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
enter(venv)

import numpy
import tritonclient.grpc, tritonclient.http
from google.protobuf import descriptor_pb2, json_format
from tritonclient.grpc import model_config_pb2, service_pb2
from tritonclient.utils import InferenceServerException

from serving import Place, Server, check, images, scores

place = Place()
server = Server(exe, models=place.path('models'))
said = []

def tell(*words):
    said.append(' '.join(str(word) for word in words))
    print(said[-1])

def plain(answer):
    return answer if isinstance(answer, (dict, list)) else json_format.MessageToDict(
        answer, preserving_proto_field_name=True)

def refused(call, *arguments, **options):
    try: call(*arguments, **options)
    except InferenceServerException as error: tell('refused:', error.status(), error.message())
    else: raise AssertionError('not refused')

def ask(library, client, binary, wants_binary):
    batch = images(3, 4)
    tensor = library.InferInput('data', batch.shape, 'FP32')
    output = library.InferRequestedOutput('prob')
    if library is tritonclient.http:
        tensor.set_data_from_numpy(batch, binary_data=binary)
        output = library.InferRequestedOutput('prob', binary_data=wants_binary)
    else:
        tensor.set_data_from_numpy(batch)
    result = client.infer('small', [tensor], outputs=[output], request_id='4', model_version='1')
    got = result.as_numpy('prob')
    check(abs(got - scores(place.arrays[1], batch)).max() < 1e-5, got)
    response = plain(result.get_response())
    tell('infer', 'binary' if binary else 'JSON', got.shape, response['model_name'], response['id'],
         got.argmax(1).tolist())

def talk(library, client):
    tell('==', library.__name__)
    tell('live', client.is_server_live(), 'ready', client.is_server_ready(), client.is_model_ready('small'))
    tell(plain(client.get_server_metadata()) | {'version': '*'})
    tell(plain(client.get_model_metadata('small')))
    tell(plain(client.get_model_config('small')))
    forms = [(True, True), (False, False), (True, False)] if library is tritonclient.http else [(True, True)]
    for form in forms: ask(library, client, *form)
    tensor = library.InferInput('data', [1, 3, 8, 8], 'FP32')
    tensor.set_data_from_numpy(images(1))
    check(client.infer('small', [tensor]).as_numpy('prob').shape == (1, 4))
    refused(client.infer, 'none', [tensor])
    refused(client.infer, 'small', [tensor], model_version='9')
    refused(client.infer, 'small', [tensor], outputs=[library.InferRequestedOutput('none')])
    refused(client.infer, 'small', [])
    tensor = library.InferInput('data', [1, 3, 8, 7], 'FP32')
    tensor.set_data_from_numpy(images(1)[..., :7])
    refused(client.infer, 'small', [tensor])
    tensor = library.InferInput('data', [1, 3, 8, 8], 'FP64')
    tensor.set_data_from_numpy(images(1).astype(float))
    refused(client.infer, 'small', [tensor])
    counts = plain(client.get_inference_statistics('small'))['model_stats'][0]
    tell('executed', int(counts['execution_count']) >= 2, sorted(counts['inference_stats'])[:3])
    client.unload_model('small')
    tell('unloaded', plain(client.get_model_repository_index()), client.is_model_ready('small'))
    client.load_model('small')
    tell('loaded', plain(client.get_model_repository_index()), client.is_model_ready('small'))
    refused(client.load_model, 'none')
    refused(client.load_model, 'small', config='{}')

def check_async():
    """Sixty-four requests at once over one gRPC connection."""
    import queue
    done = queue.Queue()
    client = tritonclient.grpc.InferenceServerClient('127.0.0.1:%d' % server.grpc_port)
    wanted = {}
    for i in range(64):
        batch = images(1, i)
        wanted[str(i)] = scores(place.arrays[1], batch)
        tensor = tritonclient.grpc.InferInput('data', batch.shape, 'FP32')
        tensor.set_data_from_numpy(batch)
        client.async_infer('small', [tensor], lambda result, error: done.put((result, error)), request_id=str(i))
    for _ in range(64):
        result, error = done.get(timeout=20)
        check(error is None, error)
        check(abs(result.as_numpy('prob') - wanted[result.get_response().id]).max() < 1e-5)
    tell('64 calls at once over gRPC')

def fields(message, prefix, found):
    for field in message.field:
        found['%s.%s' % (prefix, field.name)] = (field.number, field.type, field.label, field.type_name)
    for inner in message.nested_type: fields(inner, '%s.%s' % (prefix, inner.name), found)

def shape_of(file):
    """Every field's number and type, every call and every enum's value of a file's descriptor."""
    found = {}
    for message in file.message_type: fields(message, message.name, found)
    for service in file.service:
        for call in service.method: found[service.name + '.' + call.name] = (call.input_type, call.output_type)
    for enum in file.enum_type:
        for value in enum.value: found[enum.name + '.' + value.name] = value.number
    return found

def check_schema():
    """Ours is a part of the published one, but for a stream's call."""
    import subprocess
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../server/grpc')
    subprocess.run(['protoc', '-I' + source, '--descriptor_set_out=' + place.path('ours.bin'), 'inference.proto'],
                   check=True)
    ours = descriptor_pb2.FileDescriptorSet.FromString(open(place.path('ours.bin'), 'rb').read()).file[0]
    published = {}
    for module in service_pb2, model_config_pb2:
        theirs = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(theirs)
        published.update(shape_of(theirs))
    mine = shape_of(ours)
    wrong = {name: (what, published.get(name)) for name, what in mine.items() if published.get(name) != what}
    check(not wrong and len(mine) > 100, wrong)
    missing = {name for name in published if name.startswith('GRPCInferenceService.')} - set(mine)
    check(missing == {'GRPCInferenceService.' + name for name in (
        'ModelStreamInfer', 'SystemSharedMemoryStatus', 'SystemSharedMemoryRegister', 'SystemSharedMemoryUnregister',
        'CudaSharedMemoryStatus', 'CudaSharedMemoryRegister', 'CudaSharedMemoryUnregister', 'TraceSetting',
        'LogSettings')}, missing)
    tell('the schema is a part of the published one')

talk(tritonclient.http, tritonclient.http.InferenceServerClient('127.0.0.1:%d' % server.port))
talk(tritonclient.grpc, tritonclient.grpc.InferenceServerClient('127.0.0.1:%d' % server.grpc_port))
check_async()
check_schema()
server.stop()
wanted = open(os.path.splitext(os.path.abspath(__file__))[0] + '.txt').read().splitlines()
for got, line in zip(said, wanted): check(got == line, '\n' + got + '\nand not\n' + line)
check(len(said) == len(wanted), len(said), 'lines and not', len(wanted))
