"""The parts of a check: each function runs commands and adds rows to the table."""
import json
import os
import pathlib
import random
import re
import shutil
import sys
import tempfile
import time

from runs import last_line, state_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'bench'))
MOST_ALONE = 12  # failed tests that are rerun, each in its own process: a test that breaks the device fails the others
ALONE_SECONDS = 30
TWELVE = ['resblock', 'batchnorm_scale', 'conv_pad_stride_group', 'conv_1x1_stack', 'deconv', 'lstm', 'lrn_across',
          'pool_max_pad', 'solver_adam', 'solver_iter_size', 'split_three_ways', 'transform_mean_value']
HINTS = {  # by part: what to do if it failed
    'devices': '"no kernel image": build with CUDAARCHS of this GPU; "insufficient driver": CUDA 13 needs 580 or later',
    'tests': 'see --log for a test that also fails alone; run it under compute-sanitizer',
    'copy': 'check the driver before all else',
    'graph': '"could not be made": see --log for the call that cannot be captured '
             '(engine/core/device/captured_work.cc); DIFFERENT: find the kernel argument that must be in device memory',
    'step': 'run cortado train --gpu=0 --eager with a smaller --batch; then see the layer that --log names',
    'time': 'see the layer that --log names',
    'decode': 'see --log for the call that failed (engine/kernels/nvjpeg/jpeg_decoder.cc); --decode=cpu avoids it',
    'tune': '"... is not taken" in --log: engine/kernels/conv_benchmark.cu skipped an engine that does not run',
    'parity': 'run the first failed case alone: tests/parity/run_parity.py PROGRAM CASE --gpu=0',
    'resume': 'find an engine that sums in no fixed order (engine/kernels/cuda/conv_cudnn.cc) or a missing wait',
    'sanitizer': 'see the first report in --log',
    'bench': 'install PyTorch in --python'}


def gpu_flag(options):
    return '--gpu=' + options.gpu


def simulated(options):
    return options.gpu == 'simulated'


def cortado(options, *words):
    return [options.bin + '/cortado', *words]


def test_env(options):
    return {} if simulated(options) else {'CORTADO_TEST_GPU': options.gpu}


def devices(check, options):
    """Returns false if the device does not exist."""
    begin = time.monotonic()
    code, text = check.output(cortado(options, 'devices', '--json'))
    check.log('devices', '', text)
    here = json.loads(text) if code == 0 else {'gpus': [], 'cuda': []}
    names = [gpu['name'] for gpu in here['gpus'] if str(gpu['index']) == options.gpu]
    check.name = names[0] if names else 'simulated device' if simulated(options) else 'GPU not found'
    found = bool(names) or simulated(options) and code == 0
    details = ', '.join(here['cuda']) if found else last_line(text) if code else check.output(
        cortado(options, 'devices'))[1].split('gpu ')[-1].strip()
    check.add('devices', check.name, 'ok' if found else 'FAILED', details, begin)
    return found


def copy(check, options):
    """Bandwidth of the device's copy, of Cortado's copy kernel, and between host and device."""
    mebibytes = '64' if simulated(options) else '1024'
    check.run('copy', mebibytes + ' MiB', [options.bin + '/cortado_bench_copy', options.gpu, mebibytes],
              lambda text: ', '.join(text.split('\n')[:3]))


def failures(text):
    names = re.findall(r'\[  FAILED  \] (\w+(?:/\w+)?\.\w+(?:/\w+)?)', text)
    return sorted(set(names), key=names.index)


def first_fault(text):
    return (re.findall(r'(?m)^.*(?:exception|rror:|CUDA|cudnn|cublas).*$', text) or
            re.findall(r'(?m)^.*Failure\n.*$', text) or [''])[0][:200]


def unfinished(text):
    """The test that was running when the process ended, or ''."""
    begun = re.findall(r'\[ RUN      \] (\S+)', text)
    return begun[-1] if begun and not re.search(r'\[(?:       OK |  FAILED  |  SKIPPED )\] %s\b' % re.escape(
        begun[-1]), text) else ''


