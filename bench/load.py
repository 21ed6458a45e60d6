#!/usr/bin/env python3
"""Measures the server: against the net alone, against a Python server, and over many requests.

  net     one client's latency against the Predictor's, and the maximum throughput against the net's at its best batch,
          block by block in turns
  peer    requests of one row against FastAPI, uvicorn and ONNX Runtime, in turns (needs scripts/bench.sh's Python with
          fastapi and uvicorn)
  steady  each number of clients for --seconds: errors, and memory in the last half
  soak    --requests to LeNet with one in 100 hostile: answers, memory, descriptors

  bench/bench_serve.sh net --nets=lenet --rounds=3
  bench/bench_serve.sh soak --requests=1000000
"""
import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import infer
import nets
from worker import Worker

ROOT = nets.ROOT
BATCHES = (1, 4, 8, 16, 32, 64)


class Server:
    """Any server that answers on a port."""

    def __init__(self, command, port):
        self.log = tempfile.TemporaryFile('w+')
        self.process, self.port = subprocess.Popen(command, stderr=self.log), port
        for _ in range(1200):
            if self.process.poll() is not None:
                self.log.seek(0)
                raise RuntimeError('%s exited: %s' % (command[0], self.log.read()[-500:]))
            try:
                socket.create_connection(('127.0.0.1', port)).close()
                return
            except ConnectionRefusedError:
                time.sleep(0.1)

    def load(self, options, name, clients, length, hostile=0):
        dims = ','.join(str(dim) for dim in nets.shape(name, 1)[1:])
        run = subprocess.run([options.bin + '/cortado_bench_serve', str(self.port), 'm', 'data', dims, str(clients),
                              str(length), str(hostile), str(self.process.pid)], capture_output=True, text=True)
        if run.returncode:
            raise RuntimeError(run.stderr)
        return json.loads(run.stdout)

    def stop(self):
        self.process.terminate()
        return self.process.wait()


def free_port():
    with socket.socket() as one:
        one.bind(('127.0.0.1', 0))
        return one.getsockname()[1]


def ours(options, folder, name, weights):
    port = free_port()
    return Server([options.bin + '/cortado', 'serve', '--model=' + nets.write(folder + '/deploy.prototxt',
                                                                              nets.deployed(name, 1)),
                   '--weights=' + weights, '--name=m', '--port=%d' % port, '--grpc-port=-1',
                   '--max-batch=%d' % options.max_batch, '--like=none'], port)


def worker_for(options, folder, name, weights, batch):
    net = nets.write(folder + '/batch_%d.prototxt' % batch, nets.deployed(name, batch))
    data, _ = nets.write_batches(folder, name, batch)
    kept = shutil.copy(data, folder + '/batch_%d.raw' % batch)
    command = [options.bin + '/cortado_bench_infer', net, weights, kept, str(options.threads)]
    return Worker('', command, options.threads, {}).greet()


def seconds_of(worker, block):
    """The median time of the requests in a block."""
    _, each = worker.step(3)
    _, each = worker.step(max(3, int(block / statistics.median(each))))
    return statistics.median(each)


def best_batch(workers, block):
    return max(workers, key=lambda batch: batch / seconds_of(workers[batch], block))


def measure_net(options, folder, name, weights):
    workers = {batch: worker_for(options, folder, name, weights, batch) for batch in BATCHES}
    best = best_batch(workers, options.block)
    server, rounds = ours(options, folder, name, weights), []
    for _ in range(options.rounds):
        alone = seconds_of(workers[1], options.block)
        one = server.load(options, name, 1, options.block)
        rows = best / seconds_of(workers[best], options.block)
        many = server.load(options, name, 64, options.block)
        rounds.append({'predictor_ms': 1e3 * alone, 'p50_ms': one['p50_ms'], 'added_ms': one['p50_ms'] - 1e3 * alone,
                       'net_rows': rows, 'server_rows': many['per_second'], 'ratio': many['per_second'] / rows,
                       'wrong': one['errors'] + one['wrong'] + many['errors'] + many['wrong']})
    server.stop()
    for worker in workers.values():
        worker.kill()
    return dict({key: statistics.median(one[key] for one in rounds) for key in rounds[0]}, best_batch=best)


