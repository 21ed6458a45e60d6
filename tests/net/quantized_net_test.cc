// Nets on 8-bit integers compared with themselves on floats, with calibrated scales.

#include <numeric>
#include <set>

#include "net/calibration.h"
#include "net/layer_errors.h"
#include "net/predictor.h"
#include "tests/net/frozen_nets.h"

namespace cortado {
namespace {

using namespace frozen;

graph::BuildOptions frozen_options() {
  graph::BuildOptions options;
  options.state.set_phase(caffe::TEST);
  options.frozen = true;
  options.backward = false;
  options.verify = true;
  return options;
}

/// A residual net, a chain of depthwise convolutions and an Inception: every layer type that passes integers on.
const char* const kNet = R"(
  name: "net"
  layer { name: "in" type: "Input" top: "data" input_param { shape { dim: 2 dim: 20 dim: 9 dim: 8 } } }
  layer { name: "stem" type: "Convolution" bottom: "data" top: "stem"
      convolution_param { num_output: 32 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
  layer { name: "bn_stem" type: "BatchNorm" bottom: "stem" top: "stem" }
  layer { name: "scale_stem" type: "Scale" bottom: "stem" top: "stem" scale_param { bias_term: true } }
  layer { name: "relu_stem" type: "ReLU" bottom: "stem" top: "stem" }
  layer { name: "pool" type: "Pooling" bottom: "stem" top: "pool" pooling_param { kernel_size: 3 stride: 2 } }
  layer { name: "c1" type: "Convolution" bottom: "pool" top: "c1"
      convolution_param { num_output: 32 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
  layer { name: "bn1" type: "BatchNorm" bottom: "c1" top: "c1" batch_norm_param { eps: 0.1 } }
  layer { name: "sum1" type: "Eltwise" bottom: "pool" bottom: "c1" top: "sum1" }
  layer { name: "relu1" type: "ReLU" bottom: "sum1" top: "sum1" }
  layer { name: "dw" type: "Convolution" bottom: "sum1" top: "dw"
      convolution_param { num_output: 32 group: 32 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
  layer { name: "relu6" type: "ReLU6" bottom: "dw" top: "dw" }
  layer { name: "linear" type: "Convolution" bottom: "dw" top: "linear"
      convolution_param { num_output: 32 kernel_size: 1 weight_filler { type: "xavier" } } }
  layer { name: "sum2" type: "Eltwise" bottom: "linear" bottom: "sum1" top: "sum2" }
  layer { name: "a" type: "Convolution" bottom: "sum2" top: "a"
      convolution_param { num_output: 24 kernel_size: 1 weight_filler { type: "xavier" } } }
  layer { name: "relu_a" type: "ReLU" bottom: "a" top: "a" }
  layer { name: "b" type: "Convolution" bottom: "sum2" top: "b"
      convolution_param { num_output: 8 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
  layer { name: "relu_b" type: "ReLU" bottom: "b" top: "b" }
  layer { name: "join" type: "Concat" bottom: "a" bottom: "b" top: "join" }
  layer { name: "last" type: "Convolution" bottom: "join" top: "last"
      convolution_param { num_output: 16 kernel_size: 1 weight_filler { type: "xavier" } } }
  layer { name: "average" type: "Pooling" bottom: "last" top: "average"
      pooling_param { pool: AVE global_pooling: true } }
  layer { name: "fc" type: "InnerProduct" bottom: "average" top: "out"
      inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
)";

/// InnerProducts after a convolution, whose values they need in Caffe's order.
const char* const kProducts = R"(
  name: "products"
  layer { name: "in" type: "Input" top: "data" input_param { shape { dim: 3 dim: 16 dim: 6 dim: 5 } } }
  layer { name: "c" type: "Convolution" bottom: "data" top: "c"
      convolution_param { num_output: 20 kernel_size: 3 weight_filler { type: "xavier" } } }
  layer { name: "relu_c" type: "ReLU" bottom: "c" top: "c" }
  layer { name: "fc1" type: "InnerProduct" bottom: "c" top: "fc1"
      inner_product_param { num_output: 40 weight_filler { type: "xavier" } } }
  layer { name: "bn_fc1" type: "BatchNorm" bottom: "fc1" top: "fc1" }
  layer { name: "relu_fc1" type: "ReLU" bottom: "fc1" top: "fc1" }
  layer { name: "fc2" type: "InnerProduct" bottom: "fc1" top: "out"
      inner_product_param { num_output: 7 weight_filler { type: "xavier" } } }
)";

std::shared_ptr<const NetFile> file_of(const char* text) {
  return std::make_shared<NetFile>(read_net_from_text(text, "net.prototxt"));
}

struct Quantized {
  std::vector<QuantizableLayer> layers;
  std::vector<LayerWeights> weights;
  std::map<std::string, caffe::QuantizationParameter> scales;
};

Quantized quantize(const std::shared_ptr<const NetFile>& file, Net& exact, const RangeRule& rule) {
  Quantized result{quantizable_layers(*file, frozen_options()), drawn_weights(exact), {}};
  exact.load_weights(result.weights, "drawn");
  Calibration calibration(exact, result.layers);
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    exact.write_blob("data", drawn(exact.blob_shape("data").count(), seed).data());
    calibration.run_batch();
  }
  result.scales = calibration.scales(rule);
  return result;
}

/// The types of the nodes that write floats.
std::vector<std::string> results_in_floats(const Net& net) {
  std::vector<std::string> types;
  for (const graph::Step& step : net.plan().forward) {
    const graph::Node& node = net.plan().graph.node(step.node);
    if (!is_8_bit(net.plan().graph.value(node.y[0]).dtype)) types.push_back(node.type);
  }
  return types;
}

TEST(QuantizedNet, IsNearTheNetOnFloats) {
  const auto file = file_of(kNet);
  for (const RangeRule rule : {RangeRule{RangeRule::kLargest}, RangeRule{}, RangeRule{RangeRule::kDivergence}}) {
    Context a(2), b(2);
    const auto exact = make(file, a, frozen_options());
    const Quantized q = quantize(file, *exact, rule);
    ASSERT_EQ(q.layers.size(), 8u);
    EXPECT_EQ(q.scales.size(), 8u);
    const auto rounded = make(with_scales(*file, q.scales), b, frozen_options());
    rounded->load_weights(q.weights, "drawn");
    std::vector<std::string> nodes;
    for (const QuantizableLayer& layer : q.layers) nodes.push_back(layer.node);
    LayerErrors errors(*exact, *rounded, nodes);
    for (uint64_t seed = 11; seed <= 12; ++seed) {
      const auto values = drawn(exact->blob_shape("data").count(), seed);
      exact->write_blob("data", values.data()), rounded->write_blob("data", values.data());
      errors.run_batch();
    }
    for (const LayerError& error : errors.errors()) EXPECT_GT(error.decibels(), 22) << error.node;
    EXPECT_LT(distance(rounded->read_blob("out"), exact->read_blob("out")), 0.08);
    EXPECT_GT(distance(rounded->read_blob("out"), exact->read_blob("out")), 1e-5) << "nothing was rounded";
  }
}

TEST(QuantizedNet, ProductsAreNearThoseOfFloats) {
  const auto file = file_of(kProducts);
  Context a(2), b(2);
  const auto exact = make(file, a, frozen_options());
  const Quantized q = quantize(file, *exact, {});
  EXPECT_EQ(q.scales.size(), 3u);
  const auto rounded = make(with_scales(*file, q.scales), b, frozen_options());
  rounded->load_weights(q.weights, "drawn");
  run(*exact), run(*rounded);
  EXPECT_LT(distance(rounded->read_blob("out"), exact->read_blob("out")), 0.08);
  EXPECT_EQ(results_in_floats(*rounded), (std::vector<std::string>{"Input", "InnerProduct"}));
}

/// From the stem to the last convolution, which writes floats for the average pooling, no value is a float.
TEST(QuantizedNet, KeepsIntegersBetweenItsLayers) {
  const auto file = file_of(kNet);
  Context context(2);
  const auto exact = make(file, context, frozen_options());
  const Quantized q = quantize(file, *exact, {});
  const auto rounded = make(with_scales(*file, q.scales), context, frozen_options());
  EXPECT_EQ(results_in_floats(*rounded),
            (std::vector<std::string>{"Input", "Convolution", "Reorder", "Pooling", "InnerProduct"}));
  EXPECT_LT(rounded->memory_bytes(), exact->memory_bytes() + 40'000) << "values take a quarter, weights both forms";
}

/// A result that is only added to another has its own scale, also one below 1.
TEST(QuantizedNet, SummedResultsHaveTheirOwnScale) {
  const auto layer = [](const std::string& name, const std::string& out) {
    return "layer { name: '" + name + "' type: 'Convolution' bottom: 'x' top: '" + name +
           "' convolution_param { num_output: 16 kernel_size: 1 } quantization_param { bw_layer_in: 8 bw_layer_out: 8 "
           "bw_params: 8 scale_in: 0.5 scale_out: " +
           out + " scale_params: 0.5 } }\n";
  };
  const auto file =
      file_of(("layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 16 dim: 5 dim: 4 "
               "} } }\n" +
               layer("a", "0.25") + layer("b", "0.75") +
               "layer { name: 'sum' type: 'Eltwise' bottom: 'a' bottom: 'b' top: 'x2' }\n"
               "layer { name: 'c' type: 'Convolution' bottom: 'x2' top: 'out' convolution_param { "
               "num_output: 16 kernel_size: 1 } quantization_param { bw_layer_in: 8 bw_params: 8 scale_in: 0.5 "
               "scale_params: 0.5 } }")
                  .c_str());
  Context context(1);
  const auto net = make(file, context, frozen_options());
  std::map<std::string, float> scales;
  for (const graph::Node& node : net->plan().graph.nodes)
    if (node.eight_bits) scales[node.name] = is_8_bit(node.eight_bits->y.dtype) ? node.eight_bits->y.scale : 0;
  EXPECT_EQ(scales, (std::map<std::string, float>{{"a", 0.25f}, {"b+sum", 0.5f}, {"c", 0}}));
}

TEST(QuantizedNet, KeptBlobsAreFloats) {
  const auto file = file_of(kNet);
  Context a(2), b(2);
  graph::BuildOptions options = frozen_options();
  options.keep = {"sum1", "join"};
  const auto exact = make(file, a, options);
  const Quantized q = quantize(file, *exact, {});
  const auto rounded = make(with_scales(*file, q.scales), b, options);
  rounded->load_weights(q.weights, "drawn");
  run(*exact), run(*rounded);
  for (const char* blob : {"sum1", "join", "out"})
    EXPECT_LT(distance(rounded->read_blob(blob), exact->read_blob(blob)), 0.08) << blob;
}

/// Integers of one scale have at most 256 values.
TEST(QuantizedNet, EveryKeptBlobHasMoreValuesThanIntegers) {
  const auto file = file_of(kNet);
  Context context(2);
  const auto exact = make(file, context, frozen_options());
  const Quantized q = quantize(file, *exact, {});
  for (const char* blob : {"stem", "pool", "c1", "sum1", "dw", "linear", "sum2", "a", "join", "last"}) {
    graph::BuildOptions options = frozen_options();
    options.keep = {blob};
    const auto rounded = make(with_scales(*file, q.scales), context, options);
    rounded->load_weights(q.weights, "drawn");
    run(*rounded);
    const std::vector<float> values = rounded->read_blob(blob);
    EXPECT_GT(std::set<float>(values.begin(), values.end()).size(), 256u) << blob << ", of " << values.size();
  }
}

TEST(QuantizedNet, TrainsAndRunsUnfusedOnFloats) {
  const auto file = file_of(kNet);
  Context context(2);
  const auto exact = make(file, context, frozen_options());
  const Quantized q = quantize(file, *exact, {});
  for (const bool frozen : {false, true}) {
    graph::BuildOptions options = frozen_options();
    options.frozen = frozen;
    options.fuse = !frozen;
    const auto net = make(with_scales(*file, q.scales), context, options);
    for (const graph::Value& value : net->plan().graph.values) EXPECT_EQ(value.dtype, DType::kF32) << value.name;
  }
}

TEST(QuantizedNet, NewWeightsAreRounded) {
  const auto file = file_of(kNet);
  Context a(2), b(2);
  const auto exact = make(file, a, frozen_options());
  const Quantized q = quantize(file, *exact, {});
  const auto net = make(with_scales(*file, q.scales), a, frozen_options()),
             other = make(with_scales(*file, q.scales), b, frozen_options());
  expect_folds_anew(*net, *other, q.weights, drawn_weights(*exact, 7));
}

TEST(QuantizedNet, ThreadsChangeNoBit) {
  const auto file = file_of(kNet);
  Context one(1), three(3);
  const auto exact = make(file, one, frozen_options());
  const Quantized q = quantize(file, *exact, {});
  std::vector<float> first;
  for (Context* context : {&one, &three}) {
    const auto net = make(with_scales(*file, q.scales), *context, frozen_options());
    net->load_weights(q.weights, "drawn");
    run(*net);
    if (first.empty())
      first = net->read_blob("out");
    else
      EXPECT_EQ(net->read_blob("out"), first);
  }
}

/// The older form stores positions of the binary point, that is, powers of two.
TEST(QuantizedNet, AcceptsPositionsOfTheBinaryPoint) {
  const auto net_with = [](const std::string& scales) {
    return file_of(
        (R"(layer { name: "in" type: "Input" top: "data" input_param { shape { dim: 1 dim: 16 dim: 5 dim: 5 } } }
      layer { name: "c" type: "Convolution" bottom: "data" top: "out" convolution_param { num_output: 16 kernel_size: 1
      weight_filler { type: "xavier" } } quantization_param { bw_layer_in: 8 bw_layer_out: 32 bw_params: 8
      is_negative_input: true )" +
         scales + " } }")
            .c_str());
  };
  std::vector<std::vector<float>> results;
  for (const char* scales : {"fl_layer_in: 5 fl_params: 6", "scale_in: 32 scale_params: 64"}) {
    Context context(1);
    const auto net = make(net_with(scales), context, frozen_options());
    run(*net);
    results.push_back(net->read_blob("out"));
  }
  EXPECT_EQ(results[0], results[1]);
}

/// Scales are those of the weights with BatchNorm folded in.
TEST(Calibration, MeasuresFoldedWeights) {
  const auto file = file_of(R"(
    layer { name: "in" type: "Input" top: "data" input_param { shape { dim: 1 dim: 2 dim: 3 dim: 3 } } }
    layer { name: "c" type: "Convolution" bottom: "data" top: "c"
        convolution_param { num_output: 2 kernel_size: 1 bias_term: false } }
    layer { name: "bn" type: "BatchNorm" bottom: "c" top: "c" batch_norm_param { eps: 0 } }
    layer { name: "relu" type: "ReLU" bottom: "c" top: "c" }
    layer { name: "end" type: "Convolution" bottom: "c" top: "end"
        convolution_param { num_output: 1 kernel_size: 1 } })");
  Context context(1);
  const auto net = make(file, context, frozen_options());
  net->load_weights({{"c", "Convolution", {{Shape{2, 2, 1, 1}, {3, -4, 0.5f, 0.25f}}}},
                     {"bn", "BatchNorm", {{Shape{2}, {0, 0}}, {Shape{2}, {4, 0.25f}}, {Shape{1}, {1}}}}},
                    "weights");
  const auto layers = quantizable_layers(*file, frozen_options());
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_TRUE(!layers[0].last && layers[0].y_is_unsigned && !layers[0].x_is_unsigned);
  EXPECT_TRUE(layers[1].last && layers[1].x_is_unsigned && !layers[1].y_is_unsigned);
  Calibration calibration(*net, {layers[0]});
  std::vector<float> x(18, 0.5f);
  x[3] = -2;
  net->write_blob("data", x.data());
  calibration.run_batch();
  const auto scales = calibration.scales({RangeRule::kLargest});
  const caffe::QuantizationParameter& param = scales.at("c");
  ASSERT_EQ(param.scale_params_size(), 2);
  EXPECT_FLOAT_EQ(param.scale_params(0), 127 / 2.0f);  // 4 over the deviation of 2
  EXPECT_FLOAT_EQ(param.scale_params(1), 127 / 1.0f);  // 0.5 over 0.5
  EXPECT_FLOAT_EQ(param.scale_in(0), 127 / 2.0f);
  EXPECT_TRUE(param.is_negative_input());
  EXPECT_FLOAT_EQ(param.scale_out(0), 255 / 0.75f);  // of the ReLU's: (0.25 + 0.125) / 0.5
}

TEST(Calibration, NewScalesReplaceAll) {
  const auto file = file_of(kProducts);
  caffe::QuantizationParameter one, two;
  one.add_scale_in(1), two.add_scale_in(2);
  const auto first = with_scales(*file, {{"c", one}, {"fc1", one}}), second = with_scales(*first, {{"fc1", two}});
  std::map<std::string, float> scales;
  for (const caffe::LayerParameter& layer : second->net.layer())
    if (layer.quantization_param().scale_in_size() > 0) scales[layer.name()] = layer.quantization_param().scale_in(0);
  EXPECT_EQ(scales, (std::map<std::string, float>{{"fc1", 2.0f}}));
}

TEST(Calibration, LayersWithoutWeightsKeepFloats) {
  const auto file = file_of(R"(
    layer { name: "in" type: "Input" top: "data" input_param { shape { dim: 1 dim: 2 dim: 3 dim: 3 } } }
    layer { name: "c" type: "Convolution" bottom: "data" top: "c" convolution_param { num_output: 2 kernel_size: 1
        weight_filler { type: "constant" value: 0 } bias_filler { type: "constant" value: 1 } } })");
  Context context(1);
  const auto net = make(file, context, frozen_options());
  Calibration calibration(*net, quantizable_layers(*file, frozen_options()));
  net->write_blob("data", std::vector<float>(18, 1).data());
  calibration.run_batch();
  EXPECT_TRUE(calibration.scales({}).empty());
}

TEST(Calibration, LayersWithoutValuesKeepFloats) {
  const auto file = file_of(kNet);
  Context context(1);
  const auto net = make(file, context, frozen_options());
  Calibration calibration(*net, quantizable_layers(*file, frozen_options()));
  const std::vector<float> zeros(size_t(net->blob_shape("data").count()));
  net->write_blob("data", zeros.data());
  calibration.run_batch();
  EXPECT_TRUE(calibration.scales({}).empty());
}

TEST(ValueRange, FollowsItsRule) {
  ValueRange range;
  std::vector<float> values;
  for (int i = 1; i <= 1000; ++i) values.push_back(float(i % 2 ? i : -i) / 1000);
  range.add(values.data(), 500);
  range.add(values.data() + 500, 500);  // larger ones: bins widen
  EXPECT_TRUE(range.has_negative());
  EXPECT_FLOAT_EQ(range.bound({RangeRule::kLargest}, 127), 1);
  EXPECT_NEAR(range.bound({RangeRule::kPercentile, 90}, 127), 0.9, 0.0003);
  EXPECT_NEAR(range.bound({RangeRule::kPercentile, 100}, 127), 1, 0.002);
  EXPECT_NEAR(range.bound({RangeRule::kDivergence}, 127), 1, 0.1);  // uniform values need the whole range
}

TEST(ValueRange, CountsZeros) {
  ValueRange range;
  std::vector<float> values(1000);
  for (int i = 0; i < 500; ++i) values[size_t(500 + i)] = float(i + 1) / 500;
  range.add(values.data(), 400);
  range.add(values.data() + 400, 600);
  EXPECT_FALSE(range.has_negative());
  EXPECT_NEAR(range.bound({RangeRule::kPercentile, 60}, 127), 0.2, 0.001);
  EXPECT_NEAR(range.bound({RangeRule::kPercentile, 90}, 127), 0.8, 0.001);
}

/// The divergence of the values' counts, cut off after `bins` bins, from their means over each level.
double divergence_of(const std::vector<double>& counts, size_t bins, size_t levels) {
  std::vector<double> cut(counts.begin(), counts.begin() + long(bins)), flat(bins);
  const double kept = std::accumulate(cut.begin(), cut.end(), 0.0),
               all = std::accumulate(counts.begin(), counts.end(), 0.0);
  for (size_t i = 0; i < bins; ++i) {
    size_t level = 0;
    while ((level + 1) * bins / levels <= i) ++level;
    double sum = 0, used = 0;
    for (size_t k = level * bins / levels; k < (level + 1) * bins / levels; ++k) sum += cut[k], used += cut[k] > 0;
    if (cut[i] > 0 || i == bins - 1) flat[i] = sum / std::max(used, 1.0) / kept;  // the last has all beyond it
  }
  cut.back() += all - kept;
  if (flat.back() == 0 && cut.back() > 0) return 1e300;
  double sum = 0;
  for (size_t i = 0; i < bins; ++i)
    if (cut[i] > 0) sum += cut[i] / all * std::log(cut[i] / all / flat[i]);
  return sum;
}

TEST(ValueRange, HasTheLeastDivergence) {
  constexpr size_t kBins = 4096, kStep = 16;
  RandomStream random(2);
  for (const size_t levels : {127, 255})
    for (const float power : {1.0f, 2.5f, 4.0f}) {
      std::vector<float> values(30000);
      float largest = 0;
      for (float& v : values) {
        v = std::pow(std::abs(float(random.normal())), power);
        largest = std::max(largest, v);
      }
      std::vector<double> counts(kBins);
      const float width = largest / kBins;
      for (const float v : values)
        if (v != 0) counts[std::min(kBins - 1, size_t(v / width))] += 1;
      double within = 0;
      size_t first = 0;
      while (within < 0.999 * double(values.size())) within += counts[first++];
      double least = 1e200;
      for (size_t bins = std::max(levels, first); bins <= kBins; bins += kStep)
        least = std::min(least, divergence_of(counts, bins, levels));
      ValueRange range;
      range.add(values.data(), int64_t(values.size()));
      const auto chosen = size_t(range.bound({RangeRule::kDivergence}, int(levels)) / width + 0.5f);
      EXPECT_LE(divergence_of(counts, chosen, levels), 1.01 * least) << levels << " levels, power " << power;
      EXPECT_GE(chosen, first) << levels << " levels, power " << power;
    }
}

/// One outlier would cost all other values most of their levels: it is cut off.
TEST(ValueRange, LeastDivergenceCutsOffOutliers) {
  ValueRange range;
  RandomStream random(1);
  std::vector<float> values(20000);
  for (float& v : values) v = float(random.normal());
  values[77] = 100;
  range.add(values.data(), int64_t(values.size()));
  const float bound = range.bound({RangeRule::kDivergence}, 127);
  EXPECT_GT(bound, 2);
  EXPECT_LT(bound, 30);
  EXPECT_LT(range.bound({RangeRule::kPercentile, 99.99}, 127), 6);
}

/// A tenth of the values is at the maximum of a ReLU6.
TEST(ValueRange, LeastDivergenceKeepsFrequentValues) {
  ValueRange range;
  RandomStream random(2);
  std::vector<float> values(20000);
  for (float& v : values) v = random.uniform() < 0.1f ? 6.0f : std::min(6.0f, float(std::abs(random.normal())));
  range.add(values.data(), int64_t(values.size()));
  EXPECT_NEAR(range.bound({RangeRule::kDivergence}, 255), 6, 0.01);
}

TEST(ValueRange, OfZerosIsZero) {
  ValueRange range;
  const float zeros[4] = {};
  range.add(zeros, 4);
  EXPECT_EQ(range.bound({}, 127), 0);
  EXPECT_FALSE(range.has_negative());
}

}  // namespace
}  // namespace cortado
