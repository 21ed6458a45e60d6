"""Power loss while a program writes. The program's operations are recorded. For every prefix of them disk.py builds the
states that a disk may have: all operations complete, only synced ones, and random ones in between (--rounds). The
program is run again on 25 of these states, or on all with --all. A state that fails is kept in the test's tmp_path."""
import collections, errno, hashlib, random, re, shutil

import pytest

from tests.faults import disk, programs, shim
from tests.studio.studying import Studio


def record(program, place, words=None, **settings):
    """The program's operations below its folder, and the folder's name in the record. `words`: another command."""
    folder, path = place + '/recorded', place + '/record'
    shutil.copytree(program.begin, folder)
    command = [program.exe, *words] if words else program.command()
    done = shim.run(command, folder, under=folder, record=path, **settings)
    assert done and done.returncode == 0, programs.tail(done)
    shutil.rmtree(folder)
    return disk.read_record(path), folder


def announced_snapshots(operations):
    """(number of operations, iteration) of each snapshot that the metrics announce."""
    for i, operation in enumerate(operations):
        if operation['op'] != 'write': continue
        found = re.match(rb'.*"ev":"snapshot","iter":(\d+)', operation['data'])
        if found: yield i + 1, int(found[1])


def trees(operations, program, root, choose, rounds):
    """[(number of operations, tree)]: each distinct tree once, after the largest number of operations."""
    draws = collections.Counter(choose.choices(range(1, len(operations) + 1), k=rounds))
    seen, state = {}, disk.Disk(root, program.begin)
    for i, operation in enumerate(operations, 1):
        state.do(operation)
        made = [state.after_loss(), state.least()] + [state.after_loss(choose) for _ in range(draws[i])]
        for tree in made: seen[digest(tree)] = (i, tree)
    return list(seen.values())


def digest(tree):
    sum = hashlib.sha1()
    for path in sorted(tree):
        sum.update(path.encode() + b'\0' + (b'/' if tree[path] is None else hashlib.sha1(tree[path]).digest()))
    return sum.digest()


def moved(tree, root, folder):
    """Changes the folder in a run's record, which has the folder where the run began."""
    return {path: f.replace(root.encode(), folder.encode()) if path.endswith('/run.json') and f else f
            for path, f in tree.items()}


@pytest.mark.parametrize('program', [programs.Training, programs.Resume, programs.Conversion, programs.Export,
                                     programs.New],
                         ids=lambda kind: kind.name, indirect=True)
def test_durable_data_survives(program, every, rounds, seed, inject_all, tmp_path):
    operations, root = record(program, str(tmp_path))
    snapshots = list(announced_snapshots(operations))
    states = trees(operations, program, root, random.Random(seed), rounds or 200)
    if not every:  # some, and the last states, in which most must be durable
        states = random.Random(seed).sample(states[:-3], min(25, len(states) - 3)) + states[-3:]
    print('%d operations' % len(operations))
    def lose(place, number):
        done, tree = states[number]
        folder = place + '/lost'
        disk.build(moved(tree, root, folder), root, folder)
        try: check(folder, done)
        except AssertionError:
            shutil.copytree(folder, tmp_path / str(number))
            raise
    def check(folder, done):
        if program.name in ('conversion', 'export', 'new'): return program.check_rest(folder, done == len(operations))
        announced = max((iteration for at, iteration in snapshots if at <= done), default=None)
        if announced:
            whole = program.whole_snapshots(folder)
            assert max(whole, default=-1) >= announced, 'iteration %d was announced, valid are %s' % (announced, whole)
        program.resume(folder)
    inject_all(lose, [(number,) for number in range(len(states))])


