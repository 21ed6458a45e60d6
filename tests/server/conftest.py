"""Servers and their folder of models."""
import contextlib, subprocess, types

import pytest

from tests.harness.devtools import browser
from tests.server.serving import Models, Server


@pytest.fixture(scope='session')
def tls(tmp_path_factory):
    """A certificate for localhost: `cert` is its path, `flags` are the server's flags for it."""
    folder = tmp_path_factory.mktemp('tls')
    cert, key = str(folder / 'cert.pem'), str(folder / 'key.pem')
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert,
                    '-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'], check=True,
                   capture_output=True)
    return types.SimpleNamespace(cert=cert, flags=['--tls-cert=' + cert, '--tls-key=' + key])


@pytest.fixture(scope='module')
def models(tmp_path_factory):
    """A folder with version 1 of `small`, for tests that do not change it."""
    return Models(tmp_path_factory.mktemp('models'))


@pytest.fixture(scope='module')
def start_server(cortado, models):
    """start_server('--queue=1') starts a Server of `models`, or of another folder. Servers that no test stops must exit
    with 0 at the end."""
    with contextlib.ExitStack() as servers:
        def start(*flags, models=models, **more):
            return servers.enter_context(Server(cortado, *flags, models=models, **more))
        yield start


@pytest.fixture(scope='module')
def server(start_server):
    """The server shared by a module's tests."""
    return start_server()
