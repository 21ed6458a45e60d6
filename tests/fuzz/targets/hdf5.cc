// An HDF5 file of weights, read in a child process, which may crash: this process must report an error. Slow, because
// each input starts a process.
#include "proto/weights/weights_hdf5.h"
#include "tests/fuzz/fuzzed.h"

void cortado::fuzz::fuzz(std::string_view input) {
  expect_answer([&] { read_weights_hdf5(FuzzedFile(input).path()); });
}
