// Every layer type that computes without files writes all of its results, for any number of values, also one that is
// not a multiple of what a kernel processes at once: layer_run.h finds what is not written.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/error.h"
#include "layers/registry.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// Options without which a type has no shapes; others run without options.
const std::map<std::string, std::string> kOptions = {
    {"Convolution", "convolution_param { num_output: 3 kernel_size: 1 }"},
    {"ConvolutionDepthwise", "convolution_param { kernel_size: 1 }"},
    {"Deconvolution", "convolution_param { num_output: 3 kernel_size: 1 }"},
    {"DepthwiseConvolution", "convolution_param { kernel_size: 1 }"},
    {"Im2col", "convolution_param { kernel_size: 1 }"},
    {"InnerProduct", "inner_product_param { num_output: 5 }"},
    {"Embed", "embed_param { num_output: 3 input_dim: 9 }"},
    {"Pooling", "pooling_param { kernel_size: 1 }"},
    {"Tile", "tile_param { tiles: 3 }"},
    {"Threshold", "threshold_param { threshold: 0.5 }"}};

std::string layer_of(const LayerType& type) {
  const auto options = kOptions.find(type.name);
  return "type: '" + type.name + "' " + (options == kOptions.end() ? "" : options->second);
}

/// Whether the type computes with these x; if so, runs it, and backward where it has one.
bool runs(const LayerType& type, const Arrays& x, const RunOptions& options) {
  try {
    LayerRun run(layer_of(type), x, options);
    run.forward();
    if (options.backward) {
      Arrays dy;
      for (const Array& y : run.y()) dy.push_back(Array(y.shape, 0.5));
      run.backward(dy);
    }
    return true;
  } catch (const Error&) {
    return false;
  } catch (const FieldError&) {
    return false;
  }
}

TEST(WholeOutput, IsWrittenByEveryLayerForAnyNumberOfValues) {
  std::set<std::string> ran;
  for (const LayerType* type : all_layer_types()) {
    if (type->name.starts_with("test:") || type->kind == LayerKind::kData || type->min_bottoms < 1) continue;
    for (const Shape& shape : {Shape{1, 1, 1, 1}, Shape{1, 2, 1, 3}, Shape{3, 1, 1, 3}, Shape{1, 1, 37, 27}}) {
      SCOPED_TRACE(type->name + " of " + shape.str());
      Arrays x = {random(shape, 1, 0.1, 0.9)};
      for (int i = 1; i < type->min_bottoms; ++i) x.push_back(Array(shape, 0.0));
      std::vector<RunOptions> variants = {{}, {.backward = false, .in_place = true}, {.dtype = DType::kBF16}};
      for (const Device& device : tested_devices()) variants.push_back({.device = device});
      for (const RunOptions& options : variants)
        if (runs(*type, x, options)) ran.insert(type->name);
    }
  }
  EXPECT_GE(ran.size(), 60u) << ::testing::PrintToString(ran);
}

}  // namespace
}  // namespace cortado::harness
