"""CPU levels (x86-64 levels, and AMX above them), and how to limit programs to one."""

ORDER = ['v2', 'v3', 'v4', 'amx']
FLAGS = {  # flags in /proc/cpuinfo that a level requires
    'v3': {'avx2', 'fma', 'bmi2'}, 'v4': {'avx512f', 'avx512bw', 'avx512cd', 'avx512dq', 'avx512vl'},
    'amx': {'amx_tile', 'amx_bf16'}}
HELD = {  # PyTorch's own kernels, oneDNN, MKL
    'v2': ('default', 'SSE41', 'SSE4_2'), 'v3': ('avx2', 'AVX2', 'AVX2'), 'v4': ('avx512', 'AVX512_CORE', 'AVX512')}


def flags():
    """The flags of this machine's CPU."""
    with open('/proc/cpuinfo') as file:
        return next((set(line.split()) for line in file if line.startswith('flags')), set())


def has_vnni():
    """Whether sums of byte products have 32 bits; without VNNI they have 16 bits, which overflow."""
    return bool({'avx512_vnni', 'avx_vnni'} & flags())


def own():
    """The level of this machine's CPU."""
    level = 'v2'
    for higher in ORDER[1:]:
        if not FLAGS[higher] <= flags():
            break
        level = higher
    return level


def is_below(level, other):
    return ORDER.index(level) < ORDER.index(other)


def environment(level):
    """Environment variables that limit programs to the level: ours always, peers if the CPU has a higher one."""
    ours = {'CORTADO_CPU_LEVEL': level}
    if not is_below(level, own()):
        return ours
    aten, onednn, mkl = HELD[level]
    # OpenVINO reads two variables: one for its oneDNN kernels, one for its own.
    return dict(ours, ATEN_CPU_CAPABILITY=aten, ONEDNN_MAX_CPU_ISA=onednn, OV_CPU_MAX_ISA=onednn,
                MKL_ENABLE_INSTRUCTIONS=mkl, TORCHINDUCTOR_CPP_MARCH='x86-64-' + level)