TRAIN = 'train --solver=solver.prototxt'
NO_LINKS = 'link:1:failon:%d' % errno.EPERM
# Every command that writes files, and what a command writes in each format; the name of a helper program that it needs.
WRITERS = {
    'deploy net.prototxt -o made.prototxt': '',
    'draw net.prototxt -o made.svg': '',
    'upgrade old.prototxt -o made.prototxt': '',
    'mean set -o made.binaryproto': '',
    'mean set -o made.npy': '',
    'convert weights w.caffemodel -o made.caffemodel': '',
    'convert weights w.caffemodel -o made.npz': '',
    'convert weights w.caffemodel -o made.safetensors': '',
    'convert weights w.caffemodel -o made.caffemodel.h5': 'cortado-hdf5',
    'convert onnx deploy.prototxt w.caffemodel -o made.onnx': 'cortado-onnx',
    'convert onnx net.onnx -o made.prototxt': 'cortado-onnx',
    'convert idx images labels -o made': '',
    'convert folder pictures -o made --split=0.25': '',
    'data merge set set -o made --force': '',
    'data split set -o made --split=0.25': '',
    'data shuffle set -o made': '',
    'data export set -o made': '',
    'data cat set 00000000 -o made.png': '',
    'data sheet net.prototxt -o made.png': '',
    'features w.caffemodel net.prototxt ip made 2 lmdb': '',
    'features w.caffemodel net.prototxt ip made.npy 2 npy': '',
    'features w.caffemodel net.prototxt ip made.h5 2 hdf5': 'cortado-hdf5',
    'infer --model=deploy.prototxt --weights=w.caffemodel -i data=in.npy -o prob=made.npy': '',
    'quantize deploy.prototxt --weights=w.caffemodel --calibrate=net.prototxt -o made --batches=2 --compare=1': '',
    'detect --model=detector.prototxt --weights=w.caffemodel pictures/a/0.ppm -o made/found': 'libcortado_canvas.so',
    'runs compare run run -o made.html': '',
    'report run': '',
    'new classifier --data=sets -o made': '',
    TRAIN: '',
    TRAIN + ' --run=other --set solver.ema_decay=0.5': '',
    TRAIN + ' --set solver.snapshot_format=HDF5': 'cortado-hdf5',
}
GROWS = re.compile(r'/(lock|log\.txt|metrics\.jsonl|layers\.jsonl|tb/.*)$')  # files that a training appends to


@pytest.mark.parametrize('program', [programs.Writer], ids=[''], indirect=True)
@pytest.mark.parametrize('words', WRITERS)
def test_what_was_written_is_durable(program, words, seed, helper, tmp_path):
    """At the end all files are durable, and before it a file's name never has a part of its content. A training also
    runs where files cannot be linked."""
    if WRITERS[words]: helper(WRITERS[words])
    for rules in ([], [NO_LINKS]) if words.startswith(TRAIN + ' --') else ([],):
        place = tmp_path / str(len(rules))
        place.mkdir()
        check_durable(program, *record(program, str(place), words.split(), rules=rules), random.Random(seed))


@pytest.mark.parametrize('program', [programs.Writer], ids=[''], indirect=True)
def test_what_the_studio_has_answered_is_durable(program, helper, monkeypatch, tmp_path):
    """After each change of files. What is in the studio's own folder may be lost."""
    helper('cortado-studio')
    folder, path = str(tmp_path / 'recorded'), str(tmp_path / 'record')
    shutil.copytree(program.begin, folder)
    for name, value in shim.environment(under=folder, record=path).items(): monkeypatch.setenv(name, value)
    image = programs.read(program.begin + '/pictures/a/0.ppm')
    with Studio(program.exe, folder) as studio:
        def upload(to): assert studio.ask('POST', '/api/upload', image, path=to)[0] == 200
        def save(to):
            digest = studio.get('/api/text', path=to)['digest']
            studio.post('/api/text', path=to, text='# changed\n', digest=digest)
        steps = [lambda: studio.post('/api/folder', path='made'), lambda: upload('made/0.ppm'),
                 lambda: upload('made/a/b/0.ppm'), lambda: save('net.prototxt'),
                 lambda: studio.post('/api/folder', path='made/c/d'),
                 lambda: studio.post('/api/rename', path='made/a', name='e')]
        for step in steps:
            step()
            state = disk.Disk(folder, program.begin)
            for operation in disk.read_record(path): state.do(operation)
            kept, least = state.after_loss(), state.least()
            lost = [name for name in kept if '/.studio' not in name and least.get(name, 'absent') != kept[name]]
            assert not lost, 'not durable: %s' % lost
        assert folder + '/made/e/b/0.ppm' in kept and folder + '/made/c/d' in kept


def check_durable(program, operations, root, choose):
    state = disk.Disk(root, program.begin)
    seen = collections.defaultdict(set)  # the contents that a name has had
    def note(tree):
        for path, content in tree.items(): seen[path].add(content)
    def wrong(tree): return [path for path, content in tree.items()
                             if content not in seen[path] and not GROWS.search(path) and '.tmp' not in path]
    note(state.after_loss())
    begun = state.after_loss()
    for operation in operations:
        state.do(operation)
        if operation['op'] in ('write', 'extend', 'truncate', 'say'): continue
        note(state.after_loss())
        for tree in [state.least()] + [state.after_loss(choose) for _ in range(3)]:
            assert not wrong(tree), 'in part after %s: %s' % (operation, wrong(tree))
    end, least = state.after_loss(), state.least()
    made = [path for path in end if end[path] != begun.get(path) and not GROWS.search(path)]
    assert made, 'nothing was written'
    lost = [path for path in made if least.get(path, 'absent') != end[path]]
    assert not lost, 'not durable at the end: %s' % lost
