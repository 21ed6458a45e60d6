#!/usr/bin/python3
"""Writes models/*/train_val.prototxt and deploy.prototxt, and fashion_mnist.prototxt for the nets that are compared on
small images. The solvers are written by hand.

    make_models.py           writes the files
    make_models.py --check   exits 1 if a file differs from what would be written

A function for each net adds layers to a Net. Layer names are those of the published weights, which load by name.
"""
import pathlib
import sys

from net_writer import AVE, MAX, MSRA, TEST, WITHIN_CHANNEL, XAVIER, Net
from task_nets import crnn_digits, ssd_fashion, vit_tiny

MODELS = pathlib.Path(__file__).resolve().parents[2] / 'models'
IMAGENET_MEAN = [104, 117, 123]  # blue, green, red
VGG_MEAN = [103.939, 116.779, 123.68]


def gaussian(std):
    return {'type': 'gaussian', 'std': std}


def lenet(n):
    """LeNet (LeCun et al., 1998) with ReLU and linear outputs, for 28 x 28 grey images: 431,080 parameters."""
    scale = {'scale': 0.00390625}
    n.data('fashion_mnist', (1, 28, 28), (64, 100), scale, scale)
    n.conv('conv1', 20, 5, XAVIER, bias_decay=1)
    n.pool('pool1', MAX, 2, 2)
    n.conv('conv2', 50, 5, XAVIER, bias_decay=1)
    n.pool('pool2', MAX, 2, 2)
    n.fc('ip1', 500, XAVIER, bias_decay=1)
    n.relu('relu1')
    n.fc('ip2', 10, XAVIER, bias_decay=1)
    n.finish()


def cifar10(n):
    mean = {'mean_file': 'data_sets/cifar10_mean.binaryproto'}
    n.data('cifar10', (3, 32, 32), (100, 100), mean, mean)


def cifar10_quick(n):
    """CIFAR-10, quick training (after Krizhevsky's cuda-convnet): 145,578 parameters."""
    cifar10(n)
    n.conv('conv1', 32, 5, gaussian(0.0001), pad=2, bias_decay=1)
    n.pool('pool1', MAX, 3, 2)
    n.relu('relu1')
    for i, outputs in (2, 32), (3, 64):
        n.conv('conv%d' % i, outputs, 5, gaussian(0.01), pad=2, bias_decay=1)
        n.relu('relu%d' % i)
        n.pool('pool%d' % i, AVE, 3, 2)
    n.fc('ip1', 64, gaussian(0.1), bias_decay=1)
    n.fc('ip2', 10, gaussian(0.1), bias_decay=1)
    n.finish()


def cifar10_full(n):
    """CIFAR-10 with response normalisation (after Krizhevsky's cuda-convnet, 18 % error): 89,578 parameters."""
    cifar10(n)
    norm = {'local_size': 3, 'alpha': 5e-5, 'beta': 0.75, 'norm_region': WITHIN_CHANNEL}
    n.conv('conv1', 32, 5, gaussian(0.0001), pad=2, bias_decay=1)
    n.pool('pool1', MAX, 3, 2)
    n.relu('relu1')
    n.lrn('norm1', **norm)
    n.conv('conv2', 32, 5, gaussian(0.01), pad=2, bias_decay=1)
    n.relu('relu2')
    n.pool('pool2', AVE, 3, 2)
    n.lrn('norm2', **norm)
    n.conv('conv3', 64, 5, gaussian(0.01), pad=2, bias_decay=1)
    n.relu('relu3')
    n.pool('pool3', AVE, 3, 2)
    n.fc('ip1', 10, gaussian(0.01), decay=250)
    n.finish()


