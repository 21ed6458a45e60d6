"""scripts/dev/check_process.py finds what library code may not do, and reports nothing else."""
import pathlib, sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'scripts' / 'dev'))
import check_process

MAY_NOT = [
    '  exit(3);', '  ::_exit(code);', '  std::abort();', '  std::quick_exit(0);', '  if (bad) std::terminate();',
    '  ::raise(SIGTERM);',
    '  const char* value = std::getenv("CORTADO_POOL");', '  ::setenv(name, value, 1);',
    'int count;', 'std::atomic<int64_t> skipped{0};', 'static bool chosen = false;', 'std::map<int, int> known;',
    'thread_local std::string last;', 'inline std::mutex guard;', 'std::atomic<bool> logged{false}, always{false};',
    'void (*hook)(int code) = nullptr;', 'constinit int level = 0;',
    '  static int made = 0;', '  static std::set<std::string> taken;', '  inline static std::mutex guard;',
    '  static inline int calls;', '  thread_local std::vector<float> row;',
]
MAY = [
    '  context.exit(3);', '  // exit(3) would end it', 'void exit_code(int code);', 'constexpr int kMost = 3;',
    'const std::string name = "a";', '  static const bool suits = look();', '  static constexpr int kSlots = 32;',
    'int count();', 'using Row = std::vector<float>;', 'struct Net;',
    '  int count = 0;', '  static void begin(int from);',
    'extern template class Net<float>;',
    'enum class Kind : int;', '  return std::getline(file, line);',
]


@pytest.mark.parametrize('line', MAY_NOT)
def test_violations_are_found(line):
    found = list(check_process.faults('net/some.cc', ['', line]))
    assert len(found) == 1 and found[0].startswith('net/some.cc:2: ')


@pytest.mark.parametrize('line', MAY)
def test_other_lines_are_not_reported(line):
    assert list(check_process.faults('net/some.cc', [line])) == []


def test_exceptions_hold_for_their_file_and_rule_only():
    assert list(check_process.faults('engine/core/arena.cc', ['std::atomic<uint64_t> taken{0};'])) == []
    assert list(check_process.faults('engine/core/arena.cc', ['  ::_exit(1);'])) != []