def tests(check, options, what, chosen, jobs=1):
    """GoogleTests, split among `jobs` processes; failed tests are rerun, each in its own process."""
    begin = time.monotonic()
    program = options.bin + '/cortado_device_tests'
    env = test_env(options)
    done = check.outputs([([program, '--gtest_filter=' + chosen], {
        'GTEST_TOTAL_SHARDS': str(jobs), 'GTEST_SHARD_INDEX': str(job)}) for job in range(jobs)], **env)
    text = '\n'.join(text for _, text in done)
    check.log('tests', what, text)
    failed, ran = failures(text), len(re.findall(r'\[       OK \]', text))
    within = [name for name in (unfinished(text) for code, text in done if code != 0) if name]
    check.add('tests', what, state_of(next((code for code, _ in done if code != 0), 0)), '%d ran, %d failed%s' % (
        ran + len(failed), len(failed), '; ended within ' + ', '.join(within) if within else ''), begin)
    for name in (failed + within)[:MOST_ALONE]:
        check.begin_step(options.patience * ALONE_SECONDS)
        check.run('tests', name, [program, '--gtest_brief=1', '--gtest_filter=' + name], first_fault, **env)


def trained(check, options, case, flags):
    """The weights after twenty iterations of a case, or None, and the log."""
    with tempfile.TemporaryDirectory() as folder:
        cases = ROOT / 'tests/parity/cases'
        shutil.copytree(cases / 'data', folder + '/data')
        work = pathlib.Path(shutil.copytree(cases / case, folder + '/case'))
        solver = (work / 'solver.prototxt').read_text()
        (work / 'solver.prototxt').write_text(re.sub(r'\bmax_iter: *\d+', 'max_iter: 20', solver))
        code, text = check.output(cortado(options, 'train', gpu_flag(options), '--solver=solver.prototxt',
                                          '--weights=init.caffemodel', *flags), cwd=work)
        check.log('graph', case + ' ' + ' '.join(flags), text)
        saved = sorted(work.glob('*_iter_20.caffemodel'))
        return saved[0].read_bytes() if code == 0 and saved else None, text


def graph(check, options, *cases):
    """Checks that trainings with CUDA graphs and with single launches write the same bytes."""
    for case in cases:
        begin = time.monotonic()
        (ours, log), (eager, _) = [trained(check, options, case, flags) for flags in ([], ['--eager'])]
        if check.left() <= 0:
            check.add('graph', case, 'not run', 'no time left', begin)
            continue
        details = 'a training failed' if ours is None or eager is None else 'DIFFERENT' if ours != eager else (
            'no graph was made' if 'graph could not be made' in log else 'equal')
        check.add('graph', case, 'ok' if details == 'equal' else 'FAILED', details, begin)


def net_of(options):
    """The benchmark's net and batch."""
    return ('lenet', 4) if simulated(options) else ('resnet50', 256)


def choices_of(options):
    return options.cache + '/cortado/choices.json'


def step(check, options, what, *flags):
    """Measures Cortado's training step."""
    net, batch = net_of(options)
    check.run('step', '%s %d fp16 %s' % (net, batch, what),
              [sys.executable, ROOT / 'scripts/gpu/step.py', '--bin=' + options.bin, '--gpu=' + options.gpu,
               '--net=' + net, '--batch=%d' % batch, '--precision=fp16', *flags], last_line)


def tuned_step(check, options):
    if os.path.exists(choices_of(options)):
        step(check, options, 'tuned', '--choices=' + choices_of(options))
    else:
        check.add('step', 'tuned', 'not run', 'nothing was tuned', time.monotonic())


def drawn_net(options, folder):
    """Writes the benchmark's net, with DummyData. Returns the file."""
    import nets
    net, batch = net_of(options)
    return nets.write(folder + '/net.prototxt', nets.training(net, batch, source='DummyData'))


DECODED_NET = '''layer { name: "data" type: "Data" top: "data" top: "label"
  transform_param { crop_size: %d mirror: true mean_value: 120 scale: 0.02 }
  data_param { source: "set" batch_size: %d backend: LMDB shuffle: true } }
layer { name: "pool" type: "Pooling" bottom: "data" top: "pool" pooling_param { pool: AVE kernel_size: 8 stride: 8 } }
layer { name: "ip" type: "InnerProduct" bottom: "pool" top: "ip"
  inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
'''
DECODED_SOLVER = ('net: "net.prototxt" base_lr: 0.001 lr_policy: "fixed" max_iter: 10 display: 5 random_seed: 3 '
                  'snapshot_prefix: "%s"')
MOST_APART = 0.02  # relative difference of losses: decoders differ in the last bits of pixels


def photographs(folder, count, width, height):
    """Writes PPMs of smooth noise, in a folder for each of four classes, which differ in their mean."""
    draw = random.Random(1)
    for i in range(count):
        values, value = [], 128.0
        for _ in range(3 * (width + height)):
            value += draw.gauss(30 * (i % 4) + 75 - value, 60) / 8
            values.append(min(255, max(0, int(value))))
        line = bytes(values)
        path = pathlib.Path(folder, 'photos/%d/%d.ppm' % (i % 4, i))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b'P6\n%d %d\n255\n' % (width, height) + b''.join(
            line[3 * y:3 * (y + width)] for y in range(height)))


