"""Mode `inference`: requests to a deployed net, batch 1 and 8."""
import subprocess

import numpy

import beside
import nets
import pairing
import stats
import train
from worker import Worker, start_all, waiting_of

BATCHES = (1, 8)
TRACED = ['traced contiguous', 'traced channels_last']
COMPILED = ['compiled contiguous', 'compiled channels_last']


def write_weights(options, folder, name):
    """Weights after a few steps of training, so that BatchNorm's statistics are not those of a fresh net."""
    ours, _, _ = train.commands(options, folder, name, 8)
    path = folder + '/trained.caffemodel'
    with Worker('', ours('-'), options.threads) as worker:
        worker.greet().step(3)
        worker.ask('save ' + path)
    return path


def peer_commands(options, folder, name, batch, common, tell):
    torch = lambda setting: [options.python, options.scripts + '/torch_infer.py'] + common + [setting]
    found = {setting: torch(setting) for setting in TRACED + ([] if options.no_compile else COMPILED)}
    onnx = folder + '/net.onnx'
    export = subprocess.run(torch(onnx), capture_output=True, text=True)
    if export.returncode:
        tell('ONNX Runtime: left out: no export: ' + (export.stderr.strip().splitlines() or ['?'])[-1])
        return found
    shape = 'x'.join(str(dim) for dim in nets.shape(name, batch))
    for setting in ('waiting', 'spinning'):
        found[setting] = [options.python, options.scripts + '/onnx_infer.py', onnx, shape] + \
            common[2:] + [setting]
    return found


def output_of(worker, folder):
    path = folder + '/output.f32'
    worker.ask('output ' + path)
    return numpy.fromfile(path, numpy.float32)


def differences(ours, peers, folder):
    """Largest difference of each peer's output from ours, relative to the largest of ours."""
    expected = output_of(ours, folder)
    return {peer.setting: float(abs(output_of(peer, folder) - expected).max() / abs(expected).max()) for peer in peers}


def measure_batch(options, folder, name, batch, weights, tell):
    net = nets.write(folder + '/deploy.prototxt', nets.deployed(name, batch))
    data, _ = nets.write_batches(folder, name, batch)
    common = [net, weights, data, str(options.threads)]
    waiting = waiting_of(options)
    with Worker('', [options.bin + '/cortado_bench_infer'] + common, options.threads, waiting) as ours:
        ours.greet().step(3)
        commands = peer_commands(options, folder, name, batch, common, tell)
        peers = start_all(commands, options.threads, options.compile_limit, tell, waiting)
        if not peers:
            return None
        apart = differences(ours, peers, folder)
        best, tried = pairing.fastest(peers)
        with best as peer:
            rounds, requests = pairing.rounds(ours, peer, options.rounds, options.block)
            others = beside.measure(ours, peer, options) if options.beside else None
        result = dict(stats.summary(rounds), mode='inference', net=name, batch=batch, peer=peer.name,
                      setting=peer.setting, tried_ms=tried, differences=apart,
                      versions=sorted({p.name for p in peers}), gflop=ours.flops / 1e9)
    if others:
        result['beside'] = others
    for side in 'ours', 'peer':
        result[side + '_p99_ms'] = 1e3 * float(numpy.percentile(requests[side], 99))
    result['share_of_peak'] = result['gflop'] / result['ours_ms'] * 1e3 / result['peak_gflops']
    return result


def measure(options, folder, name, tell):
    weights = write_weights(options, folder, name)
    results = [measure_batch(options, folder, name, batch, weights, tell) for batch in BATCHES]
    return [result for result in results if result]
