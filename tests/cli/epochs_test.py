"""Lengths in epochs with every type of data layer: they count the records, or are an error at the field, in `check` and
in `train`. A training of 0 iterations would look like one that succeeded."""
import json, re, shutil

import cv2, numpy, pytest

# What follows reads files that no command writes, so it has no dataset here. tests/layers/ has some of each.
WITHOUT_DATASET = {'AnnotatedData', 'BoxData', 'CPMData', 'DetectionData', 'EvalData', 'ImageGtData', 'MatRead',
                   'VideoSegmentationData', 'VideoWithVoxelTruthData'}
PAIRS = 'dense_image_data_param { source: "pairs" batch_size: 4 }'

# The layer after its type and tops; the number of records, or None if it is unknown.
LAYERS = {
    'Data': (2, 'data_param { source: "db" backend: LMDB batch_size: 4 }', 10),
    'ImageData': (2, 'image_data_param { source: "list" batch_size: 4 }', 10),
    'DenseImageData': (2, PAIRS, 10),
    'ImageSegData': (2, 'transform_param { crop_size: 8 } image_data_param { source: "pairs" batch_size: 4 label_type: '
                        'PIXEL }', 10),
    'ImageLabelmapData': (2, 'image_data_param { source: "pairs" batch_size: 1 }', 10),
    'WindowSegData': (2, 'transform_param { crop_size: 8 } '
                      'image_data_param { source: "segments" batch_size: 4 '
                      'label_type: PIXEL new_height: 9 new_width: 9 }', 10),
    'VideoData': (2, 'video_data_param { source: "clips_list" batch_size: 4 new_length: 2 use_image: true }', 10),
    'WindowData': (2, 'transform_param { crop_size: 8 } window_data_param { source: "windows" batch_size: 4 '
                      'fg_threshold: 0.5 bg_threshold: 0.5 fg_fraction: 0.5 }', None),
    'HDF5Data': (2, 'hdf5_data_param { source: "files" batch_size: 4 }', None),
    'DummyData': (1, 'dummy_data_param { shape { dim: 4 dim: 3 } }', None),
    'MemoryData': (2, 'memory_data_param { batch_size: 4 channels: 1 height: 2 width: 2 }', None),
}
FIELDS = {'max_epoch': 'max_epoch: 3', 'test_epoch': 'max_iter: 2 test_interval: 1 test_epoch: true'}


@pytest.fixture(scope='module')
def place(tmp_path_factory, run):
    place = tmp_path_factory.mktemp('epochs')
    for i in range(10):
        image = numpy.full((12, 12, 3), 20 * i, numpy.uint8)
        for name in ('photos/%s/%d.png' % ('ab'[i % 2], i), 'maps/%d.png' % i, 'clips/%d/000001.jpg' % i,
                     'clips/%d/000002.jpg' % i):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            cv2.imwrite(str(place / name), image[:, :, 0] % 2 if name.startswith('maps') else image)
    def write(name, line): (place / name).write_text(''.join(line(i) + '\n' for i in range(10)))
    def photo(i): return 'photos/%s/%d.png' % ('ab'[i % 2], i)
    write('list', lambda i: '%s %d' % (photo(i), i % 2))
    write('pairs', lambda i: '%s maps/%d.png' % (photo(i), i))
    write('segments', lambda i: '%s maps/%d.png 0 0 9 9' % (photo(i), i))
    write('clips_list', lambda i: 'clips/%d 1 %d' % (i, i % 2))
    write('windows', lambda i: '# %d\n%s\n3\n12\n12\n2\n1 0.9 1 1 9 9\n0 0.1 2 2 8 8' % (i, photo(i)))
    run('convert', 'folder', 'photos', '-o', 'db', cwd=place)
    return place


def write_project(place, type, options):
    tops, text, _ = LAYERS[type]
    names = ['t%d' % i for i in range(tops)]
    (place / 'net.prototxt').write_text('''
layer { name: "data" type: "%s" %s %s }
layer { name: "silence" type: "Silence" %s }
layer { name: "numbers" type: "DummyData" top: "x" top: "y"
  dummy_data_param { shape { dim: 2 dim: 3 } shape { dim: 2 dim: 1 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip" inner_product_param { num_output: 1 } }
layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "y" top: "loss" }
''' % (type, ' '.join('top: "%s"' % name for name in names), text, ' '.join('bottom: "%s"' % name for name in names)))
    (place / 'solver.prototxt').write_text('net: "net.prototxt" base_lr: 0.01 lr_policy: "fixed"\n%s\n'
                                           'snapshot_prefix: "out/s"\n' % options)


def test_every_data_layer_is_listed(run):
    text = run('layers', '--json').stdout
    types = {one['type'] for one in json.loads(text) if one['bottoms'] == [0, 0]}
    assert types - {'Input', 'Parameter'} == set(LAYERS) | WITHOUT_DATASET


@pytest.mark.parametrize('field', FIELDS)
@pytest.mark.parametrize('type', LAYERS)
def test_epochs_are_counted_or_refused(run, place, helper, type, field):
    if type == 'HDF5Data':
        helper('cortado-hdf5')
        h5py = pytest.importorskip('h5py')
        with h5py.File(place / 'rows.h5', 'w') as file:
            file['t0'], file['t1'] = numpy.zeros((10, 3), 'f4'), numpy.zeros((10, 1), 'f4')
        (place / 'files').write_text('rows.h5\n')
    write_project(place, type, FIELDS[field])
    shutil.rmtree(place / 'out', ignore_errors=True)
    records = LAYERS[type][2]
    if records is None:
        for command in ('check', 'train'):
            error = run(command, 'solver.prototxt', cwd=place, code=3).stderr
            assert re.search(r'^solver.prototxt:2:\d+: error: ', error, re.M), error
            assert field in error.split('\n')[1] + error and 'hint: ' in error, error
        assert not (place / 'out').exists()
        write_project(place, type, 'max_iter: 1 solver_mode: CPU')
        if type == 'MemoryData': return  # only programs pass its samples
        run('train', 'solver.prototxt', cwd=place)
        error = run('test', 'net.prototxt', 'out/s_iter_1.caffemodel', '--epoch', cwd=place, code=2).stderr
        assert '--epoch' in error and 'hint: use --iterations' in error, error
        return
    run('check', 'solver.prototxt', cwd=place)
    log = run('train', 'solver.prototxt', cwd=place).stderr
    batch = int(re.search(r'batch_size: (\d+)', LAYERS[type][1]).group(1))
    if field == 'max_epoch': assert 'max_epoch: 3 takes max_iter: %d' % -(-3 * records // batch) in log
    else: assert 'Test net output #0: loss' in log
