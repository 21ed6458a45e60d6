"""Training modes: `train` (time of a step) and `trajectory` (losses of twenty steps)."""
import contended
import nets
import pairing
import stats
from worker import ACTIVE, Worker, start_all, waiting_of

RATE = '0.001'
WARM_UP = (100, '0.05')  # steps, rate
MOST_NOISE = 1e-3
EAGER = ['contiguous', 'channels_last']
COMPILED = ['compiled contiguous', 'compiled channels_last']


def commands(options, folder, name, batch, **form):
    """Our command and, by setting, PyTorch's; writes batches and net to the folder."""
    net = nets.write(folder + '/train.prototxt', nets.training(name, batch, dropout=form.get('dropout', True)))
    data, label = nets.write_batches(folder, name, batch, form.get('batches', 1))
    common = [data, label, str(options.threads)]
    init = folder + '/init.caffemodel'
    precision = form.get('precision', 'fp32')
    place = ['precision=' + precision] + (['gpu=' + options.gpu] if options.gpu else [])
    there = ' cuda:' + options.gpu if options.gpu else ''
    if options.gpu or precision != 'fp32':
        there += ' ' + precision
    ours = lambda path, rate=RATE: [options.bin + '/cortado_bench_train', net, path] + common + [rate] + place
    peer = lambda setting: ([options.python, options.scripts + '/torch_train.py', net, init] + common +
                            [RATE, setting + there])
    return ours, peer, init


def measure(options, folder, name, tell):
    batch = options.batch or nets.training_batch(name)
    ours_command, peer_command, init = commands(options, folder, name, batch, precision=options.precision)
    waiting = waiting_of(options)
    with Worker('', ours_command(init), options.threads, waiting) as ours:
        ours.greet().step(3)
        settings = EAGER + ([] if options.no_compile else COMPILED)
        peers = start_all({s: peer_command(s) for s in settings}, options.threads, options.compile_limit, tell, waiting)
        if not peers:
            return None
        best, tried = pairing.fastest(peers)
        with best as peer:
            rounds, _ = pairing.rounds(ours, peer, options.rounds, options.block)
            others = contended.measure(ours, peer, options) if options.contended else None
            device_mb = [worker.ask('device-memory')[0] for worker in (ours, peer)] if options.gpu else []
        result = dict(stats.summary(rounds), mode='train', net=name, batch=batch, peer=peer.name, setting=peer.setting,
                      tried_ms=tried,
                      versions=sorted({p.name for p in peers}), gflop=ours.flops / 1e9, memory_mb=ours.ask('memory')[0])
        if others:
            result['contended'] = others
        result['precision'] = options.precision
        if options.gpu:
            result.update(images=batch / result['ours_ms'] * 1e3, device_mb=device_mb)
    if options.alone:
        result['alone_ms'] = [alone(options, c) for c in (ours_command('-'), peer_command(best.setting))]
    result['share_of_peak'] = result['gflop'] / result['ours_ms'] * 1e3 / result['peak_gflops']
    return [result]


def alone(options, command):
    """Milliseconds per step of a process alone on the machine, with active waiting."""
    with Worker('', command, options.threads, ACTIVE) as worker:
        count = pairing.count_for(worker.greet(), options.block)
        worker.step(3)
        return 1e3 * stats.median([worker.step(count)[0] for _ in range(5)])


def losses_of(command, options, setting, steps):
    """The losses of `steps` training steps in a separate process, and its name."""
    with Worker(setting, command, options.threads) as worker:
        return worker.greet().step(steps)[1], worker.name


def compared(options, name, ours, peer, steps):
    """Compares our steps with PyTorch's in both formats, one process at a time."""
    batch = nets.training_batch(name)
    losses, names = {}, {}
    for setting, command in [('ours', ours)] + [(s, peer(s)) for s in EAGER]:
        losses[setting], names[setting] = losses_of(command, options, setting, steps)
    return {'mode': 'trajectory', 'net': name, 'batch': batch, 'peer': names[EAGER[0]], 'losses': losses,
            'difference': stats.largest_difference(losses['ours'], losses[EAGER[0]]),
            'noise': stats.largest_difference(losses[EAGER[1]], losses[EAGER[0]])}


def trajectory(options, folder, name, tell, steps=20):
    """Dropout off, the same four batches in turn. If PyTorch's two formats diverge from initial weights, the losses are
    not comparable: repeat from weights that a larger rate has trained to a region where this rate is stable."""
    batch = nets.training_batch(name)
    ours, peer, init = commands(options, folder, name, batch, dropout=False, batches=4, precision=options.precision)
    fresh = compared(options, name, ours(init), peer, steps)
    if fresh['noise'] <= MOST_NOISE:
        return [fresh]
    ours, peer, init = commands(options, folder, name, batch, dropout=False, batches=32,
                                        precision=options.precision)
    warm_up, rate = WARM_UP
    with Worker('ours', ours('-', rate), options.threads) as worker:
        worker.greet().step(warm_up)
        worker.ask('save ' + init)
    trained = compared(options, name, ours('-') + ['weights=' + init], peer, steps)
    return [fresh, dict(trained, start='after %d steps at %s' % WARM_UP)]