def krizhevsky(n, stem, bias, deep_bias):
    """Five convolutions and three inner products; `stem(i)` adds the layers after the ReLU of convolutions 1 and 2."""
    n.imagenet(227, (256, 50), mean_value=IMAGENET_MEAN)
    n.conv('conv1', 96, 11, gaussian(0.01), stride=4)
    n.relu('relu1')
    stem(1)
    n.conv('conv2', 256, 5, gaussian(0.01), bias, pad=2, group=2)
    n.relu('relu2')
    stem(2)
    n.conv('conv3', 384, 3, gaussian(0.01), pad=1)
    n.relu('relu3')
    for i, outputs in (4, 384), (5, 256):
        n.conv('conv%d' % i, outputs, 3, gaussian(0.01), bias, pad=1, group=2)
        n.relu('relu%d' % i)
    n.pool('pool5', MAX, 3, 2)
    for i in 6, 7:
        n.fc('fc%d' % i, 4096, gaussian(0.005), deep_bias)
        n.relu('relu%d' % i)
        n.dropout('drop%d' % i, 0.5)
    n.fc('fc8', 1000, gaussian(0.01))
    n.finish(top5=True)


RESPONSE_NORM = {'local_size': 5, 'alpha': 0.0001, 'beta': 0.75}


def alexnet(n):
    """AlexNet (Krizhevsky et al., 2012) as BVLC trained it, on one GPU: 60,965,224 parameters."""
    def stem(i):
        n.lrn('norm%d' % i, **RESPONSE_NORM)
        n.pool('pool%d' % i, MAX, 3, 2)
    krizhevsky(n, stem, 0.1, 0.1)


def caffenet(n):
    """CaffeNet: AlexNet with pooling before normalisation, which is faster: 60,965,224 parameters."""
    def stem(i):
        n.pool('pool%d' % i, MAX, 3, 2)
        n.lrn('norm%d' % i, **RESPONSE_NORM)
    krizhevsky(n, stem, 1, 1)


def inception(n, name, ones, reduce3, threes, reduce5, fives, projected):
    """Four parallel branches: 1x1, 3x3, 5x5, and pooling; their channels are concatenated."""
    bottom, prefix = n.top, 'inception_%s/' % name
    tops = []

    def branch(convolution, outputs, kernel, source, **more):
        n.conv(prefix + convolution, outputs, kernel, XAVIER, 0.2, source, **more)
        return n.relu(prefix + 'relu_' + convolution)

    tops.append(branch('1x1', ones, 1, bottom))
    tops.append(branch('3x3', threes, 3, branch('3x3_reduce', reduce3, 1, bottom), pad=1))
    tops.append(branch('5x5', fives, 5, branch('5x5_reduce', reduce5, 1, bottom), pad=2))
    tops.append(branch('pool_proj', projected, 1, n.pool(prefix + 'pool', MAX, 3, 1, bottom, pad=1)))
    n.add('Concat', prefix + 'output', tops)


def auxiliary(n, name):
    """An auxiliary classifier, which keeps the gradients below it from vanishing; loss weight 0.3; training only."""
    if not n.training:
        return
    trunk = n.top
    n.pool(name + '/ave_pool', AVE, 5, 3)
    n.conv(name + '/conv', 128, 1, XAVIER, 0.2)
    n.relu(name + '/relu_conv')
    n.fc(name + '/fc', 1024, XAVIER, 0.2)
    n.relu(name + '/relu_fc')
    n.dropout(name + '/drop_fc', 0.7)
    n.fc(name + '/classifier', 1000, XAVIER)
    n.accuracy(name + '/top-1')
    n.accuracy(name + '/top-5', 5)
    n.add('SoftmaxWithLoss', name + '/loss', [n.top, 'label'], '%s/%s' % (name, name), loss_weight=0.3)
    n.top = trunk