def decoded(check, options, folder, way, env):
    """Measures reading the dataset with --decode=`way`, and trains on it. Returns the training's losses, or None if the
    machine does not have that decoder."""
    def details(text):
        r = json.loads(text[text.index('{\n'):])
        return '%.0f img/s, %.3f ms of CPU an image, %d decoded on the device, by %s' % (
            r['images_per_second'], r['cpu_ms_per_image'], r['decoded_on_device'], r['jpegs_by'])

    words = gpu_flag(options), '--decode=' + way
    code, text = check.run('decode', 'bench, by the ' + way, cortado(
        options, 'data', 'bench', 'net.prototxt', '--json', '--quiet', '--seconds=%g' % (
            1 if simulated(options) else 4), *words), details,
        lambda text: last_line(text) if 'cannot be used' in text else '', cwd=folder, **env)
    if code != 0 and 'cannot be used' in text:
        return None
    pathlib.Path(folder, 'solver.prototxt').write_text(DECODED_SOLVER % way)
    code, text = check.output(cortado(options, 'train', '--solver=solver.prototxt', *words), cwd=folder, **env)
    check.log('decode', 'training, by the ' + way, text)
    return [float(loss) for loss in re.findall(r'Iteration \d+ .*loss = (\S+)|$', text) if loss] if code == 0 else []


def decode(check, options):
    """Compares JPEGs that the device decodes with JPEGs that the CPU decodes."""
    begin, env = time.monotonic(), {}
    if simulated(options):
        nvjpeg = pathlib.Path(options.bin).parent / 'tests/nvjpeg'  # the simulated nvJPEG of the tests
        if not (nvjpeg / 'libcortado_simulated_nvjpeg.so').exists():
            return check.add('decode', 'JPEGs', 'not run', '%s does not exist' % nvjpeg, begin)
        env = {'LD_LIBRARY_PATH': '%s:%s' % (nvjpeg, os.environ.get('LD_LIBRARY_PATH', ''))}
    with tempfile.TemporaryDirectory() as folder:
        size, batch = ((24, 60, 48), 8) if simulated(options) else ((256, 500, 375), 64)
        photographs(folder, *size)
        pathlib.Path(folder, 'net.prototxt').write_text(DECODED_NET % (40 if simulated(options) else 224, batch))
        code, text = check.output(cortado(options, 'convert', 'folder', 'photos', '-o', 'set', '--encode-type=jpg'),
                                  cwd=folder)
        check.log('decode', 'convert', text)
        if code != 0:
            return check.add('decode', 'JPEGs', state_of(code), last_line(text), begin)
        ours, theirs = [decoded(check, options, folder, way, env) for way in ('cpu', 'gpu')]
    if theirs is None or check.left() <= 0:
        return check.add('decode', 'training', 'not run', 'no decoder' if theirs is None else 'no time left', begin)
    apart = max((abs(a - b) / abs(a) for a, b in zip(ours, theirs)), default=0)
    good = len(ours) == len(theirs) > 0 and apart <= MOST_APART
    check.add('decode', 'training', 'ok' if good else 'FAILED',
              'losses %s by the CPU, %s by the device' % (ours, theirs) if ours and theirs else 'a training failed',
              begin)


def slowest(text):
    """The layer types that take most of a step, from the JSON of `cortado time`."""
    report = json.loads(text[text.index('{\n'):])
    times = {}
    for layer in report['layers']:
        ms = sum(layer[way].get('median_ms', 0) for way in ('forward', 'backward'))
        times[layer['type']] = times.get(layer['type'], 0) + ms
    worst = sorted(times.items(), key=lambda item: -item[1])[:4]
    return '%.2f ms, layers launched one by one; slowest: %s' % (
        report['both']['median_ms'], ', '.join('%s %.2f' % item for item in worst))


def layer_times(check, options):
    with tempfile.TemporaryDirectory() as folder:
        check.run('time', 'layers', cortado(options, 'time', '--json', '--quiet', gpu_flag(options), '--precision=fp16',
                                            '--iterations=10', '--model=' + drawn_net(options, folder)), slowest,
                  XDG_CACHE_HOME=options.cache)


