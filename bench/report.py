"""Prints results as lines, and as the tables of docs/benchmarks.md."""
import json


def interval(low_high):
    return '[%.2f, %.2f]' % tuple(low_high)


def best_of(result):
    return '%s, %s' % (result['peer'], result['setting'])


def each_peer(result):
    return ', '.join('%s %.2f' % item for item in result.get('best_ms', {}).items())


def timing_line(r):
    tried = ', '.join('%s %.2f' % item for item in r['tried_ms'].items())
    lines = ['ours %.2f ms, %s %.2f ms, ratio %.2f %s, quartiles %s; A/A %.2f %s' % (
        r['ours_ms'], best_of(r), r['peer_ms'], r['ratio'][1], interval(r['interval']), interval(r['ratio'][::2]),
        r['a_a'][1], interval(r['a_a'][::2])),
        'least times %.2f, CPU seconds %.2f, %.0f %% of %.0f GFLOP/s; %d of %d rounds; load %.1f, steal %.1f %%' % (
        r['least_ratio'], r['cpu_ratio'], 100 * r['share_of_peak'], r['peak_gflops'], r['rounds_used'],
        len(r['rounds']), r['rounds'][-1]['load'], 100 * max(round['steal'] for round in r['rounds'])),
        'tried, ms: ' + tried]
    if 'images' in r:
        lines.append('%s: %.0f img/s; device memory: ours %.0f MB, peer %.0f MB' % (
            r['precision'], r['images'], *r['device_mb']))
    if 'contended' in r:
        b = r['contended']
        lines.append('with %d busy processes: we keep %.2f %s of the quiet rate, the peer %.2f %s; '
                     'ratio %.2f busy, %.2f quiet' % (
            b['processes'], b['kept'][1], interval(b['kept'][::2]), b['peer_kept'][1], interval(b['peer_kept'][::2]),
            b['ratio_busy'][1], b['ratio_quiet'][1]))
    if 'alone_ms' in r:
        lines.append('alone, waiting actively: ours %.2f ms, peer %.2f ms' % tuple(r['alone_ms']))
    if 'best_ms' in r:
        lines.append('best setting of each peer, ms: ' + each_peer(r))
    if 'differences' in r:
        lines.append('outputs differ by ' + ', '.join('%s %.1e' % item for item in r['differences'].items()))
        lines.append('p99: ours %.2f ms, peer %.2f ms' % (r['ours_p99_ms'], r['peer_p99_ms']))
    return lines


def each_rival(r):
    return ', '.join('%s %.2f %s' % (name, rival['ratio'][1], interval(rival['interval']))
                     for name, rival in r['rivals'].items())


def integers_line(r):
    return timing_line(r) + [
        '%d of %d layers on integers; scores alike: %s' % (
            *r['layers'], ', '.join('%s %.3f' % item for item in r['likeness'].items())),
        'ratio to each: ' + each_rival(r),
        'p99: ours %.2f ms, peer %.2f ms' % (r['ours_p99_ms'], r['peer_p99_ms'])]


def trajectory_line(r):
    show = lambda side: '%s: %s' % (side, ' '.join('%.5g' % v for v in r['losses'][side]))
    return ['largest relative difference of losses over %d steps %.1e; %s against itself %.1e' % (
        len(r['losses']['ours']), r['difference'], r['peer'], r['noise'])] + [show(side) for side in r['losses']]


def memory_line(r):
    others = ', '.join('%s %.0f MB (%.0f ms)' % (s, mb, r['peers_ms'][s]) for s, mb in r['peers_mb'].items())
    return ['ours %.0f MB (%.0f ms), %s %.0f MB: %.2f; all: %s; import alone %.0f MB' % (
        r['ours_mb'], r['ours_ms'], best_of(r), r['peer_mb'], r['share'], others, r['import_mb'])]


