"""docs/trust.md: the sums are those of the log, nothing that was found is open, and README.md counts no more."""
import importlib.util, re

import pytest


@pytest.fixture(scope='module')
def trust(source):
    spec = importlib.util.spec_from_file_location('trust', source + '/scripts/dev/trust.py')
    trust = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(trust)
    return trust


def test_page_agrees_with_its_log(trust):
    text = trust.PAGE.read_text()
    assert trust.with_sums(text) == text, 'the sums are not those of the log'
    for row in trust.rows_of(text):
        assert row['part'] in [part.name for part in trust.PARTS], row
        assert row['findings'] == '0' or 'fixed' in row['findings'], row


# What README.md counts, by part
COUNTED = {'kills': ['kills'], 'rounds of signals': ['signals'], 'failing system calls': ['calls'],
           'damaged files': ['flips'], 'hostile requests': ['server', 'studio'], 'inputs of fuzzers': ['fuzz']}


def test_readme_counts_no_more_than_the_log(source, trust):
    sums, text = trust.sums_of(trust.PAGE.read_text()), ' '.join(open(source + '/README.md').read().split())
    for words, parts in COUNTED.items():
        counted = re.search(r'([\d,]+) ' + words, text)
        assert counted, words
        assert trust.number(counted[1]) <= sum(sums[part][2] for part in parts), words
