"""Small nets for make_models.py: ssd_fashion detects, crnn_digits reads, vit_tiny is a transformer."""
from net_writer import LMDB, MAX, MSRA, TEST, TRAIN, XAVIER, Word


def normalised(n, name, outputs, **shape):
    """3x3 convolution, BatchNorm with averages over about 20 iterations, and Scale."""
    n.conv(name, outputs, 3, MSRA, None, pad=1, **shape)
    n.inplace('BatchNorm', name + '/bn', batch_norm_param={'moving_average_fraction': 0.95})
    n.inplace('Scale', name + '/scale', scale_param={'bias_term': True})


def active(n, name, outputs, **shape):
    normalised(n, name, outputs, **shape)
    n.relu(name + '/relu')


def ssd_head(n, source, size, largest, classes):
    """Four boxes at each position of `source`: offsets, scores and priors."""
    for kind, outputs in ('loc', 16), ('conf', 4 * classes):
        name = '%s_mbox_%s' % (source, kind)
        n.conv(name, outputs, 3, XAVIER, bottom=source, pad=1)
        n.add('Permute', name + '_perm', permute_param={'order': [0, 2, 3, 1]})
        n.add('Flatten', name + '_flat', flatten_param={'axis': 1})
    n.add('PriorBox', source + '_mbox_priorbox', [source, 'data'],
          prior_box_param={'min_size': size, 'max_size': largest, 'aspect_ratio': 2, 'clip': False,
                           'variance': [0.1, 0.1, 0.2, 0.2]})


def ssd_data(n, side):
    """Images with objects, resized to side x side; random crops for training."""
    resize = {'resize_param': {'prob': 1, 'resize_mode': Word('WARP'), 'height': side, 'width': side}}
    look = {'scale': 0.015, 'mean_value': 60}
    sampler = {'max_sample': 1, 'max_trials': 50,
               'sampler': {'min_scale': 0.5, 'min_aspect_ratio': 0.7, 'max_aspect_ratio': 1.4},
               'sample_constraint': {'min_object_coverage': 0.9}}
    for phase, batch in (TRAIN, 32), (TEST, 50):
        train = phase == TRAIN
        parts = {'annotated_data_param': {'batch_sampler': [{'max_sample': 1, 'max_trials': 1}, sampler]}}
        n.add('AnnotatedData', 'data', [], ['data', 'label'], include={'phase': phase},
              transform_param={**({'mirror': True} if train else {}), **look, **resize},
              **(parts if train else {}),
              data_param={'source': 'data_sets/detection_%s_lmdb' % phase.lower(), 'batch_size': batch,
                          'backend': LMDB})


def ssd_fashion(n):
    """SSD (Liu et al., 2016) with a small backbone, for objects of ten classes in grey images of 160 x 160."""
    n.output = 'detections'
    classes, side = 11, 160
    if n.training:
        ssd_data(n, side)
    else:
        n.add('Input', 'data', [], input_param={'shape': {'dim': [1, 1, side, side]}})
    n.top = 'data'
    for name, outputs, stride in (('conv1', 16, 2), ('conv2', 32, 2), ('conv3', 64, 2), ('conv4', 96, 1),
                                  ('conv5', 128, 2), ('conv6', 128, 2)):
        active(n, name, outputs, stride=stride)
    sources = ('conv4', 24, 40), ('conv5', 40, 72), ('conv6', 72, 112)
    for source, size, largest in sources:
        ssd_head(n, source, size, largest, classes)
    for kind, axis in ('loc_flat', 1), ('conf_flat', 1), ('priorbox', 2):
        n.add('Concat', 'mbox_' + kind.split('_')[0], ['%s_mbox_%s' % (source, kind) for source, _, _ in sources],
              concat_param={'axis': axis})
    boxes = ['mbox_loc', 'mbox_conf', 'mbox_priorbox']
    if n.training:
        n.add('MultiBoxLoss', 'mbox_loss', [*boxes, 'label'], include={'phase': TRAIN},
              loss_param={'normalization': Word('VALID')},
              multibox_loss_param={'num_classes': classes, 'code_type': Word('CENTER_SIZE')})
    tests = {'include': {'phase': TEST}} if n.training else {}
    n.add('Reshape', 'mbox_conf_reshape', 'mbox_conf', **tests, reshape_param={'shape': {'dim': [0, -1, classes]}})
    n.add('Softmax', 'mbox_conf_softmax', **tests, softmax_param={'axis': 2})
    n.add('Flatten', 'mbox_conf_flatten', **tests, flatten_param={'axis': 1})
    n.add('DetectionOutput', 'detection_out', [boxes[0], 'mbox_conf_flatten', boxes[2]], **tests,
          detection_output_param={'num_classes': classes, 'share_location': True, 'background_label_id': 0,
                                  'nms_param': {'nms_threshold': 0.45, 'top_k': 400},
                                  'code_type': Word('CENTER_SIZE'), 'keep_top_k': 100, 'confidence_threshold': 0.01})
    if n.training:
        n.add('DetectionEvaluate', 'detection_eval', ['detection_out', 'label'], **tests,
              detection_evaluate_param={'num_classes': classes})


