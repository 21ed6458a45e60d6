"""How nets are made."""
import pathlib

import numpy as np
import pytest

from tests.python.built_module import use_built_module

use_built_module()
import caffe

def layer(name, kind, bottoms, tops, options=''):
    blobs = ['bottom: "%s"' % each for each in bottoms.split()] + ['top: "%s"' % each for each in tops.split()]
    return 'layer { name: "%s" type: "%s" %s %s }\n' % (name, kind, ' '.join(blobs), options)


# Making nets

STATES = layer('x', 'Input', '', 'x', 'input_param { shape { dim: 1 dim: 2 } }') + ''.join(
    layer(name, 'InnerProduct', 'x', name, 'inner_product_param { num_output: 1 } include { %s }' % rule)
    for name, rule in (('train', 'phase: TRAIN'), ('test', 'phase: TEST'), ('upper', 'min_level: 2'),
                       ('deploy', 'stage: "deploy"'), ('both', 'stage: "deploy" stage: "more"')))


@pytest.fixture
def stated(folder):
    (folder / 'states').write_text(STATES)
    all_ = caffe.Net('states', caffe.TEST, 2, ['deploy', 'more'])
    for blobs in all_.params.values(): blobs[0].data[...] = 7
    all_.save('weights')
    return folder


FORMS = {  # positional arguments, keywords; the last have weights
    'phase': (('states', caffe.TEST), {}, 'test'), 'number': (('states', 0), {}, 'train'),
    'numpy': (('states', np.int64(1)), {}, 'test'),
    'keyword': ((), dict(network_file='states', phase=caffe.TRAIN), 'train'),
    'level': (('states', caffe.TEST, 3), {}, 'test upper'), 'low': (('states', caffe.TRAIN, 1), {}, 'train'),
    'level=': (('states',), dict(level=2, phase=caffe.TEST), 'test upper'),
    'stages': (('states', caffe.TEST, 0, ['deploy']), {}, 'test deploy'),
    'stages=': (('states', caffe.TRAIN), dict(stages=('more', 'deploy')), 'train deploy both'),
    'none': (('states', caffe.TEST, 0, None, None), {}, 'test'),
    'five': (('states', caffe.TEST, 2, ['deploy', 'more'], 'weights'), {}, 'test upper deploy both *'),
    'all=': ((), dict(network_file='states', phase=1, level=2, stages=['deploy'], weights='weights'),
             'test upper deploy *'),
    'weights=': (('states', caffe.TEST), dict(weights='weights'), 'test *'),
    'old': (('states', 'weights', caffe.TEST), {}, 'test *'), 'old none': (('states', None, caffe.TEST), {}, 'test'),
    'old phase=': (('states', 'weights'), dict(phase=caffe.TEST), 'test *'),
    'old level=': (('states', 'weights', caffe.TEST), dict(level=5), 'test upper *'),
    'bytes': ((b'states', b'weights', caffe.TEST), {}, 'test *'),
    'path': ((pathlib.Path('states'), pathlib.Path('weights'), caffe.TEST), {}, 'test *')}


@pytest.mark.parametrize('form', FORMS)
def test_forms_of_a_net(stated, form):
    arguments, keywords, right = FORMS[form]
    net = caffe.Net(*arguments, **keywords)
    names = right.split()
    assert list(net.params) == [name for name in names if name != '*']
    for blobs in net.params.values(): assert (blobs[0].data == (7 if '*' in names else 0)).all()


@pytest.mark.parametrize('arguments, keywords', [
    (('states',), {}), (('states', 2), {}), (('states', 'weights'), {}), ((), dict(phase=caffe.TEST)),
    (('states', caffe.TEST), dict(phase=caffe.TEST)), (('states', 'weights', caffe.TEST), dict(weights='weights')),
    (('states', caffe.TEST), dict(stage='deploy'))])
def test_wrong_forms_of_a_net(stated, arguments, keywords):
    with pytest.raises(TypeError): caffe.Net(*arguments, **keywords)
