// An HDF5 file of weights, read by the program that may crash: here it must be told as a mistake. A process for each
// input, so it is slow.
#include "proto/weights/weights_hdf5.h"
#include "tests/fuzz/fuzzed.h"

void cortado::fuzz::fuzz(std::string_view input) {
  expect_answer([&] { read_weights_hdf5(FuzzedFile(input).path()); });
}