def googlenet(n):
    """GoogLeNet (Szegedy et al., 2014): 6,998,552 parameters, 13,378,280 with its two auxiliary classifiers."""
    n.imagenet(224, (32, 50), mean_value=IMAGENET_MEAN)
    n.conv('conv1/7x7_s2', 64, 7, XAVIER, 0.2, pad=3, stride=2)
    n.relu('conv1/relu_7x7')
    n.pool('pool1/3x3_s2', MAX, 3, 2)
    n.lrn('pool1/norm1', **RESPONSE_NORM)
    n.conv('conv2/3x3_reduce', 64, 1, XAVIER, 0.2)
    n.relu('conv2/relu_3x3_reduce')
    n.conv('conv2/3x3', 192, 3, XAVIER, 0.2, pad=1)
    n.relu('conv2/relu_3x3')
    n.lrn('conv2/norm2', **RESPONSE_NORM)
    n.pool('pool2/3x3_s2', MAX, 3, 2)
    inception(n, '3a', 64, 96, 128, 16, 32, 32)
    inception(n, '3b', 128, 128, 192, 32, 96, 64)
    n.pool('pool3/3x3_s2', MAX, 3, 2)
    inception(n, '4a', 192, 96, 208, 16, 48, 64)
    auxiliary(n, 'loss1')
    inception(n, '4b', 160, 112, 224, 24, 64, 64)
    inception(n, '4c', 128, 128, 256, 24, 64, 64)
    inception(n, '4d', 112, 144, 288, 32, 64, 64)
    auxiliary(n, 'loss2')
    inception(n, '4e', 256, 160, 320, 32, 128, 128)
    n.pool('pool4/3x3_s2', MAX, 3, 2)
    inception(n, '5a', 256, 160, 320, 32, 128, 128)
    inception(n, '5b', 384, 192, 384, 48, 128, 128)
    n.pool('pool5/7x7_s1', AVE, 7, 1)
    n.dropout('pool5/drop_7x7_s1', 0.4)
    n.fc('loss3/classifier', 1000, XAVIER)
    n.finish(top5=True, loss='loss3/loss3', names=('loss3/top-1', 'loss3/top-5'))


def vgg16(n):
    """VGG-16, configuration D of Simonyan and Zisserman (2014): 138,357,544 parameters."""
    n.imagenet(224, (64, 10), mean_value=VGG_MEAN)
    for block, (depth, outputs) in enumerate([(2, 64), (2, 128), (3, 256), (3, 512), (3, 512)], 1):
        for i in range(1, depth + 1):
            n.conv('conv%d_%d' % (block, i), outputs, 3, XAVIER, pad=1)
            n.relu('relu%d_%d' % (block, i))
        n.pool('pool%d' % block, MAX, 2, 2)
    for i in 6, 7:
        n.fc('fc%d' % i, 4096, gaussian(0.005), 0.1)
        n.relu('relu%d' % i)
        n.dropout('drop%d' % i, 0.5)
    n.fc('fc8', 1000, gaussian(0.01))
    n.finish(top5=True)


def normalised(n, conv, bn, scale, outputs, kernel, bottom=None, eps=None, **shape):
    """Convolution without bias, BatchNorm, and Scale with a learned scale and bias."""
    n.conv(conv, outputs, kernel, MSRA, None, bottom, **shape)
    options = {'eps': eps} if eps else {}
    if n.small:  # In a short training, Caffe's default, an average over a thousand iterations, would be out of date.
        options['moving_average_fraction'] = 0.95
    n.inplace('BatchNorm', bn, **({'batch_norm_param': options} if options else {}))
    return n.inplace('Scale', scale, scale_param={'bias_term': True})


