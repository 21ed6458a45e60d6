"""Triton's own clients, unmodified, over HTTP and gRPC: their results must equal triton.txt, line by line, and scores
those of NumPy. Skipped without the clients (scripts/dev/test_venv.sh)."""
import importlib, pathlib, queue

import pytest

from tests.harness.venv import use_venv
from tests.server.serving import images, scores

use_venv()
pytest.importorskip('tritonclient.grpc')
from google.protobuf import descriptor_pb2, json_format
from tritonclient.grpc import model_config_pb2, service_pb2
from tritonclient.utils import InferenceServerException


class Talk:
    """The results of a client of `library`, as lines in `said`."""
    def __init__(self, name, server, models):
        self.library, self.models = importlib.import_module('tritonclient.' + name), models
        port = server.port if name == 'http' else server.grpc_port
        self.client, self.said = self.library.InferenceServerClient('127.0.0.1:%d' % port), []

    def tell(self, *words): self.said.append(' '.join(str(word) for word in words))

    def refused(self, call, *arguments, **options):
        with pytest.raises(InferenceServerException) as error: call(*arguments, **options)
        self.tell('refused:', error.value.status(), error.value.message())

    def tensor(self, batch, datatype='FP32', **form):
        made = self.library.InferInput('data', batch.shape, datatype)
        made.set_data_from_numpy(batch, **form)
        return made

    def infer(self, **forms):
        """`forms`: binary_data of the input and of the output, if the library supports it."""
        batch, (sent, wanted) = images(3, 4), [{'binary_data': form} for form in forms.values()] or [{}, {}]
        result = self.client.infer('small', [self.tensor(batch, **sent)], request_id='4', model_version='1',
                                   outputs=[self.library.InferRequestedOutput('prob', **wanted)])
        got = result.as_numpy('prob')
        assert abs(got - scores(self.models.arrays[1], batch)).max() < 1e-5
        response = plain(result.get_response())
        self.tell('infer', 'binary' if forms.get('sent', True) else 'JSON', got.shape, response['model_name'],
                  response['id'], got.argmax(1).tolist())


def plain(answer):
    return answer if isinstance(answer, (dict, list)) else json_format.MessageToDict(
        answer, preserving_proto_field_name=True)


@pytest.mark.parametrize('name', ['http', 'grpc'])
def test_talk(server, models, name):
    talk = Talk(name, server, models)
    client, tell, refused = talk.client, talk.tell, talk.refused
    tell('live', client.is_server_live(), 'ready', client.is_server_ready(), client.is_model_ready('small'))
    tell(plain(client.get_server_metadata()) | {'version': '*'})
    tell(plain(client.get_model_metadata('small')))
    tell(plain(client.get_model_config('small')))
    if name == 'grpc': talk.infer()
    else:
        for sent, wanted in (True, True), (False, False), (True, False): talk.infer(sent=sent, wanted=wanted)
    tensor = talk.tensor(images(1))
    assert client.infer('small', [tensor]).as_numpy('prob').shape == (1, 4)
    refused(client.infer, 'none', [tensor])
    refused(client.infer, 'small', [tensor], model_version='9')
    refused(client.infer, 'small', [tensor], outputs=[talk.library.InferRequestedOutput('none')])
    refused(client.infer, 'small', [])
    refused(client.infer, 'small', [talk.tensor(images(1)[..., :7])])
    refused(client.infer, 'small', [talk.tensor(images(1).astype(float), 'FP64')])
    counts = plain(client.get_inference_statistics('small'))['model_stats'][0]
    tell('executed', int(counts['execution_count']) >= 2, sorted(counts['inference_stats'])[:3])
    client.unload_model('small')
    tell('unloaded', plain(client.get_model_repository_index()), client.is_model_ready('small'))
    client.load_model('small')
    tell('loaded', plain(client.get_model_repository_index()), client.is_model_ready('small'))
    refused(client.load_model, 'none')
    refused(client.load_model, 'small', config='{}')
    wanted = pathlib.Path(__file__).with_name('triton.txt').read_text().split('== tritonclient.%s\n' % name)[1]
    assert talk.said == wanted.split('\n==')[0].splitlines()


def test_many_calls_at_once(server, models):
    """Sixty-four concurrent requests over one gRPC connection."""
    talk, done = Talk('grpc', server, models), queue.Queue()
    for i in range(64):
        talk.client.async_infer('small', [talk.tensor(images(1, i))], request_id=str(i),
                                callback=lambda result, error: done.put((result, error)))
    for _ in range(64):
        result, error = done.get(timeout=20)
        assert error is None
        wanted = scores(models.arrays[1], images(1, int(result.get_response().id)))
        assert abs(result.as_numpy('prob') - wanted).max() < 1e-5


def fields(message, prefix, found):
    for field in message.field:
        found['%s.%s' % (prefix, field.name)] = (field.number, field.type, field.label, field.type_name)
    for inner in message.nested_type: fields(inner, '%s.%s' % (prefix, inner.name), found)


def shape_of(file):
    """The number and type of every field, every call, and every enum value of a file descriptor."""
    found = {}
    for message in file.message_type: fields(message, message.name, found)
    for service in file.service:
        for call in service.method: found[service.name + '.' + call.name] = (call.input_type, call.output_type)
    for enum in file.enum_type:
        for value in enum.value: found[enum.name + '.' + value.name] = value.number
    return found


def test_schema(source, run, tmp_path):
    """Our schema is a subset of the published one; the missing calls are known."""
    path = tmp_path / 'ours.bin'
    run('-I%s/serving/server/models' % source, '--descriptor_set_out=%s' % path, 'inference.proto', program='protoc')
    mine = shape_of(descriptor_pb2.FileDescriptorSet.FromString(path.read_bytes()).file[0])
    published = {}
    for module in service_pb2, model_config_pb2:
        published.update(shape_of(descriptor_pb2.FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)))
    wrong = {name: (what, published.get(name)) for name, what in mine.items() if published.get(name) != what}
    assert not wrong and len(mine) > 100
    missing = {name for name in published if name.startswith('GRPCInferenceService.')} - set(mine)
    assert missing == {'GRPCInferenceService.' + name for name in (
        'ModelStreamInfer', 'SystemSharedMemoryStatus', 'SystemSharedMemoryRegister', 'SystemSharedMemoryUnregister',
        'CudaSharedMemoryStatus', 'CudaSharedMemoryRegister', 'CudaSharedMemoryUnregister', 'TraceSetting',
        'LogSettings')}