def startup_line(r):
    peer = ', %s %.2f s' % (r['peer'], r['peer_s']) if 'peer' in r else ''
    return ['first step after %.3f s, with cached kernel choices %.3f s; --help %.3f s%s' % (
        r['cold_s'], r['warm_s'], r['help_s'], peer)]


def accuracy_line(r):
    return ['accuracy %.4f, loss %.3f after %.0f s: %d iterations, %d parameters' % (
        r['accuracy'], r['loss'], r['seconds'], r['iterations'], r['parameters'])]


def side_seconds(r, side):
    """The seconds of each seed; runs that ended before the accuracy was reached are marked."""
    return ['%.1f%s' % (p[side]['seconds'], '' if p[side]['reached'] else ' (not reached)') for p in r['pairs']]


def fit_line(r):
    lines = ['accuracy %g: ratio %s of %s' % (r['target'], ratio_of_fits(r), best_of(r))]
    for number, pair in enumerate(r['pairs'], 1):
        lines.append('seed %d: ' % number + ', '.join('%s %.1f s, %d iterations, %.4f%s' % (
            side, pair[side]['seconds'], pair[side]['iterations'], pair[side]['accuracy'],
            '' if pair[side]['reached'] else ' (not reached)') for side in ('ours', 'peer')))
    return lines + ['tried, s: ' + ', '.join('%s %.1f' % item for item in r['tried_s'].items())]


def ratio_of_fits(r):
    return '%.2f %s' % (r['ratio'], interval([min(r['ratios']), max(r['ratios'])])) if r['ratios'] else 'none'


def fit_row(r):
    each = lambda form, key: '; '.join(', '.join(form % p[side][key] for p in r['pairs']) for side in ('ours', 'peer'))
    return ['%g' % r['target'], ', '.join(side_seconds(r, 'ours')),
            '%s (%s)' % (', '.join(side_seconds(r, 'peer')), best_of(r)), ratio_of_fits(r),
            each('%d', 'iterations'), each('%.4f', 'accuracy')]


def data_line(r):
    tried = ', '.join('%s %.0f' % item for item in r['tried'].items())
    return ['ours %.0f img/s (%d data threads), %s %.0f img/s, ratio %.2f %s; A/A %.2f %s' % (
        r['ours'], r['data_threads'], best_of(r), r['theirs'], r['ratio'][1], interval(r['interval']), r['a_a'][1],
        interval(r['a_a'][::2])), 'tried, img/s: ' + tried]


LINES = {'train': timing_line, 'inference': timing_line, 'int8 inference': integers_line,
         'trajectory': trajectory_line, 'memory': memory_line, 'startup': startup_line, 'accuracy': accuracy_line,
         'time-to-accuracy': fit_line, 'data': data_line}


def label(r, batch=''):
    """The net, its batch, the weights' history unless they were initial, and the CPU level limit."""
    text = '%s %s%d' % (r['net'], batch, r['batch'])
    if 'start' in r:
        text += ', ' + r['start']
    return text + ', limited to ' + r['cpu_level'] if r.get('held') else text


def show(result):
    head = '%s %s: ' % (result['mode'], label(result, 'batch '))
    print(head + '\n    '.join(LINES[result['mode']](result)), flush=True)


def timing_row(r):
    return ['%.2f' % r['ours_ms'], '%.2f (%s)' % (r['peer_ms'], best_of(r)),
            '%.2f %s' % (r['ratio'][1], interval(r['interval'])), '%.2f %s' % (r['a_a'][1], interval(r['a_a'][::2])),
            '%.2f' % r['cpu_ratio'], '%.0f %% of %.0f' % (100 * r['share_of_peak'], r['peak_gflops'])]


def inference_row(r):
    p99 = '%.2f, %.2f' % (r['ours_p99_ms'], r['peer_p99_ms'])
    return timing_row(r) + [p99, '%.0e' % max(r['differences'].values()), each_peer(r)]


