// The cache of kernel choices, choices.json, of a machine with the name "machine". A net must compute the same results
// with any content.
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "kernels/kernel_cache.h"
#include "net/net.h"
#include "proto/files/read_text.h"
#include "tests/fuzz/fuzzed.h"

namespace {

using namespace cortado;

constexpr const char* kNet = R"(
layer { name: "x" type: "DummyData" top: "x" dummy_data_param { shape { dim: 1 dim: 4 dim: 6 dim: 6 }
        data_filler { value: 0.5 } } }
layer { name: "c" type: "Convolution" bottom: "x" top: "c"
        convolution_param { num_output: 8 kernel_size: 3 pad: 1 weight_filler { value: 0.25 } } }
layer { name: "f" type: "InnerProduct" bottom: "c" top: "f"
        inner_product_param { num_output: 3 weight_filler { value: 0.125 } } }
)";

using Choices = std::map<std::string, kernels::KernelCache::Entry>;

struct Result {
  float sum;
  Choices recorded;
};

Result run_with(const Choices& choices) {
  static const auto file = std::make_shared<const NetFile>(read_net_from_text(kNet, "net"));
  Context context(1);
  auto& cache = context.handle<kernels::KernelCache>();
  cache.load(choices);
  graph::BuildOptions options;
  options.state.set_phase(caffe::TEST);
  const std::unique_ptr<Net> net = make_net(file, options, context);
  net->forward();
  const std::vector<float> y = net->read_blob("f");
  return {std::accumulate(y.begin(), y.end(), 0.0f), cache.recorded()};
}

}  // namespace

void cortado::fuzz::fuzz(std::string_view input) {
  static const Result expected = run_with({});
  const auto check = [](const Choices& choices) {
    if (std::fabs(run_with(choices).sum - expected.sum) > 1e-3f * std::fabs(expected.sum)) std::abort();
  };
  const Choices read = kernels::read_kernel_cache(FuzzedFile(input).path(), "machine");
  check(read);
  for (const auto& [_, entry] : read) {  // as the choice of each of the net's problems
    Choices all;
    for (const auto& [problem, own] : expected.recorded) all[problem] = entry;
    check(all);
  }
}
