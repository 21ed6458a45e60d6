"""Mode `inference` with `--precision=int8`: a net on 8-bit integers, against peers on theirs and our own floats."""
import contextlib
import json
import subprocess

import numpy

import contended
import infer
import levels
import nets
import pairing
import stats
from worker import Worker, WorkerEnded, start_all, waiting_of

SAMPLES = 32  # for calibration
LEAST_ALIKE = 0.9
OWN = 'our floats'
LEAST = numpy.finfo(numpy.float32).tiny


def quantized(options, folder, name, batch, weights, net):
    """Our calibrated net, and the numbers of layers that compute on integers and that could."""
    source = nets.write(folder + '/calibrate.prototxt', nets.deployed(name, batch, 'DummyData'))
    run = subprocess.run([options.bin + '/cortado', 'quantize', '--model=' + net, '--weights=' + weights,
                          '--calibrate=' + source, '--output=' + folder + '/int8', '--batches=%d' % (SAMPLES // batch),
                          '--compare=1', '--force', '--json', '--quiet', '--threads=%d' % options.threads],
                         capture_output=True, text=True)
    if run.returncode:
        raise WorkerEnded((run.stderr.strip().splitlines() or ['cortado quantize: no result'])[-1])
    layers = [layer['quantized'] for layer in json.loads(run.stdout)['layers']]
    return folder + '/int8.prototxt', [sum(layers), len(layers)]


def peer_files(options, folder, name, batch, common, tell):
    """The quantized net of each tool that succeeds; OpenVINO reads both."""
    floats, shape = folder + '/net.onnx', infer.shape_text(name, batch)
    if not infer.succeeds(infer.torch_command(options, common, floats), 'peers: skipped: no export', tell):
        return {}
    # Without VNNI sums may overflow, so ONNX Runtime recommends weights of 7 bits.
    bits = '8' if levels.has_vnni() and not options.held else '7'
    made = {}
    for tool, result, *rest in ('QDQ', folder + '/qdq.onnx', bits), ('NNCF', folder + '/nncf.xml'):
        command = [options.python, options.scripts + '/peer_quantize.py', floats, shape, str(SAMPLES // batch), result]
        if infer.succeeds(command + rest, tool + ': skipped', tell):
            made[tool] = result
    return made


def peer_commands(options, folder, name, batch, common, tell):
    """The peers' commands by setting."""
    files = peer_files(options, folder, name, batch, common, tell)
    runs = [('openvino', tool, '%s %s' % (tool, way)) for tool in files for way in ('pinned', 'unpinned')]
    if options.held:
        tell('ONNX Runtime: skipped: it cannot be limited to ' + options.cpu_level)
    elif 'QDQ' in files:
        runs += [('onnx', 'QDQ', way) for way in ('waiting', 'spinning')]
    return {setting: [options.python, '%s/%s_infer.py' % (options.scripts, peer), files[tool],
                      infer.shape_text(name, batch)] + common[2:] + [setting] for peer, tool, setting in runs}


def scores(worker, folder, batch):
    """The Softmax's input for each sample, up to a constant."""
    logarithms = numpy.log(numpy.maximum(infer.output_of(worker, folder), LEAST)).reshape(batch, -1)
    return logarithms - logarithms.mean(1, keepdims=True)


def alike(values, expected):
    """The cosine similarity."""
    if values.shape != expected.shape:
        return 0.0
    lengths = numpy.linalg.norm(values) * numpy.linalg.norm(expected)
    return float((values * expected).sum() / max(lengths, LEAST))


def checked(ours, exact, peers, folder, batch, tell):
    """The peers whose scores are similar to those of our floats, and the similarity of each side."""
    expected, own = scores(exact, folder, batch), scores(ours, folder, batch)
    if numpy.array_equal(own, expected):
        raise WorkerEnded('our net computes on floats although it has scales')
    likeness = {'ours': alike(own, expected)}
    if not likeness['ours'] >= LEAST_ALIKE:
        raise WorkerEnded('our scores have a similarity of only %.3f' % likeness['ours'])
    kept = []
    for peer in peers:
        likeness[peer.setting] = alike(scores(peer, folder, batch), expected)
        if likeness[peer.setting] >= LEAST_ALIKE:
            kept.append(peer)
            continue
        tell('%s: skipped: its scores have a similarity of only %.3f' % (peer.setting, likeness[peer.setting]))
        peer.close()
    return kept, likeness


def fastest_of_each(peers):
    """The fastest worker of each peer, and the times of all settings."""
    best, tried = [], {}
    for name in sorted({peer.name for peer in peers}):
        chosen, times = pairing.fastest([peer for peer in peers if peer.name == name])
        best.append(chosen)
        tried.update(times)
    return best, tried


def against(ours, rivals, options):
    """For each rival: the worker, the figures of its rounds, the seconds of all requests."""
    measured = []
    for rival in rivals:
        rounds, requests = pairing.rounds(ours, rival, options.rounds, options.block)
        measured.append((rival, stats.summary(rounds), requests))
    return measured


def measure_batch(options, folder, name, batch, weights, tell):
    floats = nets.write(folder + '/deploy.prototxt', nets.deployed(name, batch))
    data, _ = nets.write_batches(folder, name, batch)
    net, layers = quantized(options, folder, name, batch, weights, floats)
    rest, waiting = [weights, data, str(options.threads)], waiting_of(options)
    with contextlib.ExitStack() as open_workers:
        start = lambda path, precision: open_workers.enter_context(
            Worker(precision, [options.bin + '/cortado_bench_infer', path] + rest, options.threads, waiting))
        ours, exact = start(net, 'int8'), start(floats, 'fp32')
        for worker in ours, exact:
            worker.greet().step(3)
        commands = peer_commands(options, folder, name, batch, [floats] + rest, tell)
        peers = start_all(commands, options.threads, options.compile_limit, tell, waiting)
        peers, likeness = checked(ours, exact, peers, folder, batch, tell)
        if not peers:
            return None
        best, tried = fastest_of_each(peers)
        for worker in best:
            open_workers.enter_context(worker)
        *measured, to_floats = against(ours, best + [exact], options)
        peer, figures, requests = min(measured, key=lambda one: one[1]['ratio'][1])
        others = contended.measure(ours, peer, options) if options.contended else None
    result = dict(figures, mode='int8 inference', net=name, batch=batch, peer=peer.name, setting=peer.setting,
                  tried_ms=tried, likeness=likeness, layers=layers, versions=sorted(worker.name for worker in best),
                  gflop=ours.flops / 1e9)
    result['rivals'] = {OWN if worker is exact else worker.name: dict(of, setting=worker.setting, ms=of['peer_ms'])
                        for worker, of, _ in measured + [to_floats]}
    if others:
        result['contended'] = others
    return infer.complete(result, requests)


def measure(options, folder, name, tell):
    weights = infer.write_weights(options, folder, name)
    results = [measure_batch(options, folder, name, batch, weights, tell) for batch in infer.BATCHES]
    return [result for result in results if result]
