"""Compares trainings from recorded weights with BVLC Caffe's: on the CPU, there also in bf16, and in every precision on
the simulated device, which runs the GPU's code."""
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
