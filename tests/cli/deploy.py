#!/usr/bin/python3
"""`cortado deploy` on every net of models/: the net it makes has the layers, shapes and parameters of the one written
by hand.

    deploy.py CORTADO
"""
import json, os, subprocess, sys, tempfile

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run(code, *words):
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == code, (words, done.returncode, done.stderr[-2000:])
    return done

def layers(exe, net):
    report = json.loads(run(0, exe, 'summary', net, '--phase=TEST', '--json').stdout)
    return [{key: value for key, value in layer.items() if key != 'place'} for layer in report['layers']]

def main():
    exe = os.path.abspath(sys.argv[1])
    models = os.path.join(REPOSITORY, 'models')
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        nets = sorted(name for name in os.listdir(models) if os.path.isdir(os.path.join(models, name)))
        assert len(nets) >= 13, nets
        nets.remove('ssd_fashion')  # its deploy net keeps what its test net scores detections with
        nets.remove('crnn_digits')  # its deploy net ends in what makes digits of scores
        for name in nets:
            trained, by_hand = (os.path.join(models, name, kind + '.prototxt') for kind in ('train_val', 'deploy'))
            shape = {'lenet': '1,1,28,28', 'cifar10_quick': '1,3,32,32', 'cifar10_full': '1,3,32,32'}.get(name)
            made = name + '.prototxt'
            if shape:  # neither crop nor dataset nor mean file is there
                assert '--shape=1,' in run(2, exe, 'deploy', trained, '-o', made).stderr
                assert not os.path.exists(made)
            run(0, exe, 'deploy', trained, '-o', made, *(['--shape=' + shape] if shape else []))
            run(0, exe, 'check', made)
            wanted, have = layers(exe, by_hand), layers(exe, made)
            for a, b in zip(wanted, have): assert a == b, (name, a, b)
            assert len(wanted) == len(have), (name, wanted[len(have):], have[len(wanted):])
            text = open(made).read()
            for word in ('filler', 'lr_mult', 'phase', 'label"'): assert word not in text, (name, word)
        print('%d nets' % len(nets))


main()
