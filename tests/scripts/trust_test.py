"""docs/trust.md: the sums are those of the log, and nothing that was found is open."""
import importlib.util


def test_page_agrees_with_its_log(source):
    spec = importlib.util.spec_from_file_location('trust', source + '/scripts/dev/trust.py')
    trust = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(trust)
    text = trust.PAGE.read_text()
    assert trust.with_sums(text) == text, 'the sums are not those of the log'
    for row in trust.rows_of(text):
        assert row['part'] in [part.name for part in trust.PARTS], row
        assert row['findings'] == '0' or 'fixed' in row['findings'], row
