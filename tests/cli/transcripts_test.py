"""Transcripts fail for what they should."""
import sys, tempfile

import pytest

from tests.cli import transcripts


@pytest.fixture
def play(cortado, tmp_path, monkeypatch):
    """play(text) returns the failures of a transcript."""
    def play(text):
        (tmp_path / 'own.test').write_text(text)
        with tempfile.TemporaryDirectory(dir=tmp_path) as place:
            return transcripts.play(tmp_path / 'own.test', place, monkeypatch, False)
    return play


@pytest.fixture
def one_core(monkeypatch): monkeypatch.setattr('os.sched_getaffinity', lambda process: {0})


def test_waiting_is_not_limited(play, one_core):
    assert play("== run 0 limit=0.2\nsh -c 'sleep 0.5 && echo 1'\n> 1") == []


@pytest.mark.parametrize('seconds, fails', ((0.05, False), (0.7, True)))
def test_computing_is_limited(play, one_core, seconds, fails):
    (wrong,) = play('== file own.py\nimport time\nwhile time.process_time() < %g: pass\n'
                    '== run 0 limit=0.4\n%s own.py\n>! .' % (seconds, sys.executable)) or ['']
    assert ('computed for' in wrong) == fails


def test_commands_that_hang_are_killed(play, monkeypatch):
    monkeypatch.setattr(transcripts, 'HANGS', 0.3)
    (wrong,) = play('== run 0 limit=100\nsleep 60\n>! .')
    assert 'still running after 0.3 s' in wrong


@pytest.mark.parametrize('text, fails', (
    ('== run 0\ntrue', True), ('== run 1\nfalse\n# nothing', True), ('== run 0\ntrue\n>! .', False),
    ('== run 0\ntrue\n== make\nassert True', False), ('== run 0\ntrue\n== run 0\ntrue\n== make\nassert True', True)))
def test_more_than_the_exit_code_is_expected(play, text, fails):
    assert bool(play(text)) == fails


@pytest.mark.parametrize('expectation, fails', (
    ('> one', False), ('> on', True), ('>~ ^on', False), ('>~ two', True), ('>! two', False), ('>! ^one', True),
    ('2> one', True), ('2>~ one', True), ('2>! .', False), ('> one\n> two', True), ('one', True)))
def test_expectations(play, expectation, fails):
    assert bool(play('== run 0\necho one\n' + expectation)) == fails
    assert play('== run 2\necho one\n' + expectation)
