#!/usr/bin/python3
"""docs/layers.md is what the program makes of its layers, and every option has a line of help. layers_page.py
CORTADO"""
import json, os, subprocess, sys

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../docs/layers.md')


def output(*words): return subprocess.run([sys.argv[1], *words], capture_output=True, text=True, check=True).stdout

def check_page():
    page = output('layers', '--markdown')
    if page == open(PAGE, encoding='utf-8').read(): return
    sys.exit('docs/layers.md is not what the code says: cortado layers --markdown > docs/layers.md')

def check_help():
    types = json.loads(output('layers', '--json'))
    assert len(types) > 50, len(types)
    for known in types:
        assert known['help'], known['type']
        bare = [field['name'] for field in known['fields'] if not field['help']]
        assert not bare, 'proto/cortado.proto says nothing of %s: %s' % (known['options'], bare)

def check_message(name, least):
    message = json.loads(output('layers', name, '--json'))
    bare = [field['name'] for field in message['fields'] if not field['help']]
    assert len(message['fields']) >= least and message['help'] and not bare, (name, bare)


check_page()
check_help()
for name, least in (('SolverParameter', 60), ('NetParameter', 8), ('FillerParameter', 8), ('LossParameter', 4),
                    ('TransformationParameter', 7), ('ParamSpec', 4), ('NetStateRule', 5), ('AugmentParameter', 20)):
    check_message(name, least)
print('the page and the help of every field')
