"""docs/layers.md is what the program makes of its layers, and every option has a line of help."""
import json, pathlib

import pytest


def test_the_page_is_up_to_date(run, source):
    page = pathlib.Path(source, 'docs/layers.md').read_text(encoding='utf-8')
    assert run('layers', '--markdown').stdout == page, \
        'docs/layers.md is not what the code says: cortado layers --markdown > docs/layers.md'


def test_every_layer_and_option_has_help(run):
    types = json.loads(run('layers', '--json').stdout)
    assert len(types) > 50
    for known in types:
        assert known['help'], known['type']
        bare = [field['name'] for field in known['fields'] if not field['help']]
        assert not bare, 'proto/cortado.proto says nothing of %s: %s' % (known['options'], bare)


@pytest.mark.parametrize('name, least', [
    ('SolverParameter', 60), ('NetParameter', 8), ('FillerParameter', 8), ('LossParameter', 4),
    ('TransformationParameter', 7), ('ParamSpec', 4), ('NetStateRule', 5), ('AugmentParameter', 20)])
def test_every_field_of_a_message_has_help(run, name, least):
    message = json.loads(run('layers', name, '--json').stdout)
    assert message['help']
    assert len(message['fields']) >= least
    assert not [field['name'] for field in message['fields'] if not field['help']]
