"""Random ONNX models (random_graphs.py): the program returns ONNX Runtime's results, or refuses the model.

Skipped if no Python with ONNX Runtime is found: this one, $CORTADO_RUNTIME_PYTHON or build/bench-venv, which
scripts/bench.sh creates. --seed=N runs other models, --rounds=N more.
"""
import os, subprocess, sys

import pytest

from tests.onnx.random_graphs import RandomGraph
from tests.onnx.random_weights import numpy, onnx

TOLERANCE = 1e-3  # relative to the largest value
LEAST_READ = 0.6  # part of the models that must not be refused

# Runs each model of the current folder, and writes its outputs to FILE.npz, or the error to FILE.error.
RUNTIME = '''
import glob, numpy, onnxruntime
onnxruntime.set_default_logger_severity(4)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
for model in glob.glob('*.onnx'):
    name = model[:-5]
    try:
        session = onnxruntime.InferenceSession(model, options, providers=['CPUExecutionProvider'])
        outputs = [output.name for output in session.get_outputs()]
        given = {each.name: numpy.load(name + '.npy') for each in session.get_inputs()}
        numpy.savez(name + '.npz', **dict(zip(outputs, session.run(outputs, given))))
    except Exception as error:
        open(name + '.error', 'w').write(str(error))
'''


@pytest.fixture(scope='module')
def python_with_runtime(source):
    places = [sys.executable, os.environ.get('CORTADO_RUNTIME_PYTHON'), source + '/build/bench-venv/bin/python']
    for python in filter(None, places):
        if not os.path.exists(python): continue
        done = subprocess.run([python, '-c', 'import onnxruntime, numpy'], capture_output=True)
        if done.returncode == 0: return python
    pytest.skip('no Python with ONNX Runtime')


def far_from(got, expected):
    """What is wrong with a result, or ''. Values that are not finite must be in the same places."""
    if got.shape != expected.shape: return 'shape %s, not %s' % (got.shape, expected.shape)
    finite = numpy.isfinite(expected)
    if (numpy.isfinite(got) != finite).any(): return 'other values are not finite'
    if not finite.any(): return ''
    distance = abs(got[finite] - expected[finite]).max() / max(1e-6, abs(expected[finite]).max())
    return '' if distance < TOLERANCE else 'relative error %.2g' % distance


def answer(cortado, name, outputs):
    """(outputs of the program, error)"""
    words = [cortado, 'infer', '--force', '--model=%s.onnx' % name, '--input=x=%s.npy' % name]
    words += ['--output=%s=%s_%d.npy' % (output, name, i) for i, output in enumerate(outputs)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    if done.returncode: return None, (done.returncode, done.stderr)
    return [numpy.load('%s_%d.npy' % (name, i)) for i in range(len(outputs))], None


def fault_of(graph, name, cortado, refused):
    got, failure = answer(cortado, name, graph.outputs)
    if failure:
        refused.append(failure[1].strip().splitlines()[0] if failure[1].strip() else '')
        return '' if failure[0] == 3 else 'exit %d: %s' % failure
    if os.path.exists(name + '.error'): return ''  # a model that ONNX Runtime refuses
    expected = numpy.load(name + '.npz')
    for output, values in zip(graph.outputs, got):
        wrong = far_from(values, expected[output])
        if wrong: return '%s: %s' % (output, wrong)
    return ''


def test_the_program_agrees_with_onnx_runtime(folder, cortado, python_with_runtime, seed, request):
    rounds = request.config.getoption('--rounds') or 40
    graphs = {}
    for i in range(rounds):
        graph = RandomGraph(seed * 100000 + i)
        if not graph.nodes: continue
        graphs['m%d' % i] = graph
        onnx.save(graph.model(graph.outputs), 'm%d.onnx' % i)
        numpy.save('m%d.npy' % i, graph.x)
    subprocess.run([python_with_runtime, '-c', RUNTIME], check=True, timeout=300)
    faults, refused = [], []
    for name, graph in graphs.items():
        fault = fault_of(graph, name, cortado, refused)
        if fault:
            nodes = ' '.join('%s(%s)' % (node.op_type, ', '.join(node.input)) for node in graph.nodes)
            faults.append('model %d: %s\n  opset %d, x %s: %s' % (
                seed * 100000 + int(name[1:]), fault, graph.opset, graph.x.shape, nodes))
    print('%d models compared, %d refused, %d faults' % (len(graphs) - len(refused), len(refused), len(faults)))
    for why in sorted(set(refused)): print('  refused:', why)
    assert not faults, '\n'.join(faults)
    assert len(refused) <= (1 - LEAST_READ) * len(graphs)
