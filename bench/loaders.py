"""Mode `data`: images per second that a Data layer reads from JPEGs, against PyTorch's DataLoader."""
import json
import subprocess

import machine
import nets
import stats
from worker import WorkerEnded

PIPELINES = {  # of transform_param; the peer's are in torch_loader.py
    'train': ('TRAIN', 'augment { resized_crop {} } mirror: true'),
    'test': ('TEST', 'augment { short_side: 256 }')}
NET = '''layer {
  name: "data" type: "Data" top: "data" top: "label"
  data_param { source: "%s" batch_size: 64 backend: LMDB %s }
  transform_param { crop_size: 224 mean_value: 103.53 mean_value: 116.28 mean_value: 123.675 scale: 0.01743 %s }
}
'''
JPEGS = 2000
DECODERS, TRANSPORTS = ('torchvision', 'turbojpeg'), ('floats', 'bytes')


def database(options):
    """JPEGs of 500 x 375 like photographs, kept in the build folder."""
    folder = nets.ROOT + '/build/bench-data'
    subprocess.run([options.python, options.scripts + '/data_sets.py', options.bin + '/cortado', folder, '--raw=0',
                    '--jpeg=%d' % JPEGS], check=True)
    return folder + '/jpeg_lmdb'


def last_line(command):
    run = subprocess.run(command, capture_output=True, text=True, start_new_session=True)
    if run.returncode:
        raise WorkerEnded((run.stderr.strip().splitlines() or ['status %d' % run.returncode])[-1])
    return run.stdout


def our_rate(options, net, phase, workers):
    command = [options.bin + '/cortado', 'data', 'bench', net, '--phase=' + phase, '--seconds=%g' % options.block,
               '--data-threads=%d' % workers, '--threads=%d' % options.threads, '--json']
    return json.loads(last_line(command))['images_per_second']


def peer_rate(options, source, pipeline, decoder, transport, workers):
    command = [options.python, options.scripts + '/torch_loader.py', source, pipeline, decoder, transport,
               str(workers), '%g' % options.block]
    return float(last_line(command).split()[0])


def fastest(rates):
    return max(rates, key=rates.get)


def measure_pair(options, ours, peer):
    """Rounds of ours-peer-peer-ours, as seconds per image."""
    rounds = []
    for _ in range(options.rounds):
        before = machine.ticks()
        a, b, c, d = ours(), peer(), peer(), ours()
        rounds.append({'ours': [1 / a, 1 / d], 'peer': [1 / b, 1 / c], 'steal': machine.steal_since(before),
                       'load': machine.load()})
    return rounds


def measure(options, folder, name, tell):
    """One result for each decoder of the peer. Both sides use their fastest number of threads or workers, of the CPUs
    and one more."""
    phase, transform = PIPELINES[name]
    source = database(options)
    net = nets.write(folder + '/data.prototxt', NET % (source, 'shuffle: true' if name == 'train' else '', transform))
    counts = [options.threads, options.threads + 1]
    own = {n: our_rate(options, net, phase, n) for n in counts}
    results = []
    for decoder in DECODERS:
        try:
            tried = {(transport, n): peer_rate(options, source, name, decoder, transport, n)
                     for transport in TRANSPORTS for n in counts}
        except WorkerEnded as reason:
            tell('%s: skipped: %s' % (decoder, reason))
            continue
        transport, workers = fastest(tried)
        rounds = measure_pair(options, lambda: our_rate(options, net, phase, fastest(own)),
                              lambda: peer_rate(options, source, name, decoder, transport, workers))
        used = stats.quiet(rounds)
        results.append({
            **stats.paired(used), 'mode': 'data', 'net': '%s, %s' % (name, decoder), 'batch': 64, 'peer': 'DataLoader',
            'setting': '%s, %d workers' % (transport, workers),
            'ours': 1 / stats.median([t for r in used for t in r['ours']]), 'data_threads': fastest(own),
            'theirs': 1 / stats.median([t for r in used for t in r['peer']]),
            'tried': {'%s, %d' % key: rate for key, rate in tried.items()}, 'rounds': rounds})
    return results
