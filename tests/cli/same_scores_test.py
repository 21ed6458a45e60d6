"""Five steps of training, a test inside the solver, and `cortado test` on the snapshot give the same scores."""
import json, re


def test_scores_of_the_solver_and_of_test_agree(run, training_folder):
    place = training_folder(iters=5, display=1, test_interval=5, snapshot=5)
    with open(place.path('solver.prototxt'), 'a') as f: f.write('test_initialization: false\n')
    log = run('train', '--solver=solver.prototxt', '--threads=1', cwd=place.name).stderr
    inside = {name: float(value) for name, value in re.findall(r'Test net output #\d+: (\S+) = (\S+)', log)}
    outputs = json.loads(run('test', '--model=net.prototxt', '--weights=snap_iter_5.caffemodel', '--iterations=3',
                             '--json', '--threads=1', cwd=place.name).stdout)['outputs']
    assert set(inside) == set(outputs) == {'accuracy', 'loss'}
    for name, value in outputs.items(): assert abs(inside[name] - value) <= 1e-5 * max(1, abs(value)), name
