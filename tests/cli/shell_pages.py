#!/usr/bin/python3
"""What `cortado help` makes for shells and for man: words are completed as the tables have them, and manual pages are
read without a warning where groff is there to read them.

    shell_pages.py CORTADO
"""
import os, re, shutil, subprocess, sys, tempfile

exe = os.path.abspath(sys.argv[1])

def cortado(*words): return subprocess.run([exe, *words], capture_output=True, text=True, check=True).stdout

COMMANDS = re.findall(r'^  (\w+) +\S', cortado('help').split('\nexamples:')[0], re.M)

def completed(folder, *words):
    """What bash offers for the last of these words."""
    script = '''source <(%s help --completion=bash)
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_cortado
printf '%%s\\n' "${COMPREPLY[@]}"''' % exe
    done = subprocess.run(['bash', '-c', script, 'bash', *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.split()

def check_completion(folder):
    open(folder + '/solver.prototxt', 'w').close()
    assert 'train' in COMMANDS and len(COMMANDS) > 15, COMMANDS
    for words, wanted in [(['tr'], ['train']), ([''], COMMANDS), (['help', 'tra'], ['train']),
                          (['train', '--eng'], ['--engine=']),
                          (['train', '--engine', '='], ['shm', 'gloo', 'openmpi', 'mpich']),
                          (['train', '--engine', '=', 'm'], ['mpich']),
                          (['train', '--solver', '=', 'so'], ['solver.prototxt']),
                          (['check', 's'], ['solver.prototxt']), (['train', '--verb'], ['--verbose'])]:
        assert completed(folder, 'cortado', *words) == wanted, (words, completed(folder, 'cortado', *words))
    zsh = cortado('help', '--completion=zsh')
    assert 'bashcompinit' in zsh and cortado('help', '--completion=bash').split('\n', 1)[1] in zsh

def check_page(page, name):
    assert page.startswith('.TH %s 1 ' % name.upper()), page[:80]
    for title in 'NAME', 'SYNOPSIS', 'EXIT STATUS': assert '\n.SH %s\n' % title in page, (name, title)
    if not shutil.which('groff'): return
    done = subprocess.run(['groff', '-man', '-ww', '-Tutf8', '-P-c'], input=page, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, (name, done.stderr)
    return done.stdout

with tempfile.TemporaryDirectory() as folder: check_completion(folder)
check_page(cortado('help', '--man'), 'cortado')
for command in COMMANDS:
    shown = check_page(cortado('help', '--man', command), 'cortado-' + command)
    for flag in re.findall(r'^ .{4}(--[\w-]+)', cortado('help', command), re.M):
        assert shown is None or flag in shown.replace('\u2010', '-').replace('\u2212', '-'), (command, flag)
print(len(COMMANDS), 'commands')