def exported(options, folder, name, weights):
    net = nets.write(folder + '/one.prototxt', nets.deployed(name, 1))
    data, _ = nets.write_batches(folder, name, 1)
    path = folder + '/net.onnx'
    command = [options.python, options.scripts + '/torch_infer.py', net, weights, data, str(options.threads), path]
    subprocess.run(command, check=True, capture_output=True)
    return path


def measure_peer(options, folder, name, weights):
    path, ports = exported(options, folder, name, weights), [free_port(), free_port()]
    command = [options.python, options.scripts + '/fastapi_server.py', path, str(options.threads)]
    peers = {kind: Server([*command, str(port), kind], port) for kind, port in zip(('threads', 'async'), ports)}
    server, result = ours(options, folder, name, weights), {}
    for clients in (1, 8, 64):
        rounds = [{'ours': server.load(options, name, clients, options.block),
                   **{kind: peer.load(options, name, clients, options.block) for kind, peer in peers.items()}}
                  for _ in range(options.rounds)]
        for who in rounds[0]:
            result['%d %s' % (clients, who)] = {key: statistics.median(one[who][key] for one in rounds) for key in
                                                ('per_second', 'p50_ms', 'p99_ms', 'errors')}
    for one in [server, *peers.values()]:
        one.stop()
    return result


def measure_steady(options, folder, name, weights):
    server = ours(options, folder, name, weights)
    result = [server.load(options, name, int(clients), options.seconds) for clients in options.clients.split(',')]
    return {'runs': result, 'exit': server.stop()}


def measure_soak(options, folder, name, weights):
    server = ours(options, folder, name, weights)
    before = len(os.listdir('/proc/%d/fd' % server.process.pid))
    result = server.load(options, name, 16, '%dn' % options.requests, hostile=100)
    time.sleep(12)  # slow heads time out after 10 seconds
    after = len(os.listdir('/proc/%d/fd' % server.process.pid))
    return dict(result, descriptors_before=before, descriptors_after=after, exit=server.stop())


MODES = {'net': measure_net, 'peer': measure_peer, 'steady': measure_steady, 'soak': measure_soak}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('mode', choices=MODES)
    parser.add_argument('--nets', default='lenet', help='default: %(default)s')
    parser.add_argument('--rounds', type=int, default=5,
                        help='modes net, peer: rounds of blocks (default: %(default)s)')
    parser.add_argument('--block', type=float, default=3, help='seconds of one block (default: %(default)s)')
    parser.add_argument('--seconds', type=float, default=60, help='mode steady: seconds (default: %(default)s)')
    parser.add_argument('--clients', default='1,2,4,8,16,32,64',
                        help='mode steady: numbers of clients (default: %(default)s)')
    parser.add_argument('--requests', type=int, default=1000000,
                        help='mode soak: number of requests (default: %(default)s)')
    parser.add_argument('--max-batch', type=int, default=16, help='--max-batch of the server (default: %(default)s)')
    parser.add_argument('--threads', type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument('--python', default=ROOT + '/build/bench-venv/bin/python',
                        help='a Python with the peer installed')
    options = parser.parse_args()
    options.bin, options.scripts = ROOT + '/build/bin', os.path.dirname(os.path.abspath(__file__))
    options.batch = options.gpu = options.held = options.cpu_level = None
    options.precision = 'fp32'
    for name in options.nets.split(','):
        with tempfile.TemporaryDirectory() as folder:
            weights = infer.write_weights(options, folder, name)
            print(json.dumps({'net': name, 'load_average': os.getloadavg()[0],
                              **MODES[options.mode](options, folder, name, weights)}), flush=True)


main()
