"""install_deps.sh chooses package names by what apt knows, and names the system if it cannot."""
import os, subprocess

import pytest


@pytest.fixture
def run(source, tmp_path):
    """Runs the script with commands that know `known` packages and record what is installed."""
    def run(*words, known, installed=(), absent=()):
        listed = 'for name in "${@:3}"; do case " %s " in *" $name "*) echo -n "installed " ;; esac; done; exit 1'
        commands = tmp_path / 'commands'
        commands.mkdir(exist_ok=True)
        for name in 'bash cat dirname env grep id uname'.split():
            if not (commands / name).exists(): os.symlink('/usr/bin/' + name, commands / name)
        fakes = {'sudo': 'exec "$@"', 'apt-get': 'echo "$@" >> %s' % (tmp_path / 'log'),
                 'apt-cache': 'case " %s " in *" ${@: -1} "*) ;; *) exit 100 ;; esac' % ' '.join(known),
                 'dpkg-query': listed % ' '.join(installed)}
        for name in set(fakes) - set(absent):
            (commands / name).write_text('#!/usr/bin/bash\n' + fakes[name])
            (commands / name).chmod(0o755)
        done = subprocess.run(['/usr/bin/bash', source + '/scripts/install_deps.sh', *words], capture_output=True,
                              text=True, env={'PATH': str(commands)}, timeout=30)
        log = tmp_path / 'log'
        return done, log.read_text() if log.exists() else ''
    return run


def packages(source):
    """The names of quickstart's packages, each with its alternatives."""
    text = subprocess.run(['sed', '-n', '/^packages=(/,/^)/p', source + '/scripts/install_deps.sh'],
                          capture_output=True, text=True, check=True).stdout
    return [word.strip("'").split('|') for word in text.split()[1:] if word != ')'] + [['libopenblas0-pthread']]


def test_takes_the_name_that_apt_knows(source, run):
    first, last = [names[0] for names in packages(source)], [names[-1] for names in packages(source)]
    assert first != last
    for known in (first, last):
        done, log = run('quickstart', known=known)
        assert done.returncode == 0, done.stderr
        assert set(known[:-1]) <= set(log.splitlines()[-1].split())


def test_another_name_that_is_installed_is_enough(source, run):
    done, log = run('quickstart', known=[], installed=[names[-1] for names in packages(source)])
    assert (done.returncode, done.stdout, log) == (0, '', '')


def test_names_the_system_and_the_packages_that_it_lacks(source, run):
    known = [names[0] for names in packages(source) if names[0] != 'libdnnl-dev']
    done, log = run('quickstart', known=known)
    assert done.returncode == 1 and 'install' not in log
    system = [line for line in open('/etc/os-release') if line.startswith('PRETTY_NAME=')][0].split('"')[1]
    assert '%s has no package libdnnl-dev; ' % system in done.stderr and 'cmake' in done.stderr


def test_without_apt_it_lists_the_packages(run):
    done, _ = run('quickstart', known=[], absent=['apt-get'])
    assert done.returncode == 1 and 'has no apt' in done.stderr
    assert 'libjpeg62-turbo-dev libpng-dev' in done.stderr and '|' not in done.stderr
