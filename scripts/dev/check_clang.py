#!/usr/bin/python3
"""Parses all sources but the tests with clang, in build-clang/. Prints its warnings, and exits 1 if there are any.

Cortado is compiled by GCC. clang warns about other errors: unused functions, operator precedence. http/ and the folders
that include it are skipped, because Boost.Asio cannot use the coroutines of clang 14.
"""
import concurrent.futures, json, os, pathlib, re, shlex, shutil, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / 'build-clang'
LEFT_OUT = re.compile(r'/(http|server|studio)/|\.pb\.cc$')
OPTIONS = ['-fsyntax-only', '-Wno-unused-command-line-argument']


def configure():
    BUILD.mkdir(exist_ok=True)
    with open(BUILD / 'configure.log', 'w') as log:
        if subprocess.run(['cmake', '--preset', 'clang'], cwd=ROOT, stdout=log, stderr=log).returncode:
            sys.exit(open(BUILD / 'configure.log').read())
    listed = subprocess.run(['ninja', '-t', 'targets', 'all'], cwd=BUILD, capture_output=True, text=True, check=True)
    generated = re.findall(r'^(\w\S*\.(?:pb\.h|cc)): CUSTOM_COMMAND', listed.stdout, re.M)
    generated = [name for name in generated if not LEFT_OUT.search('/' + name)]
    subprocess.run(['ninja', '--quiet', *generated], cwd=BUILD, check=True)


def parsing(command):
    """The compile command, changed to parse only, without its output and precompiled header."""
    words, kept = shlex.split(command), []
    words = words[next(i for i, word in enumerate(words) if word.endswith('clang++')):]
    while words:
        word = words.pop(0)
        if word in ('-o', '-MT', '-MF'): words.pop(0)
        elif word == '-Xclang': words.pop(0)
        elif word not in ('-c', '-MD'): kept.append(word)
    return kept + OPTIONS


def main():
    if not shutil.which('clang++'):
        sys.exit('check_clang.py: clang++ is not installed; run scripts/install_deps.sh test clang')
    configure()
    entries = json.load(open(BUILD / 'compile_commands.json'))
    entries = [entry for entry in entries if not LEFT_OUT.search(entry['file'])]
    commands = [parsing(entry['command']) for entry in entries if 'precompiled' not in entry['file']]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        done = list(pool.map(lambda words: subprocess.run(words, cwd=BUILD, capture_output=True, text=True), commands))
    warnings = [each.stderr for each in done if each.returncode]
    print(''.join(warnings) + '%d sources, %d with warnings' % (len(commands), len(warnings)))
    sys.exit(bool(warnings) or not commands)


main()
