// An ONNX model as a net.
#include "onnx/import/import.h"
#include "tests/fuzz/fuzzed.h"

void cortado::fuzz::fuzz(std::string_view input) {
  expect_answer([&] { importing::import_model(FuzzedFile(input).path(), {}); });
}
