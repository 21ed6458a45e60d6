#include "proto/weights/solver_state_file.h"
#include "tests/fuzz/fuzzed.h"

void cortado::fuzz::fuzz(std::string_view input) {
  expect_answer([&] { solver_state_from_bytes(input, "state"); });
  read_state_stamp(FuzzedFile(input).path());
}
