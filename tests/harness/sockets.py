"""What tests of servers say and hear beneath HTTP."""
import socket


def raw(port, content, wait=5):
    """What comes back for these bytes until the server closes or says no more."""
    with socket.create_connection(('127.0.0.1', port), timeout=wait) as connection:
        connection.sendall(content)
        got = b''
        try:
            while part := connection.recv(65536): got += part
        except (TimeoutError, ConnectionResetError): pass
        return got
