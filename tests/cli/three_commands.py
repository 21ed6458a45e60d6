#!/usr/bin/python3
"""A newcomer's three commands on JPEGs of Fashion-MNIST in ten folders, one of them broken and three there twice: the
dataset is made and says so, and the net that `new` writes learns. Skipped (77) without NumPy, OpenCV or the dataset.

    three_commands.py CORTADO [IMAGES [LEAST_ACCURACY]]
"""
import glob, gzip, os, re, shutil, subprocess, sys, tempfile

SET = '/usr/share/datasets/fashion-mnist/train-'
NAMES = ['t-shirt', 'trouser', 'pullover', 'dress', 'coat', 'sandal', 'shirt', 'sneaker', 'bag', 'boot']


def draw(folder, count):
    import cv2, numpy
    def read(name, head): return numpy.frombuffer(gzip.open(SET + name).read(), 'u1', offset=head)
    images, labels = read('images-idx3-ubyte.gz', 16).reshape(-1, 28, 28), read('labels-idx1-ubyte.gz', 8)
    for name in NAMES: os.makedirs(os.path.join(folder, name))
    for i in range(count):
        cv2.imwrite('%s/%s/%05d.jpg' % (folder, NAMES[labels[i]], i), images[i], [cv2.IMWRITE_JPEG_QUALITY, 95])
    files = sorted(glob.glob(folder + '/coat/*.jpg'))
    for k in range(3): shutil.copy(files[k], '%s/coat/copy%d.jpg' % (folder, k))
    whole = open(files[5], 'rb').read()
    open(folder + '/bag/broken.jpg', 'wb').write(whole[:len(whole) // 2])


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 3000
    least = float(sys.argv[3]) if len(sys.argv) > 3 else 0.75
    with tempfile.TemporaryDirectory() as folder:
        try: draw(folder + '/photos', count)
        except (ImportError, OSError) as missing: print('skipped:', missing), sys.exit(77)
        def run(*words):
            done = subprocess.run([os.path.abspath(sys.argv[1]), *words], cwd=folder, capture_output=True, text=True)
            assert done.returncode == 0, (words, done.returncode, done.stderr[-2000:])
            return done.stdout, done.stderr
        out, err = run('convert', 'folder', 'photos/', '-o', 'data', '--split=0.2')
        assert '1 bad image was left out' in out and 'photos/bag/broken.jpg: warning: ' in err, (out, err)
        assert re.search('3 images are doubles of another: coat/', out), out
        seen = [int(n) for n in re.findall(r'_lmdb: (\d+) records', out)]
        assert sum(seen) == count + 3 and abs(seen[1] - 0.2 * count) < 10, out
        run('new', 'classifier', '--data=data', '-o', 'my', *(['--epochs=10'] if count < 10000 else []))
        run('check', 'my/solver.prototxt')
        out, err = run('train', 'my/solver.prototxt', '--run=my/run')
        scores = [float(a) for a in re.findall(r'accuracy = ([\d.]+)', err)]
        assert max(scores) >= least, scores
        report = open(folder + '/my/run/report.html').read()
        assert '"state":"finished"' in report and len(report) < 5e6, len(report)
        image = 'photos/boot/' + sorted(os.listdir(folder + '/photos/boot'))[0]
        out, _ = run('classify', '--model=my/deploy.prototxt', '--weights=my/run/snapshots/my_best.caffemodel', image)
        assert any(name in out.split('\n')[0] for name in ('boot', 'sneaker', 'sandal')), out
    print('accuracy %.4f of %d test images' % (max(scores), seen[1]))


main()