def tune(check, options):
    """Measures every candidate kernel, and writes the choices to --cache."""
    def details(text):
        by = re.findall(r'(?m)^(?:forward|backward) .*\[(\w+)', text)
        return '%d steps: %s' % (len(by), ', '.join('%d %s' % (by.count(name), name) for name in sorted(set(by))))

    with tempfile.TemporaryDirectory() as folder:
        check.run('tune', 'plan --tune', cortado(options, 'plan', '--tune', gpu_flag(options), '--precision=fp16',
                                                 '--model=' + drawn_net(options, folder)), details,
                  XDG_CACHE_HOME=options.cache)


NCU_METRICS = 'gpu__time_duration.sum', 'dram__throughput.avg.pct_of_peak_sustained_elapsed', 'dram__bytes.sum'


def ncu(check, options):
    """Measures the memory throughput of BatchNorm's kernels."""
    tool = shutil.which('ncu') or '/usr/local/cuda/bin/ncu'
    if simulated(options) or not os.path.exists(tool):
        return check.add('ncu', 'BatchNorm', 'not run', 'no GPU' if simulated(options) else 'ncu is not installed',
                         time.monotonic())
    with tempfile.TemporaryDirectory() as folder:
        check.run('ncu', 'BatchNorm', [
            tool, '--csv', '--kernel-name-base', 'demangled', '--kernel-name', 'regex:batch_norm', '--launch-count',
            '24', '--metrics', ','.join(NCU_METRICS), *cortado(
                options, 'time', '--quiet', gpu_flag(options), '--precision=fp16', '--iterations=1', '--eager',
                '--model=' + drawn_net(options, folder))], ncu_line,
            lambda text: 'ncu is not permitted' if re.search('ERR_NVGPUCTRPERM|not supported', text) else '',
            XDG_CACHE_HOME=options.cache)


def ncu_line(text):
    shares = [float(share) for share in re.findall(r'"dram__throughput[^"]*","%","([\d.]+)"', text)]
    return 'no figures' if not shares else '%d kernels, %.0f to %.0f %% of the peak memory throughput' % (
        len(shares), min(shares), max(shares))


def parity(check, options, precision, cases=()):
    check.run('parity', precision + (' of %d cases' % len(cases) if cases else ''), [
        sys.executable, ROOT / 'tests/parity/run_parity.py', options.bin + '/cortado', *cases,
        '--jobs=%d' % options.jobs, '--threads=1', gpu_flag(options), '--precision=' + precision], last_line)


def resume(check, options, precision):
    check.run('resume', precision, [sys.executable, ROOT / 'tests/cli/kill_resume.py', options.bin + '/cortado',
                                    '--rounds=6', '--flags=%s --precision=%s' % (gpu_flag(options), precision)],
              last_line)


def sanitizer(check, options, chosen):
    tool = shutil.which('compute-sanitizer') or '/usr/local/cuda/bin/compute-sanitizer'
    if simulated(options) or not os.path.exists(tool):
        return check.add('sanitizer', chosen[:24], 'not run',
                         'no GPU' if simulated(options) else 'compute-sanitizer is not installed', time.monotonic())
    check.run('sanitizer', chosen[:24], [tool, '--tool=memcheck', '--error-exitcode=9',
                                         options.bin + '/cortado_device_tests', '--gtest_brief=1',
                                         '--gtest_filter=' + chosen],
              lambda text: (re.findall(r'ERROR SUMMARY: .*', text) or [last_line(text)])[-1],
              lambda text: 'the device is not supported' if 'Device not supported' in text else '', **test_env(options))


def bench(check, options, net, batch, precision, *flags):
    """Measures training steps of Cortado and PyTorch."""
    if simulated(options) or options.nets and net not in options.nets.split(','):
        return
    name = '%s %d %s' % (net, batch, precision)
    with tempfile.TemporaryDirectory() as folder:
        results = folder + '/results.jsonl'
        check.run('bench', name if flags else name + ' compiled', [
            options.python, ROOT / 'bench/bench.py', '--bin=' + options.bin, '--gpu=' + options.gpu,
            '--nets=' + net, '--batch=%d' % batch, '--precision=' + precision, '--rounds=5', '--block=0.5',
            '--compile-limit=90', '--json=' + results, *flags], lambda _: bench_line(results))


def bench_line(path):
    if not os.path.exists(path):
        return 'nothing was measured'
    with open(path) as file:
        r = json.loads(file.readlines()[-1])
    ours, peer = r['device_mb']
    return '%.2f ms, %.0f img/s; %s %s %.2f ms; ratio %.2f; memory %.0f of %.0f MB (%.2f)' % (
        r['ours_ms'], r['images'], r['peer'], r['setting'], r['peer_ms'], r['ratio'][1], ours, peer, ours / peer)