def digit_strips(n):
    """Strips of digits, scaled to -2..2, and their labels; class 10 is the blank."""
    if n.training:
        for phase, batch in (TRAIN, 32), (TEST, 50):
            n.add('HDF5Data', 'data', [], ['data', 'label'], include={'phase': phase},
                  hdf5_data_param={'source': 'data_sets/digits/%s.txt' % phase.lower(), 'batch_size': batch,
                                   **({'shuffle': True} if phase == TRAIN else {})})
    else:
        n.add('Input', 'data', [], input_param={'shape': {'dim': [1, 1, 32, 160]}})
    n.add('Power', 'scaled', 'data', power_param={'scale': 0.015625, 'shift': -2})


def lstm(n, name, outputs, bottom):
    """Steps x sequences x inputs to steps x sequences x outputs, forward in time."""
    _, fillers = n.learned(XAVIER)
    return n.add('Lstm', name, bottom, lstm_param={'num_output': outputs, **fillers})


def crnn_digits(n):
    """A small CRNN (Shi et al., 2015): reads up to seven digits in a grey strip of 32 x 160, one step for 4 columns."""
    n.output = 'digits'
    blank, classes = 10, 11
    digit_strips(n)
    for name, outputs, width in ('conv1', 16, 2), ('conv2', 32, 2), ('conv3', 64, 1), ('conv4', 96, 1):
        active(n, name, outputs)
        n.add('Pooling', name.replace('conv', 'pool'),
              pooling_param={'pool': MAX, 'kernel_h': 2, 'kernel_w': width, 'stride_h': 2, 'stride_w': width})
    # Strips x 96 x 2 x 40 become 40 steps of 192 values for each strip.
    n.add('Transpose', 'columns', transpose_param={'dim': [3, 0, 1, 2]})
    n.add('Reshape', 'steps', reshape_param={'shape': {'dim': [0, 0, -1]}})
    lstm(n, 'forwards', 64, 'steps')
    n.add('Reverse', 'steps_back', 'steps', reverse_param={'axis': 0})
    lstm(n, 'backwards_turned', 64, 'steps_back')
    n.add('Reverse', 'backwards', reverse_param={'axis': 0})
    n.add('Concat', 'both_ways', ['forwards', 'backwards'], concat_param={'axis': 2})
    _, fillers = n.learned(XAVIER)
    n.add('InnerProduct', 'scores', inner_product_param={'num_output': classes, 'axis': 2, **fillers})
    if not n.training:
        n.add('CTCGreedyDecoder', 'digits', ctc_decoder_param={'blank_index': blank})
        return
    n.add('CtcLoss', 'loss', ['scores', 'label'], ctc_loss_param={'blank_label': blank})
    tests = {'include': {'phase': TEST}}
    n.add('Transpose', 'scores_by_strip', 'scores', **tests, transpose_param={'dim': [1, 0, 2]})
    n.add('LabelsequenceAccuracy', 'accuracy', ['scores_by_strip', 'label'], **tests,
          labelsequence_accuracy_param={'blank_label': blank})


def transformer_block(n, name, width, heads):
    """Attention and two inner products, each after a normalisation, and each added to its input."""
    def product(suffix, outputs):
        layer, fillers = n.learned(XAVIER, 0)
        options = {'num_output': outputs, 'axis': 2, **fillers}
        return n.add('InnerProduct', name + suffix, **layer, inner_product_param=options)

    x = n.top
    n.add('LayerNorm', name + '/norm1')
    product('/qkv', 3 * width)
    n.add('Attention', name + '/attention', attention_param={'heads': heads})
    product('/projection', width)
    x = n.add('Eltwise', name + '/sum1', [x, n.top])
    n.add('LayerNorm', name + '/norm2')
    product('/expand', 2 * width)
    n.inplace('GELU', name + '/gelu')
    product('/reduce', width)
    n.add('Eltwise', name + '/sum2', [x, n.top])


def vit_tiny(n):
    """A small vision transformer (Dosovitskiy et al., 2020), patches from two convolutions: 187,434 parameters."""
    width = 64
    scale = {'scale': 0.0111, 'mean_value': 73}  # 1 / standard deviation, and mean, of Fashion-MNIST's pixels
    n.data('fashion_mnist', (1, 28, 28), (64, 100), {'mirror': True, **scale}, scale)
    active(n, 'stem', width // 2, stride=2)
    normalised(n, 'patches', width, stride=2)
    n.add('Flatten', 'patches/flat', flatten_param={'axis': 2})
    n.add('Permute', 'tokens', permute_param={'order': [0, 2, 1]})
    filler = {'filler': {'type': 'gaussian', 'std': 0.5}} if n.training else {}
    n.add('Bias', 'positions', bias_param={'axis': 1, 'num_axes': 2, **filler})
    for i in range(1, 5):
        transformer_block(n, 'block%d' % i, width, 4)
    n.add('LayerNorm', 'norm')
    n.fc('scores', 10, XAVIER)
    n.finish()