def integers_row(r):
    rivals = ['%s, %s: %.2f ms, %.2f %s' % (name, rival['setting'], rival['ms'], rival['ratio'][1],
                                            interval(rival['interval'])) for name, rival in r['rivals'].items()]
    return timing_row(r) + ['%d of %d' % tuple(r['layers']), '%.2f' % min(r['likeness'].values()), '; '.join(rivals)]


TIMING = ['ours, ms', 'best peer, ms', 'ratio', 'A/A', 'CPU seconds', 'share of peak, GFLOP/s']
TABLES = {  # mode: (title, columns after "net, batch", row)
    'train': ('Training step', TIMING, timing_row),
    'inference': ('Inference', TIMING + ['p99, ms: ours, peer', 'outputs differ', 'each peer, ms'], inference_row),
    'int8 inference': ('Inference on 8-bit integers', TIMING + [
        'layers', 'scores alike', 'each, its ms and the ratio to it'], integers_row),
    'trajectory': ('Losses over 20 steps, Dropout off', ['ours against PyTorch', 'PyTorch against itself'],
                   lambda r: ['%.1e' % r['difference'], '%.1e' % r['noise']]),
    'memory': ('Peak resident memory in training', ['ours, MB', 'PyTorch, MB', 'share', 'its other format, MB',
                                                    'import torch alone, MB'],
               lambda r: ['%.0f' % r['ours_mb'], '%.0f (%s)' % (r['peer_mb'], r['setting']), '%.2f' % r['share'],
                          ', '.join('%.0f' % mb for s, mb in r['peers_mb'].items() if s != r['setting']),
                          '%.0f' % r['import_mb']]),
    'startup': ('Start to the end of the first training step',
                ['first time, s', 'again, s', 'PyTorch, s', '`--help`, s'],
                lambda r: ['%.3f' % r['cold_s'], '%.3f' % r['warm_s'],
                           '%.2f' % r['peer_s'] if 'peer_s' in r else '', '%.3f' % r['help_s']]),
    'accuracy': ('Accuracy on Fashion-MNIST after equal times',
                 ['parameters', 'seconds', 'iterations', 'accuracy', 'loss'],
                 lambda r: ['%d' % r['parameters'], '%.0f' % r['seconds'], '%d' % r['iterations'],
                            '%.4f' % r['accuracy'], '%.3f' % r['loss']]),
    'time-to-accuracy': ('From start to a test accuracy on Fashion-MNIST',
                         ['accuracy', 'ours, s', 'peer, s', 'ratio [least, most]', 'iterations: ours; peer',
                          'reached: ours; peer'], fit_row),
    'data': ('Reading JPEGs', ['ours, img/s', 'DataLoader, img/s', 'ratio', 'A/A'],
             lambda r: ['%.0f' % r['ours'], '%.0f (%s)' % (r['theirs'], r['setting']),
                        '%.2f %s' % (r['ratio'][1], interval(r['interval'])),
                        '%.2f %s' % (r['a_a'][1], interval(r['a_a'][::2]))])}


def tables(path):
    """The last line of each mode and label in a JSON-lines file, as Markdown."""
    latest = {}
    with open(path) as file:
        for line in file:
            result = json.loads(line)
            latest[result['mode'], label(result)] = result
    parts = []
    for mode, (title, columns, row) in TABLES.items():
        chosen = [r for (kind, _), r in latest.items() if kind == mode]
        if not chosen:
            continue
        where = sorted({'%s (%s, %d threads)' % (r['git'], r['cpu'], r['threads']) for r in chosen})
        lines = ['### ' + title, '', '; '.join(where), '', '| ' + ' | '.join(['net, batch'] + columns) + ' |',
                 '|---' * (len(columns) + 1) + '|']
        lines += ['| ' + ' | '.join([label(r)] + row(r)) + ' |' for r in chosen]
        parts.append('\n'.join(lines))
    return '\n\n'.join(parts)
