"""Levels of the CPU's instructions, those of x86-64 and AMX above them, and how programs are held to one."""

ORDER = ['v2', 'v3', 'v4', 'amx']
FLAGS = {  # what /proc/cpuinfo says of a CPU that has the level
    'v3': {'avx2', 'fma', 'bmi2'}, 'v4': {'avx512f', 'avx512bw', 'avx512cd', 'avx512dq', 'avx512vl'},
    'amx': {'amx_tile', 'amx_bf16'}}
HELD = {  # PyTorch's own kernels, oneDNN, MKL
    'v2': ('default', 'SSE41', 'SSE4_2'), 'v3': ('avx2', 'AVX2', 'AVX2'), 'v4': ('avx512', 'AVX512_CORE', 'AVX512')}


def flags():
    """What this machine's CPU says that it has."""
    with open('/proc/cpuinfo') as file:
        return next((set(line.split()) for line in file if line.startswith('flags')), set())


def has_vnni():
    """Whether sums of products of bytes have 32 bits; without VNNI they pass through 16, which overflow."""
    return bool({'avx512_vnni', 'avx_vnni'} & flags())


def own():
    """The level of this machine."""
    level = 'v2'
    for higher in ORDER[1:]:
        if not FLAGS[higher] <= flags():
            break
        level = higher
    return level


def is_below(level, other):
    return ORDER.index(level) < ORDER.index(other)


def environment(level):
    """What holds programs to the level: ours always, peers where the machine has more."""
    ours = {'CORTADO_CPU_LEVEL': level}
    if not is_below(level, own()):
        return ours
    aten, onednn, mkl = HELD[level]
    # OpenVINO's kernels go by two variables: those of its oneDNN, and those of its own.
    return dict(ours, ATEN_CPU_CAPABILITY=aten, ONEDNN_MAX_CPU_ISA=onednn, OV_CPU_MAX_ISA=onednn,
                MKL_ENABLE_INSTRUCTIONS=mkl, TORCHINDUCTOR_CPP_MARCH='x86-64-' + level)
