"""Runs an ONNX model with ONNX Runtime, for `cortado convert onnx --verify`.

    run_onnx.py MODEL FOLDER SETS

FOLDER/inputs lists the names of inputs, one a line. For each set S in 0 ... SETS - 1 reads FOLDER/S.in0.npy, ... and
writes FOLDER/S.out0.npy, ...; sets whose shapes the model does not accept are left out. Inputs that the model reads in
another type are replaced by what that type keeps of them. FOLDER/outputs receives the names of the outputs and
FOLDER/version ONNX Runtime's version. Exits 3 if this Python has no ONNX Runtime.
"""
import sys

try:
    import numpy
    import onnxruntime
except ImportError:
    sys.exit(3)


def accepts(declared, shape):
    return len(declared) == len(shape) and all(
        not isinstance(extent, int) or extent == have for extent, have in zip(declared, shape))


def main(model, folder, sets):
    onnxruntime.set_default_logger_severity(3)
    session = onnxruntime.InferenceSession(model, providers=['CPUExecutionProvider'])
    types = {'tensor(%s)' % kind: numpy.dtype(kind) for kind in ('int32', 'int64', 'uint8', 'int8', 'bool', 'double')}
    types['tensor(float)'], types['tensor(float16)'] = numpy.dtype('f4'), numpy.dtype('f2')
    declared = {value.name: value for value in session.get_inputs()}
    with open(folder + '/inputs') as file: names = file.read().splitlines()
    for k in range(int(sets)):
        arrays = {name: numpy.load('%s/%d.in%d.npy' % (folder, k, i)) for i, name in enumerate(names)}
        arrays = {name: array for name, array in arrays.items() if name in declared}
        if not all(accepts(declared[name].shape, array.shape) for name, array in arrays.items()): continue
        arrays = {name: array.astype(types[declared[name].type]) for name, array in arrays.items()}
        for i, name in enumerate(names):
            if name in arrays: numpy.save('%s/%d.in%d.npy' % (folder, k, i), arrays[name].astype('f4'))
        for i, output in enumerate(session.run(None, arrays)):
            numpy.save('%s/%d.out%d.npy' % (folder, k, i), numpy.asarray(output, 'f4'))
    with open(folder + '/outputs', 'w') as file: file.write('\n'.join(value.name for value in session.get_outputs()))
    with open(folder + '/version', 'w') as file: file.write(onnxruntime.__version__)


main(*sys.argv[1:])
