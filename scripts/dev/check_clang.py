#!/usr/bin/python3
"""Parses everything but the tests with clang, warnings as errors; prints what it says and exits 1. Uses build-clang/.

GCC compiles Cortado. clang sees other mistakes: a function that nothing calls, an operator that binds otherwise than it
looks. http/ and what includes it are left out: clang 14 has no coroutines that Boost.Asio could use.
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
    """The command that compiles, made one that parses, without its output and precompiled header."""
    words, kept = shlex.split(command), []
    words = words[next(i for i, word in enumerate(words) if word.endswith('clang++')):]
    while words:
        word = words.pop(0)
        if word in ('-o', '-MT', '-MF'): words.pop(0)
        elif word == '-Xclang': words.pop(0)
        elif word not in ('-c', '-MD'): kept.append(word)
    return kept + OPTIONS


def main():
    if not shutil.which('clang++'): sys.exit('check_clang.py: there is no clang++: scripts/install_deps.sh test clang')
    configure()
    entries = json.load(open(BUILD / 'compile_commands.json'))
    entries = [entry for entry in entries if not LEFT_OUT.search(entry['file'])]
    commands = [parsing(entry['command']) for entry in entries if 'precompiled' not in entry['file']]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        done = list(pool.map(lambda words: subprocess.run(words, cwd=BUILD, capture_output=True, text=True), commands))
    said = [each.stderr for each in done if each.returncode]
    print(''.join(said) + '%d sources, %d with warnings' % (len(commands), len(said)))
    sys.exit(bool(said) or not commands)


main()
