"""Every command line of `cortado` in the documentation, and every example of its help, has commands and flags that
exist and are not deprecated. Pages whose commands are also run are in pages_test.py."""
import json, pathlib, re, shlex

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted([*(ROOT / 'docs').glob('*.md'), ROOT / 'README.md', ROOT / 'CONTRIBUTING.md',
                *(ROOT / 'models').glob('*/README.md'), *(ROOT / 'examples').rglob('README.md')])


def lines_of(page):
    """Command lines of fenced blocks, and those in backquotes that have a flag or an operand."""
    text = page.read_text(encoding='utf-8')
    fenced = ''.join(re.findall(r'^```\w*\n(.*?)^```$', text, re.M | re.S)).replace('\\\n', ' ')
    quoted = re.findall(r'`(cortado [^`\n]+)`', re.sub(r'^```.*?^```$', '', text, flags=re.M | re.S))
    found = [line.lstrip('$ ') for line in fenced.split('\n')]
    return [line for line in found if re.match(r'(\w+=\S+ )*cortado \w', line)] + quoted


def words_of(line):
    """The words after `cortado`, up to a pipe, a redirection or a comment."""
    words = shlex.split(line, comments=True)
    words = words[words.index('cortado') + 1:]
    ends = [i for i, word in enumerate(words) if re.match(r'[|>&;]|2>|<\(', word)]
    return words[:ends[0]] if ends else words


@pytest.fixture(scope='module')
def table(run):
    return json.loads(run('help', '--json').stdout)


def problem_of(words, table):
    commands = {command['name']: command for command in table['commands']}
    operands = [word for word in words if not word.startswith('-')]
    flags = [re.match(r'--?([\w-]+)', word)[1] for word in words if re.match(r'--?[a-zA-Z]', word)]
    if not operands or operands[0].isupper(): return ''  # cortado --version, cortado COMMAND
    if operands[0] not in commands: return operands[0] + ' is not a command'
    command = commands[operands[0]]
    own = {sub['name'].split()[1]: sub for sub in command['subcommands']}
    if own and len(operands) > 1 and operands[1] in own: command = own[operands[1]]
    elif own and command['name'] == 'runs': command = own['ls']
    elif own and flags and not set(flags) <= {'h', 'help'}: return 'a subcommand of %s is missing' % command['name']
    known = {name for flag in command['flags'] + table['flags'] for name in (flag['name'], flag.get('letter'))}
    wrong = [flag for flag in flags if flag.replace('_', '-') not in known and flag.removeprefix('no-') not in known]
    return ', '.join('--%s is not a flag of %s' % (flag, command['name']) for flag in wrong)


@pytest.mark.parametrize('page', PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_of_pages_exist(page, table):
    wrong = []
    for line in lines_of(page):
        if '...' in line or '…' in line: line = line.replace('...', '').replace('…', '')
        problem = problem_of(words_of(line), table)
        if problem: wrong.append('%s: %s' % (line, problem))
    assert not wrong, '\n'.join(wrong)


def test_examples_of_help_exist(table):
    wrong, count = [], 0
    for command in table['commands'] + [sub for command in table['commands'] for sub in command['subcommands']]:
        for example in command['examples']:
            if 'cortado ' not in example['line']: continue
            count += 1
            problem = problem_of(words_of(example['line'].replace('<(', '')), table)
            if problem: wrong.append('%s: %s' % (example['line'], problem))
    assert not wrong, '\n'.join(wrong)
    assert count > 80


def test_wrong_lines_are_found(table):
    for line, problem in [('cortado trane x', 'not a command'),
                          ('cortado convert idx a b --gray', '--gray is not a flag'),
                          ('cortado deploy net --blob=x', '--blob is not a flag'),
                          ('cortado data --json', 'subcommand')]:
        assert problem in problem_of(words_of(line), table)
