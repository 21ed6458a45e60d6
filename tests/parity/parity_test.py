"""Nets trained from recorded weights learn what the reference implementation learned: on the CPU, there in 16 bits, and
on the simulated device, whose code is what GPUs run, in every precision."""
import pytest

from tests.parity.run_parity import CASES, faults_of

KINDS = {'cpu': [], 'cpu_bf16': ['--precision=bf16', '--emulate'], **{
    'simulated_' + precision: ['--gpu=simulated', '--precision=' + precision]
    for precision in ('fp32', 'tf32', 'bf16', 'fp16')}}


@pytest.mark.parametrize('name', CASES)
@pytest.mark.parametrize('kind', KINDS)
def test_net_learns_what_caffe_learned(cortado, kind, name):
    faults = faults_of(cortado, name, KINDS[kind])
    assert not faults, '\n'.join(faults)
