"""Servers, and the folder of models that they serve."""
import contextlib, subprocess, types

import pytest

from tests.harness.devtools import browser
from tests.server.serving import Models, Server


@pytest.fixture(scope='session')
def tls(tmp_path_factory):
    """A certificate for localhost: `cert` is its path, `flags` make a server use it."""
    folder = tmp_path_factory.mktemp('tls')
    cert, key = str(folder / 'cert.pem'), str(folder / 'key.pem')
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert,
                    '-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'], check=True,
                   capture_output=True)
    return types.SimpleNamespace(cert=cert, flags=['--tls-cert=' + cert, '--tls-key=' + key])


@pytest.fixture(scope='module')
def models(tmp_path_factory):
    """Models with version 1 of `small`, for tests that do not change them."""
    return Models(tmp_path_factory.mktemp('models'))


@pytest.fixture(scope='module')
def start_server(cortado, models):
    """start_server('--queue=1') is a Server of `models`, or of other ones. Those that no test stops must stop well in
    the end."""
    with contextlib.ExitStack() as servers:
        def start(*flags, models=models, **more):
            return servers.enter_context(Server(cortado, *flags, models=models, **more))
        yield start


@pytest.fixture(scope='module')
def server(start_server):
    """The server that a module's tests share."""
    return start_server()
