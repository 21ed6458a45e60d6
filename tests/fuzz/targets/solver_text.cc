// A solver's prototxt, as `check` reads it.
#include "proto/files/read_text.h"
#include "solvers/config.h"
#include "tests/fuzz/fuzzed.h"
#include "tests/fuzz/mutate_message.h"

void cortado::fuzz::fuzz(std::string_view input) {
  expect_answer([&] {
    Mistakes mistakes;
    SolverConfig config = parse_solver(read_solver_from_text(input, "solver"), mistakes);
    solver_warnings(config.file);
    if (!mistakes.empty()) return;
    for (int64_t iter = 0; iter < 5; ++iter) config.schedule.next(iter, 1.0);
  });
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  return cortado::fuzz::mutate_text(caffe::SolverParameter::default_instance(), data, size, most, seed);
}
