"""Statistics of the report: medians, spreads, selection of rounds."""
import statistics

import numpy

MOST_STEAL, LEAST_ROUNDS = 0.01, 3
median = statistics.median


def quartiles(values):
    low, middle, high = numpy.percentile(values, [25, 50, 75])
    return [float(low), float(middle), float(high)]


def bootstrap(values, samples=4000):
    """95 % interval of the median, by resampling the rounds."""
    random = numpy.random.default_rng(1)
    drawn = random.choice(numpy.asarray(values), (samples, len(values)))
    return [float(v) for v in numpy.percentile(numpy.median(drawn, axis=1), [2.5, 97.5])]


def quiet(rounds):
    """The rounds with at most 1 % stolen time, or the three quietest if they are fewer."""
    calm = [r for r in rounds if r['steal'] <= MOST_STEAL]
    return calm if len(calm) >= LEAST_ROUNDS else sorted(rounds, key=lambda r: r['steal'])[:LEAST_ROUNDS]


def paired(rounds):
    """The ratio of peer to ours over rounds {'ours': [a, d], 'peer': [b, c]}, and the noise of ours."""
    ratios = [sum(r['peer']) / sum(r['ours']) for r in rounds]
    return {'ratio': quartiles(ratios), 'interval': bootstrap(ratios),
            'a_a': quartiles([r['ours'][0] / r['ours'][1] for r in rounds])}


def summary(rounds):
    """Summarizes paired rounds {'ours': [a, d], 'peer': [b, c], 'cpu': [ours, peer], ...}, in seconds per step."""
    used = quiet(rounds)
    return {**paired(used), 'ours_ms': 1e3 * median([t for r in used for t in r['ours']]),
            'peer_ms': 1e3 * median([t for r in used for t in r['peer']]),
            'least_ratio': min(t for r in used for t in r['peer']) / min(t for r in used for t in r['ours']),
            'cpu_ratio': median([r['cpu'][1] / r['cpu'][0] for r in used if r['cpu'][0] > 0] or [0]),
            'peak_gflops': median([r['peak'] for r in used]), 'rounds_used': len(used), 'rounds': rounds}


def largest_difference(a, b):
    """The largest difference of two series, relative to the second one's values."""
    return max(abs(x - y) / max(abs(y), 1e-30) for x, y in zip(a, b))
