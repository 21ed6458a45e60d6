// A net's prototxt. Runs forward and backward if the net is small enough.
#include "graph/passes/passes.h"
#include "net/net.h"
#include "proto/files/read_text.h"
#include "tests/fuzz/fuzzed.h"
#include "tests/fuzz/mutate_message.h"

namespace {

constexpr int64_t kMaxElements = 20000, kMaxLayers = 20;

bool is_small(const cortado::graph::Graph& graph) {
  int64_t elements = 0;
  for (const auto& value : graph.values) {
    if (!value.shape_known) return false;
    elements += value.shape.count();
    if (elements > kMaxElements) return false;
  }
  for (const auto& weight : graph.weights) {
    elements += weight.spec.shape.count();
    if (elements > kMaxElements) return false;
  }
  return true;
}

}  // namespace

void cortado::fuzz::fuzz(std::string_view input) {
  expect_answer([&] {
    const auto file = std::make_shared<const NetFile>(read_net_from_text(input, "net"));
    if (file->net.layer_size() > kMaxLayers) return;
    for (const caffe::LayerParameter& layer : file->net.layer())
      if (layer.type().find("Data") != std::string::npos && layer.type() != "DummyData") return;
    graph::BuildOptions options;
    options.state.set_phase(caffe::TRAIN);
    graph::Graph graph = graph::build(file, options);
    graph::run_passes(graph, "freeze");
    if (!is_small(graph)) return;
    Context context(1);
    const std::unique_ptr<Net> net = make_net(file, options, context);
    net->forward();
    if (!net->plan().backward.empty()) net->backward();
  });
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  return cortado::fuzz::mutate_text(caffe::NetParameter::default_instance(), data, size, most, seed);
}
