"""docs/layers.md and docs/commands.md are up to date, and every option has a line of help."""
import json, pathlib

import pytest


@pytest.mark.parametrize('page, command', [('layers', ['layers', '--markdown']), ('commands', ['help', '--markdown'])])
def test_pages_are_up_to_date(run, source, page, command):
    text = pathlib.Path(source, 'docs/%s.md' % page).read_text(encoding='utf-8')
    assert run(*command).stdout == text, 'run: cortado %s > docs/%s.md' % (' '.join(command), page)


def test_every_layer_and_option_has_help(run):
    types = json.loads(run('layers', '--json').stdout)
    assert len(types) > 50
    for known in types:
        assert known['help'], known['type']
        bare = [field['name'] for field in known['fields'] if not field['help']]
        assert not bare, 'proto/cortado.proto has no comments for %s: %s' % (known['options'], bare)


@pytest.mark.parametrize('name, least', [
    ('SolverParameter', 60), ('NetParameter', 8), ('FillerParameter', 8), ('LossParameter', 4),
    ('TransformationParameter', 7), ('ParamSpec', 4), ('NetStateRule', 5), ('AugmentParameter', 20)])
def test_every_field_of_a_message_has_help(run, name, least):
    message = json.loads(run('layers', name, '--json').stdout)
    assert message['help']
    assert len(message['fields']) >= least
    assert not [field['name'] for field in message['fields'] if not field['help']]
