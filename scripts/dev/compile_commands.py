"""Compile commands of a build folder, changed to parse only."""
import concurrent.futures, json, os, shlex, subprocess, sys


def configure(preset, build):
    """Configures a preset of the repository in its folder `build`; exits with CMake's output if that fails."""
    build.mkdir(exist_ok=True)
    with open(build / 'configure.log', 'w') as log:
        if subprocess.run(['cmake', '--preset', preset], cwd=build.parent, stdout=log, stderr=log).returncode:
            sys.exit(open(build / 'configure.log').read())


def of(build):
    """The entries of the folder's compilation database: dicts with file, command, directory and output."""
    listed = subprocess.run(['ninja', '-C', build, '-t', 'compdb'], capture_output=True, text=True, check=True)
    return [entry for entry in json.loads(listed.stdout) if ' -c ' in entry['command']]


def parsing(command, *options):
    """The words of `command` with `options` added, without its launcher, outputs and precompiled header."""
    words, kept = shlex.split(command), []
    words = words[next(i for i, word in enumerate(words) if word.endswith('++')):]
    while words:
        word = words.pop(0)
        if word in ('-o', '-MT', '-MF'): words.pop(0)
        elif word == '-Xclang': words.pop(0)
        elif word not in ('-c', '-MD'): kept.append(word)
    return kept + ['-fsyntax-only', *options]


def run_all(commands, folder):
    """Runs the commands in parallel, prints what those say that fail, and returns their number."""
    def run(words): return subprocess.run(words, cwd=folder, capture_output=True, text=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool: done = list(pool.map(run, commands))
    failed = [each.stderr for each in done if each.returncode]
    print(''.join(failed), end='', flush=True)
    return len(failed)
