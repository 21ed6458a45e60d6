"""Mode `inference`: requests to a deployed net, batch 1 and 8."""
import subprocess

import numpy

import contended
import nets
import pairing
import stats
import train
from worker import Worker, start_all, waiting_of

BATCHES = (1, 8)
MOST_APART = 1e-2
TRACED = ['traced contiguous', 'traced channels_last']
COMPILED = ['compiled contiguous', 'compiled channels_last']


def write_weights(options, folder, name):
    """Weights after a few steps of training, so that BatchNorm's statistics differ from their initial values."""
    ours, _, _ = train.commands(options, folder, name, 8)
    path = folder + '/trained.caffemodel'
    with Worker('', ours('-'), options.threads) as worker:
        worker.greet().step(3)
        worker.ask('save ' + path)
    return path


def torch_command(options, common, setting):
    return [options.python, options.scripts + '/torch_infer.py'] + common + [setting]


def shape_text(name, batch):
    return 'x'.join(str(dim) for dim in nets.shape(name, batch))


def exported(options, folder, name, batch, common, tell):
    """Scripts and first arguments of the peers that read ONNX, by setting."""
    path, shape = folder + '/net.onnx', shape_text(name, batch)
    if not succeeds(torch_command(options, common, path), 'ONNX Runtime, OpenVINO, ncnn: skipped: no export', tell):
        return {}
    found = {setting: ['/openvino_infer.py', path, shape] for setting in ('pinned', 'unpinned')}
    if options.held:
        tell('ONNX Runtime, ncnn: skipped: they cannot be limited to ' + options.cpu_level)
        return found
    found.update({setting: ['/onnx_infer.py', path, shape] for setting in ('waiting', 'spinning')})
    script = '/ncnn_infer.py'
    if succeeds([options.python, options.scripts + script, path], 'ncnn: skipped: no conversion', tell):
        found.update({setting: [script, path, shape] for setting in ['one by one', 'batched'][:batch]})
    return found


def succeeds(command, otherwise, tell):
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        tell('%s: %s' % (otherwise, (run.stderr.strip().splitlines() or ['?'])[-1]))
    return run.returncode == 0


def peer_commands(options, folder, name, batch, common, tell):
    settings = TRACED + ([] if options.no_compile else COMPILED)
    found = {setting: torch_command(options, common, setting) for setting in settings}
    for setting, (script, *net) in exported(options, folder, name, batch, common, tell).items():
        found[setting] = [options.python, options.scripts + script] + net + common[2:] + [setting]
    return found


def output_of(worker, folder):
    path = folder + '/output.f32'
    worker.ask('output ' + path)
    return numpy.fromfile(path, numpy.float32)


def difference(output, expected):
    if output.shape != expected.shape:
        return float('inf')
    return float(abs(output - expected).max() / abs(expected).max())


def differences(ours, peers, folder):
    """The largest difference of each peer's output from ours, relative to our largest value."""
    expected = output_of(ours, folder)
    return {peer.setting: difference(output_of(peer, folder), expected) for peer in peers}


def without_strangers(peers, apart, tell):
    """Removes peers with other outputs, which run a different net."""
    for peer in peers:
        if not apart[peer.setting] <= MOST_APART:
            tell('%s: skipped: its output differs by %.1e' % (peer.setting, apart[peer.setting]))
            peer.close()
    return [peer for peer in peers if apart[peer.setting] <= MOST_APART]


def best_of_each(peers, tried):
    """The minimum time of each peer over its settings."""
    return {name: min(tried[p.setting] for p in peers if p.name == name) for name in sorted({p.name for p in peers})}


def complete(result, requests):
    """Adds derived figures to a result."""
    for side in 'ours', 'peer':
        result[side + '_p99_ms'] = 1e3 * float(numpy.percentile(requests[side], 99))
    result['share_of_peak'] = result['gflop'] / result['ours_ms'] * 1e3 / result['peak_gflops']
    return result


def measure_batch(options, folder, name, batch, weights, tell):
    net = nets.write(folder + '/deploy.prototxt', nets.deployed(name, batch))
    data, _ = nets.write_batches(folder, name, batch)
    common = [net, weights, data, str(options.threads)]
    waiting = waiting_of(options)
    with Worker('', [options.bin + '/cortado_bench_infer'] + common, options.threads, waiting) as ours:
        ours.greet().step(3)
        commands = peer_commands(options, folder, name, batch, common, tell)
        peers = start_all(commands, options.threads, options.compile_limit, tell, waiting)
        apart = differences(ours, peers, folder)
        peers = without_strangers(peers, apart, tell)
        if not peers:
            return None
        best, tried = pairing.fastest(peers)
        with best as peer:
            rounds, requests = pairing.rounds(ours, peer, options.rounds, options.block)
            others = contended.measure(ours, peer, options) if options.contended else None
        result = dict(stats.summary(rounds), mode='inference', net=name, batch=batch, peer=peer.name,
                      setting=peer.setting, tried_ms=tried, best_ms=best_of_each(peers, tried),
                      differences={p.setting: apart[p.setting] for p in peers},
                      versions=sorted({p.name for p in peers}), gflop=ours.flops / 1e9)
    if others:
        result['contended'] = others
    return complete(result, requests)


def measure(options, folder, name, tell):
    weights = write_weights(options, folder, name)
    results = [measure_batch(options, folder, name, batch, weights, tell) for batch in BATCHES]
    return [result for result in results if result]