def residual(n, name, branch, shortcut):
    """y = ReLU(shortcut(x) + branch(x)); branch and shortcut are lists of (suffix, outputs, kernel, stride)."""
    bottom = n.top

    def convolve(suffix, outputs, kernel, stride, source):
        names = ['%s%s_branch%s' % (prefix, name, suffix) for prefix in ('res', 'bn', 'scale')]
        return normalised(n, *names, outputs, kernel, source, pad=kernel // 2, stride=stride)

    short = convolve(*shortcut, bottom) if shortcut else bottom
    source = bottom
    for i, step in enumerate(branch):
        source = convolve(*step, source)
        if i + 1 < len(branch):
            n.relu('res%s_branch%s_relu' % (name, step[0]))
    n.add('Eltwise', 'res' + name, [short, source])
    n.relu('res%s_relu' % name)


def resnet(n, depths, block, batches):
    n.imagenet(224, batches, mean_value=IMAGENET_MEAN)
    normalised(n, 'conv1', 'bn_conv1', 'scale_conv1', 64, 7, pad=3, stride=n.first_stride)
    n.relu('conv1_relu')
    n.pool('pool1', MAX, 3, 2)
    for stage, depth in enumerate(depths, 2):
        for i in range(depth):
            stride = 2 if i == 0 and stage > 2 else 1
            residual(n, '%d%s' % (stage, 'abcdef'[i]), *block(32 << (stage - 1), stride, i == 0, stage))
    n.average('pool5') if n.small else n.pool('pool5', AVE, 7, 1)
    n.fc('fc%d' % n.classes, n.classes, MSRA)
    n.finish(top5=not n.small)


def resnet18(n):
    """ResNet-18 (He et al., 2015), identity shortcuts in the first stage: 11,689,512 parameters."""
    def block(width, stride, first, stage):
        shortcut = ('1', width, 1, stride) if first and stage > 2 else None
        return [('2a', width, 3, stride), ('2b', width, 3, 1)], shortcut
    resnet(n, (2, 2, 2, 2), block, (64, 50))


def bottlenecks(n, strides):
    """ResNet-50; strides(stride) returns the strides of the first 1x1 and the 3x3 of a bottleneck with this stride."""
    def block(width, stride, first, stage):
        shortcut = ('1', 4 * width, 1, stride) if first else None
        narrow, middle = strides(stride)
        return [('2a', width, 1, narrow), ('2b', width, 3, middle), ('2c', 4 * width, 1, 1)], shortcut
    resnet(n, (3, 4, 6, 3), block, (32, 25))


def resnet50(n):
    """ResNet-50 v1 (He et al., 2015), strides in the first 1x1 of a bottleneck: 25,557,032 parameters."""
    bottlenecks(n, lambda stride: (stride, 1))


def resnet50_v1_5(n):
    """ResNet-50 v1.5 (as Torch's, 2016), strides in the 3x3 of a bottleneck: 25,557,032 parameters."""
    bottlenecks(n, lambda stride: (1, stride))


def mobilenet_v1(n):
    """MobileNet v1, width 1 (Howard et al., 2017), depthwise filters by groups: 4,231,976 parameters."""
    n.imagenet(224, (64, 50), scale=0.017, mean_value=VGG_MEAN)

    def step(name, outputs, kernel, **shape):
        normalised(n, 'conv' + name, 'conv%s/bn' % name, 'conv%s/scale' % name, outputs, kernel, **shape)
        n.relu('relu' + name)

    step('1', 32, 3, pad=1, stride=2)
    width = 32
    for name, outputs, stride in [('2_1', 64, 1), ('2_2', 128, 2), ('3_1', 128, 1), ('3_2', 256, 2), ('4_1', 256, 1),
                                  ('4_2', 512, 2), *(('5_%d' % i, 512, 1) for i in range(1, 6)), ('5_6', 1024, 2),
                                  ('6', 1024, 1)]:
        step(name + '/dw', width, 3, pad=1, stride=stride, group=width, decay=0)
        step(name + '/sep', outputs, 1)
        width = outputs
    n.average('pool6')
    n.conv('fc7', 1000, 1, MSRA)
    n.add('Flatten', 'fc7/flat')
    n.finish(top5=True)


def inverted_residuals(n, stages, first, last, normalise):
    """MobileNet v2's body: a 3x3 convolution to `first` channels; blocks of a 1x1 convolution to more channels, one on
    each channel, and a linear 1x1; a 1x1 convolution to `last` channels; the average. `stages`: lists of (factor of
    the channels, outputs, kernel, blocks, stride). normalise(name, outputs, kernel, stride, **more) adds a convolution
    and what normalises it."""

    def active(name, *args, **more):
        normalise(name, *args, **more)
        return n.inplace('ReLU6', name + '/relu')

    def block(name, width, outputs, wider, kernel, stride):
        source, wide = n.top, width * wider
        if wider > 1:
            active(name + '/expand', wide, 1)
        active(name + '/dwise', wide, kernel, stride, group=wide, decay=0)
        normalise(name + '/linear', outputs, 1)
        if stride == 1 and width == outputs:
            n.add('Eltwise', 'block_' + name[4:], [source, n.top])

    active('conv1', first, 3, n.first_stride)
    width, stage, number = first, 2, 0
    for wider, outputs, kernel, blocks, stride in stages:
        for i in range(blocks):
            if i == 0 and stride == 2 and number:
                stage, number = stage + 1, 0
            number += 1
            block('conv%d_%d' % (stage, number), width, outputs, wider, kernel, stride if i == 0 else 1)
            width = outputs
    active('conv%d_%d' % (stage, number + 1), last, 1)
    n.average('pool6')


def mobilenet_v2(n):
    """MobileNet v2, width 1 (Sandler et al., 2018), inverted residuals, linear bottlenecks: 3,504,872 parameters."""
    n.imagenet(224, (64, 50), scale=0.017, mean_value=VGG_MEAN)

    def normalise(name, outputs, kernel, stride=None, **more):
        shape = {'pad': kernel // 2, 'stride': stride} if stride else {}
        return normalised(n, name, name + '/bn', name + '/scale', outputs, kernel, **shape, **more)

    inverted_residuals(n, [(1, 16, 3, 1, 1), (6, 24, 3, 2, 2), (6, 32, 3, 3, 2), (6, 64, 3, 4, 2), (6, 96, 3, 3, 1),
                           (6, 160, 3, 3, 2), (6, 320, 3, 1, 1)], 32, 1280, normalise)
    n.conv('fc7', n.classes, 1, MSRA)
    n.add('Flatten', 'fc7/flat')
    n.finish(top5=not n.small)


def efficientnet_lite0(n):
    """EfficientNet-Lite0 (Tan and Le, 2019; Liu, 2020), without squeeze and excitation: 4,652,008 parameters."""
    n.imagenet(224, (64, 50), scale=0.0078125, mean_value=[127, 127, 127])

    def normalise(name, outputs, kernel, stride=1, **more):
        # TensorFlow pads an even image at a stride of 2 by one more pixel at its end than at its beginning, which Caffe
        # cannot. A kernel with a first row and column of zeros reads the same pixels.
        grown = kernel + (stride == 2)
        return normalised(n, name, name + '/bn', name + '/scale', outputs, grown, eps=0.001, pad=kernel // 2,
                          stride=stride, **more)

    inverted_residuals(n, [(1, 16, 3, 1, 1), (6, 24, 3, 2, 2), (6, 40, 5, 2, 2), (6, 80, 3, 3, 2), (6, 112, 5, 3, 1),
                           (6, 192, 5, 4, 2), (6, 320, 3, 1, 1)], 32, 1280, normalise)
    n.dropout('drop6', 0.2)
    n.fc('fc7', 1000, XAVIER)
    n.finish(top5=True)


def shufflenet_v2(n):
    """ShuffleNet v2, width 1 (Ma et al., 2018), channel split and channel shuffle: 2,278,604 parameters."""
    n.imagenet(224, (64, 50), scale=0.017, mean_value=VGG_MEAN)

    def step(name, outputs, kernel, bottom=None, relu=True, **shape):
        top = normalised(n, name, name + '/bn', name + '/scale', outputs, kernel, bottom, **shape)
        return n.relu(name + '/relu') if relu else top

    def depthwise(name, width, stride, bottom=None):
        return step(name, width, 3, bottom, relu=False, pad=1, stride=stride, group=width, decay=0)

    def branch(name, width, stride, bottom):
        step(name + '/conv1', width, 1, bottom)
        depthwise(name + '/dw', width, stride)
        return step(name + '/conv2', width, 1)

    def mixed(name, left, right):
        n.add('Concat', name + '/concat', [left, right])
        return n.add('ShuffleChannel', name + '/shuffle', shuffle_channel_param={'group': 2})

    def shrinking(name, width, outputs):
        source = n.top
        depthwise(name + '/left/dw', width, 2, source)
        left = step(name + '/left/conv', outputs // 2, 1)
        mixed(name, left, branch(name, outputs // 2, 2, source))

    def keeping(name, width):
        left, right = name + '/left', name + '/right'
        n.add('Slice', name + '/slice', top=[left, right])
        mixed(name, left, branch(name, width // 2, 1, right))

    step('conv1', 24, 3, pad=1, stride=n.first_stride)
    n.pool('pool1', MAX, 3, 2)
    width = 24
    for stage, (outputs, units) in enumerate([(116, 4), (232, 8), (464, 4)], 2):
        shrinking('stage%d_1' % stage, width, outputs)
        for i in range(2, units + 1):
            keeping('stage%d_%d' % (stage, i), outputs)
        width = outputs
    step('conv5', 1024, 1)
    n.average('pool5')
    n.fc('fc6', n.classes, MSRA)
    n.finish(top5=not n.small)


def squeezenet(n):
    """SqueezeNet v1.1 (Iandola et al., 2016), AlexNet's accuracy with 1/50 of its parameters: 1,235,496 parameters."""
    n.imagenet(227, (32, 25), mean_value=IMAGENET_MEAN)

    def fire(i, squeezed, expanded):
        """1x1 convolutions to fewer channels, then parallel 1x1 and 3x3 convolutions to more channels."""
        prefix = 'fire%d/' % i

        def convolve(kind, outputs, kernel, source, **more):
            n.conv(prefix + kind, outputs, kernel, XAVIER, 0, source, bias_decay=1, **more)
            return n.relu(prefix + 'relu_' + kind)
        narrow = convolve('squeeze1x1', squeezed, 1, n.top)
        wide = convolve('expand1x1', expanded, 1, narrow), convolve('expand3x3', expanded, 3, narrow, pad=1)
        n.add('Concat', prefix + 'concat', list(wide))

    n.conv('conv1', 64, 3, XAVIER, stride=2, bias_decay=1)
    n.relu('relu_conv1')
    n.pool('pool1', MAX, 3, 2)
    for i, squeezed in enumerate((16, 16, 32, 32, 48, 48, 64, 64), 2):
        fire(i, squeezed, 4 * squeezed)
        if i in (3, 5):
            n.pool('pool%d' % i, MAX, 3, 2)
    n.dropout('drop9', 0.5)
    n.conv('conv10', 1000, 1, gaussian(0.01), bias_decay=1)
    n.relu('relu_conv10')
    n.average('pool10')
    n.add('Flatten', 'pool10/flat')
    n.finish(top5=True)


NAMES = {lenet: 'LeNet', cifar10_quick: 'CIFAR10_quick', cifar10_full: 'CIFAR10_full', alexnet: 'AlexNet',
         caffenet: 'CaffeNet', googlenet: 'GoogLeNet', vgg16: 'VGG16', resnet18: 'ResNet18', resnet50: 'ResNet50',
         resnet50_v1_5: 'ResNet50_v1.5', mobilenet_v1: 'MobileNetV1', mobilenet_v2: 'MobileNetV2',
         efficientnet_lite0: 'EfficientNetLite0', shufflenet_v2: 'ShuffleNetV2', squeezenet: 'SqueezeNet_v1.1',
         ssd_fashion: 'SSDFashion', crnn_digits: 'CRNNDigits', vit_tiny: 'ViTTiny'}

SMALL = resnet18, mobilenet_v2, shufflenet_v2


def main():
    check, stale = '--check' in sys.argv[1:], []
    for build, name in NAMES.items():
        files = [('train_val.prototxt', True, False), ('deploy.prototxt', False, False)]
        if build in SMALL:
            files.append(('fashion_mnist.prototxt', True, True))
        for file, training, small in files:
            net = Net(name, ' '.join(build.__doc__.split()).rstrip('.') + '.', training, small)
            build(net)
            path = MODELS / build.__name__ / file
            if check:
                if not path.is_file() or path.read_text() != str(net):
                    stale.append(path)
                continue
            path.parent.mkdir(exist_ok=True)
            path.write_text(str(net))
    for path in stale:
        print('%s: differs from what scripts/dev/make_models.py writes' % path.relative_to(MODELS.parent))
    sys.exit(bool(stale))


if __name__ == '__main__':
    main()
