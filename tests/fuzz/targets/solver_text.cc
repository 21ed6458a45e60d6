// A solver's prototxt, as `check` reads it.
#include "proto/files/read_text.h"
#include "solvers/check.h"
#include "solvers/learning_rate.h"
#include "tests/fuzz/fuzzed.h"
#include "tests/fuzz/mutate_message.h"

void cortado::fuzz::fuzz(std::string_view input) {
  expect_answer([&] {
    const SolverFile file = read_solver_from_text(input, "solver");
    Mistakes mistakes;
    check_solver(file, mistakes);
    solver_warnings(file);
    if (!mistakes.empty()) return;
    LearningRate rate(file.solver);
    for (int64_t iter = 0; iter < 5; ++iter) rate.next(iter, 1.0);
  });
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  return cortado::fuzz::mutate_text(caffe::SolverParameter::default_instance(), data, size, most, seed);
}
