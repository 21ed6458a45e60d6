// A weights file in a format that is read in this process: .caffemodel of every dialect, safetensors, npz.
#include "proto/weights/weights_file.h"
#include "tests/fuzz/fuzzed.h"

void cortado::fuzz::fuzz(std::string_view input) {
  expect_answer([&] { weights_from_bytes(input, "weights"); });
}
