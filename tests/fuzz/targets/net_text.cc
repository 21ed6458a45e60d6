// A net's prototxt, as `check` reads it: builds it for both phases, without data, and runs the graph passes.
#include "graph/graph.h"
#include "graph/passes/passes.h"
#include "proto/files/read_text.h"
#include "tests/fuzz/fuzzed.h"
#include "tests/fuzz/mutate_message.h"

void cortado::fuzz::fuzz(std::string_view input) {
  std::shared_ptr<const NetFile> file;
  expect_answer([&] { file = std::make_shared<const NetFile>(read_net_from_text(input, "net")); });
  if (!file) return;
  for (const caffe::Phase phase : {caffe::TRAIN, caffe::TEST})
    expect_answer([&] {
      graph::BuildOptions options;
      options.state.set_phase(phase);
      options.open_data = false;
      options.backward = phase == caffe::TRAIN;
      graph::Graph graph = graph::build(file, options);
      graph::run_passes(graph);
    });
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  return cortado::fuzz::mutate_text(caffe::NetParameter::default_instance(), data, size, most, seed);
}
