"""Kills random trainings (drawn_training.py) at a random time, also before the first snapshot, and resumes them with
--snapshot=auto. Weights and scores must be those of the uninterrupted training, bit for bit. With several ranks, one or
the launcher is killed; another number of ranks may resume. kill_resume_test.py is the test; without pytest:

    kill_resume.py CORTADO [--rounds 6] [--seed N] [--first N] [--flags="--gpu=0"]

A round is a function of the seed and its number: --seed=N --first=R --rounds=1 repeats round R.
"""
import argparse, collections, os, random, signal, sys, time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
from tests.cli.drawn_training import DrawnPlace, draw_ranks, draw_training, end_of, remaining, session_of, text_of

def kill_one(process, draw):
    """Kills the process or another one of its session."""
    others = sorted(set(session_of(process.pid)) - {process.pid})
    victim = draw.choice([process.pid, process.pid, *others])
    try: os.kill(victim, signal.SIGKILL)
    except ProcessLookupError: pass

def killed_run(place, drawn, ranks, draw):
    """Kills the training at a random time; returns this time in seconds."""
    longest = place.known[drawn].seconds
    while True:
        place.begin(drawn)
        process = place.start(drawn, ranks)
        moment = draw.uniform(0, longest)
        time.sleep(moment)
        kill_one(process, draw)
        log = end_of(process)
        left = remaining(process.pid)
        assert not left, 'still running: %s' % left
        if process.returncode != 0: break
        longest *= 0.9  # it ended before the kill
    assert process.returncode in (137, -9), 'exit %d\n%s' % (process.returncode, log[-2000:])
    return moment

def run_round(place, number, seed, flags=''):
    """Returns the iteration that the training resumed from; raises AssertionError if the result differs."""
    draw = random.Random('%d/%d' % (seed, number))
    drawn = draw_training(draw, flags)
    first, second = draw_ranks(draw, drawn), draw_ranks(draw, drawn)
    print('round %d: %s, by %d and %d ranks' % (number, text_of(drawn), first, second), end=': ', flush=True)
    place.uninterrupted(drawn)
    moment = killed_run(place, drawn, first, draw)
    differs, begins = place.resume(drawn, second)
    print('killed after %.3f s, resumed from %d: %s' % (moment, begins, differs or 'equal'), flush=True)
    assert not differs, differs
    return begins

def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('cortado')
    parser.add_argument('--rounds', type=int, default=6)
    parser.add_argument('--seed', type=int, default=random.randrange(1 << 30))
    parser.add_argument('--first', type=int, default=0, help='number of the first round')
    parser.add_argument('--flags', default='', help='flags for `train`, for example a device; a random one without it')
    options = parser.parse_args()
    print('seed', options.seed)
    place = DrawnPlace(options.cortado)
    begins = collections.Counter()
    for number in range(options.first, options.first + options.rounds):
        try: begins[run_round(place, number, options.seed, options.flags)] += 1
        except AssertionError as error: print(error, flush=True)
    print('resumed from iteration:', ', '.join('%d: %d' % pair for pair in sorted(begins.items())))
    print('kills: %d of %d resumed bit for bit' % (sum(begins.values()), options.rounds))
    if sum(begins.values()) != options.rounds: sys.exit('seed %d' % options.seed)


if __name__ == '__main__': main()
