"""convert, new and train on JPEGs of Fashion-MNIST in ten folders, one of them damaged and three duplicated: `convert`
reports these, and the net that `new` writes learns.

    python3 -m pytest tests/cli/three_commands_test.py --rounds=60000            all images instead of 3000
"""
import glob, gzip, os, re, shutil

import pytest

cv2, numpy = pytest.importorskip('cv2'), pytest.importorskip('numpy')

SET = '/usr/share/datasets/fashion-mnist/train-'
NAMES = ['t-shirt', 'trouser', 'pullover', 'dress', 'coat', 'sandal', 'shirt', 'sneaker', 'bag', 'boot']


def read(name, head):
    try: file = gzip.open(SET + name)
    except OSError as missing: pytest.skip(str(missing))
    with file: return numpy.frombuffer(file.read(), 'u1', offset=head)


def draw(folder, count):
    images, labels = read('images-idx3-ubyte.gz', 16).reshape(-1, 28, 28), read('labels-idx1-ubyte.gz', 8)
    for name in NAMES: os.makedirs(os.path.join(folder, name))
    for i in range(count):
        cv2.imwrite('%s/%s/%05d.jpg' % (folder, NAMES[labels[i]], i), images[i], [cv2.IMWRITE_JPEG_QUALITY, 95])
    files = sorted(glob.glob(folder + '/coat/*.jpg'))
    for k in range(3): shutil.copy(files[k], '%s/coat/copy%d.jpg' % (folder, k))
    with open(files[5], 'rb') as file: whole = file.read()
    with open(folder + '/bag/broken.jpg', 'wb') as file: file.write(whole[:len(whole) // 2])


def test_three_commands_train_a_classifier(run, folder, request):
    count = request.config.getoption('--rounds') or 3000
    draw('photos', count)
    done = run('convert', 'folder', 'photos/', '-o', 'data', '--split=0.2')
    assert '1 bad image was left out' in done.stdout and 'photos/bag/broken.jpg: warning: ' in done.stderr
    assert re.search('3 images are duplicates: coat/', done.stdout)
    seen = [int(n) for n in re.findall(r'_lmdb: (\d+) records', done.stdout)]
    assert sum(seen) == count + 3 and abs(seen[1] - 0.2 * count) < 10
    run('new', 'classifier', '--data=data', '-o', 'my', *(['--epochs=10'] if count < 10000 else []))
    run('check', 'my/solver.prototxt')
    log = run('train', 'my/solver.prototxt', '--run=my/run', timeout=None).stderr
    assert max(float(a) for a in re.findall(r'accuracy = ([\d.]+)', log)) >= 0.75
    report = (folder / 'my/run/report.html').read_text()
    assert '"state":"finished"' in report and len(report) < 5e6
    image = 'photos/boot/' + sorted(os.listdir('photos/boot'))[0]
    out = run('classify', '--model=my/deploy.prototxt', '--weights=my/run/snapshots/my_best.caffemodel', image).stdout
    assert any(name in out.split('\n')[0] for name in ('boot', 'sneaker', 'sandal')), out
