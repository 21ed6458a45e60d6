#!/usr/bin/python3
"""Five steps of training, a test inside the solver, and `cortado test` on the snapshot give the same scores.

    same_scores.py CORTADO
"""
import json, re, subprocess, sys
from workplace import Workplace


def run(place, *words):
    done = subprocess.run([place.exe, *words, '--threads=1'], cwd=place.name, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done

def main():
    place = Workplace(sys.argv[1], iters=5, display=1, test_interval=5, snapshot=5)
    with open(place.path('solver.prototxt'), 'a') as f: f.write('test_initialization: false\n')
    log = run(place, 'train', '--solver=solver.prototxt').stderr
    inside = {name: float(value) for name, value in re.findall(r'Test net output #\d+: (\S+) = (\S+)', log)}
    report = json.loads(run(place, 'test', '--model=net.prototxt', '--weights=snap_iter_5.caffemodel',
                            '--iterations=3', '--json').stdout)
    assert set(inside) == set(report['outputs']) == {'accuracy', 'loss'}, (inside, report)
    for name, value in report['outputs'].items():
        assert abs(inside[name] - value) <= 1e-5 * max(1, abs(value)), (name, inside[name], value)
    print('accuracy %g, loss %g, both ways' % (inside['accuracy'], inside['loss']))


main()
