#!/usr/bin/python3
"""Checks the words of comments, strings, documents and identifiers against docs/style.md.

    check_words.py [FILE...]    prints each finding in these files, or in all: line, word, and what to say instead

Exit code 1 where there are any.
"""
import io
import pathlib
import re
import subprocess
import sys
import tokenize

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORDS = {  # a word or phrase, as a regular expression: what to say instead
    r'tells?|telling|told': 'report, log, print, pass, say which',
    r'wish(?:es)?|wanted': 'requested, needed, expected',
    r'foretells?|foretold': 'estimate',
    r'behind': 'after',
    r'beside': 'next to, alongside, in addition to',
    r'stands|stood': 'is, lies',
    r'whoever': 'name the caller, thread or user',
    r'(?:is|are) no(?= (?!longer))': 'is not, has no, does not exist',
    r'(?:a|one) word too|without a word': 'name the token; silently',
    r'gives': 'returns, yields',
    r'(?:make|makes|made|making) (?:it |them )?again': 'recompute',
    r'looks? into|looked into': 'inspect, read',
    r'strangers?': 'third-party, untrusted',
    r'held (?:to|by)': 'checked against, limited to',
    r'mistakes?': 'error, diagnostic',
    r'passed over|passes over': 'skipped',
    r'heeds?|heeded': 'obey, follow',
}
IDENTIFIERS = {  # whole identifiers: the name to use
    'HeldUp': 'CpuContention', 'HostWaits': 'SyncCounter', 'LateCopy': 'AsyncReadback', 'RunsByPacks': 'Vectorizable',
    'Mistake': 'Diagnostic', 'Draft': 'PartialNet', 'Census': 'GraphStats', 'Quotient': 'Ratio',
    'Walk': 'SequentialFinder', 'Jumps': 'IndexedFinder', 'WindowWords': 'TokenReader',
    'GradientTeller': 'GradientForwarder', 'KeptAside': 'StatisticsGuard', 'kWrong': 'kInvalid',
    'bad_records_passed_over': 'max_bad_records', 'restart_for_this_machine': 'reexec_for_cpu_level',
    'close_forgotten': 'recover_missing_brace', 'hear_complaint': 'drain_stderr',
    'straighten_batch_norm': 'normalize_bn_blobs',
    'parse_and_tell': 'parse_with_origin', 'require_sound': 'throw_if_invalid', 'leaves_map': 'emits_affine',
    'takes_map': 'reads_affine', 'interleave_concats': 'fuse_concat_shuffle', 'hand_back': 'scatter_pool_gradient',
    'remembers_batches': 'is_stateful', 'judged_classes': 'predictions', 'stand_in': 'replacement',
    'bring_in': 'prefetch', 'heed_clock': 'poll_snapshot_timer', 'set_others_aside': 'archive_stale_snapshots',
    'keep_what_is_wanted': 'apply_retention', 'foretell': 'estimate', 'torn_': 'unrecoverable_',
    'unseen_': 'in_flight_'}
PREFIXES = r'k(?:Most|Deepest|Longest|Widest|Fewest)[A-Z]\w*'  # kMax..., kMin...
SUFFIXES = {'.cc': 'c', '.h': 'c', '.cu': 'c', '.cuh': 'c', '.py': 'py', '.md': 'text', '.sh': 'hash', '.cmake': 'hash',
            '.proto': 'c', '.js': 'c', '.html': 'text', '.test': 'hash', '.prototxt': 'hash', '.yml': 'hash'}
JSON_KEYS = {'"mistakes"', "'mistakes'"}  # of machine-readable output, which stays as it is
OWN = {'scripts/dev/check_words.py', 'docs/style.md', 'tests/scripts/check_words_test.py'}  # they name the words
PHRASES = re.compile(r'\b(?:%s)\b' % '|'.join('(%s)' % word for word in WORDS), re.IGNORECASE)  # a group for each
CALLS = {'become': 'exec_program'}  # words that are common elsewhere
NAMES = re.compile(r'\b(?:%s|%s)\b|\bbecome(?=\()' % ('|'.join(sorted(IDENTIFIERS, key=len, reverse=True)), PREFIXES))
C_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((.*?)\)"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'', re.DOTALL)


def texts_of_c(source):
    """(offset, text) of each comment and string."""
    return [(match.start(), match.group()) for match in C_TEXT.finditer(source) if match.group()[0] != "'"]


def texts_of_python(source):
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return []
    return [(starts[token.start[0] - 1] + token.start[1], token.string) for token in tokens
            if token.type in (tokenize.COMMENT, tokenize.STRING)]


def texts_of_hashed(source):
    return [(match.start(), match.group()) for match in re.finditer(r'(?m)(?:^|\s)#[^\n]*|"[^"\n]*"', source)]


def findings(path, source):
    """(line, what was found, what to say instead), in order."""
    kind = SUFFIXES[path.suffix] if path.suffix in SUFFIXES else 'hash'
    texts = {'c': texts_of_c, 'py': texts_of_python, 'hash': texts_of_hashed,
             'text': lambda source: [(0, source)]}[kind](source)
    found = []
    for offset, text in texts:
        if text in JSON_KEYS: continue
        for match in PHRASES.finditer(text):
            instead = list(WORDS.values())[match.lastindex - 1]
            found.append((offset + match.start(), match.group(), instead))
    if kind == 'c':
        for match in NAMES.finditer(source):
            instead = IDENTIFIERS.get(match.group()) or CALLS.get(match.group(), 'kMax..., kMin...')
            found.append((match.start(), match.group(), instead))
    return [(source.count('\n', 0, offset) + 1, word, instead) for offset, word, instead in sorted(found)]


def files():
    listed = subprocess.run(['git', '-C', str(ROOT), 'ls-files'], check=True, stdout=subprocess.PIPE,
                            universal_newlines=True).stdout.splitlines()
    return [path for path in listed if path not in OWN and
            (pathlib.Path(path).suffix in SUFFIXES or pathlib.Path(path).name == 'CMakeLists.txt')]


def main():
    chosen = [pathlib.Path(argument) for argument in sys.argv[1:]] or [ROOT / path for path in files()]
    number = 0
    for path in chosen:
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        for line, word, instead in findings(path, path.read_text(errors='replace')):
            number += 1
            print('%s:%d: "%s": %s' % (shown, line, word, instead))
    print('%d files, %d findings' % (len(chosen), number), file=sys.stderr)
    return bool(number)


if __name__ == '__main__':
    sys.exit(main())
