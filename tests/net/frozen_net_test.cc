// Nets whose weights never change, folded and fused, against the same nets left as the file says.

#include <gtest/gtest.h>

#include <cmath>

#include "core/rng.h"
#include "net/net.h"

namespace cortado {
namespace {

const char* const kNet = R"(
  name: "residual"
  layer { name: "in" type: "Input" top: "data" input_param { shape { dim: 2 dim: 20 dim: 7 dim: 6 } } }
  layer { name: "side" type: "Convolution" bottom: "data" top: "side" convolution_param { num_output: 40 kernel_size: 1 bias_term: false weight_filler { type: "xavier" } } }
  layer { name: "bn_side" type: "BatchNorm" bottom: "side" top: "side" }
  layer { name: "scale_side" type: "Scale" bottom: "side" top: "side" scale_param { bias_term: true } }
  layer { name: "c0" type: "Convolution" bottom: "data" top: "c0" convolution_param { num_output: 40 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
  layer { name: "bn0" type: "BatchNorm" bottom: "c0" top: "c0" batch_norm_param { eps: 0.1 } }
  layer { name: "sum0" type: "Eltwise" bottom: "side" bottom: "c0" top: "sum0" }
  layer { name: "relu0" type: "ReLU" bottom: "sum0" top: "sum0" }
  layer { name: "c1a" type: "Convolution" bottom: "sum0" top: "c1a" convolution_param { num_output: 24 kernel_size: 1 weight_filler { type: "xavier" } } }
  layer { name: "c1" type: "Convolution" bottom: "c1a" top: "c1" convolution_param { num_output: 40 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
  layer { name: "bn1" type: "BatchNorm" bottom: "c1" top: "c1" }
  layer { name: "bias1" type: "Bias" bottom: "c1" top: "c1" }
  layer { name: "bn1b" type: "BatchNorm" bottom: "c1" top: "c1" }
  layer { name: "sum1" type: "Eltwise" bottom: "c1" bottom: "sum0" top: "sum1" }
  layer { name: "dw" type: "Convolution" bottom: "sum1" top: "dw" convolution_param { num_output: 40 group: 40 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
  layer { name: "scale_dw" type: "Scale" bottom: "dw" top: "dw" }
  layer { name: "sum2" type: "Eltwise" bottom: "dw" bottom: "sum1" top: "sum2" }
  layer { name: "c3" type: "Convolution" bottom: "sum2" top: "c3" convolution_param { num_output: 40 group: 2 kernel_size: 1 weight_filler { type: "xavier" } } }
  layer { name: "sum3" type: "Eltwise" bottom: "c3" bottom: "sum2" top: "sum3" }
  layer { name: "fc" type: "InnerProduct" bottom: "sum3" top: "fc" inner_product_param { num_output: 19 weight_filler { type: "xavier" } } }
  layer { name: "bn_fc" type: "BatchNorm" bottom: "fc" top: "fc" }
  layer { name: "relu_fc" type: "ReLU" bottom: "fc" top: "fc" }
  layer { name: "out" type: "InnerProduct" bottom: "fc" top: "out" inner_product_param { num_output: 5 transpose: true bias_term: false weight_filler { type: "xavier" } } }
  layer { name: "scale_out" type: "Scale" bottom: "out" top: "out" scale_param { bias_term: true } }
)";

std::unique_ptr<Net> make(std::shared_ptr<const NetFile> file, Context& context, graph::BuildOptions options, Net* of = nullptr) {
  options.state.set_phase(caffe::TEST);
  options.backward = false;
  return make_net(std::move(file), options, context, of);
}

std::shared_ptr<const NetFile> small_net() {
  return std::make_shared<NetFile>(read_net_from_text(kNet, "net.prototxt"));
}

/// The net's weights with every statistic, factor and term drawn, as if it had been trained.
std::vector<LayerWeights> drawn_weights(Net& net, uint64_t seed = 3) {
  RandomStream random(seed);
  std::vector<LayerWeights> out;
  const caffe::NetParameter proto = net.to_proto();
  for (const caffe::LayerParameter& layer : proto.layer()) {
    if (layer.blobs_size() == 0) continue;
    LayerWeights weights{layer.name(), layer.type(), {}};
    for (const caffe::BlobProto& blob : layer.blobs()) {
      const auto& dims = blob.shape().dim();
      BlobFile file{Shape(std::vector<int64_t>(dims.begin(), dims.end())), {blob.data().begin(), blob.data().end()}};
      const bool matrix = file.shape.axes() > 1, spreads = weights.blobs.size() != 1 || layer.type() != "BatchNorm";
      for (float& v : file.data)
        if (!matrix) v = spreads ? float(1 + 0.3 * random.normal()) : float(2 * (0.5 + random.uniform()));
      if (layer.type() == "BatchNorm" && weights.blobs.size() == 2) file.data[0] = 2;  // what the sums are divided by
      weights.blobs.push_back(std::move(file));
    }
    out.push_back(std::move(weights));
  }
  return out;
}

std::vector<float> drawn(int64_t count, uint64_t seed) {
  RandomStream random(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = float(random.normal());
  return values;
}

void run(Net& net, uint64_t seed = 5) {
  const std::string input = net.input_names()[0];
  net.write_blob(input, drawn(net.blob_shape(input).count(), seed).data());
  net.forward();
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double difference = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(double(a[i]) - b[i], 2);
    size += std::pow(double(b[i]), 2);
  }
  EXPECT_GT(size, 0);
  return std::sqrt(difference / size);
}

/// Relative distance of `blob` between the frozen net and the net as written.
double distance_of_frozen(const std::shared_ptr<const NetFile>& file, const std::string& blob) {
  Context a(2), b(2);
  graph::BuildOptions frozen, plain;
  frozen.frozen = true;
  plain.fuse = false;
  frozen.keep = plain.keep = {blob};
  const auto fast = make(file, a, frozen), slow = make(file, b, plain);
  const std::vector<LayerWeights> weights = drawn_weights(*slow);
  for (Net* net : {fast.get(), slow.get()}) {
    if (!weights.empty()) net->load_weights(weights, "drawn");
    run(*net);
  }
  EXPECT_LT(fast->forward_steps(), slow->forward_steps());
  for (const float v : slow->read_blob(blob)) EXPECT_TRUE(std::isfinite(v));
  return distance(fast->read_blob(blob), slow->read_blob(blob));
}

TEST(FrozenNet, folded_and_fused_gives_what_the_file_says) {
  EXPECT_LE(distance_of_frozen(small_net(), "out"), 2e-6);
  EXPECT_LE(distance_of_frozen(small_net(), "sum0"), 2e-6);  // kept: the sum behind it may not lie in its memory
}

/// Depthwise convolutions under each of their names, and ReLU6.
const char* const kMobileNet = R"(
  name: "mobile"
  layer { name: "in" type: "Input" top: "data" input_param { shape { dim: 2 dim: 20 dim: 7 dim: 6 } } }
  layer { name: "dw1" type: "DepthwiseConvolution" bottom: "data" top: "dw1" convolution_param { kernel_size: 3 pad: 1 bias_term: false weight_filler { type: "gaussian" std: 2 } } }
  layer { name: "bn1" type: "BatchNorm" bottom: "dw1" top: "dw1" }
  layer { name: "scale1" type: "Scale" bottom: "dw1" top: "dw1" scale_param { bias_term: true } }
  layer { name: "relu1" type: "ReLU6" bottom: "dw1" top: "dw1" }
  layer { name: "pw" type: "Convolution" bottom: "dw1" top: "pw" convolution_param { num_output: 32 kernel_size: 1 weight_filler { type: "gaussian" std: 2 } } }
  layer { name: "relu_pw" type: "ReLU6" bottom: "pw" top: "pw" }
  layer { name: "dw2" type: "ConvolutionDepthwise" bottom: "pw" top: "dw2" convolution_param { kernel_size: 3 stride: 2 weight_filler { type: "gaussian" std: 2 } } }
  layer { name: "scale2" type: "Scale" bottom: "dw2" top: "dw2" }
  layer { name: "relu2" type: "ReLU6" bottom: "dw2" top: "dw2" }
)";

TEST(FrozenNet, convolutions_of_mobile_nets_take_over_what_is_behind_them) {
  const auto file = std::make_shared<NetFile>(read_net_from_text(kMobileNet, "net.prototxt"));
  for (const char* blob : {"dw1", "pw", "dw2"}) EXPECT_LE(distance_of_frozen(file, blob), 2e-6) << blob;
  Context context(1);
  graph::BuildOptions options;
  options.frozen = true;
  const auto net = make(file, context, options);
  for (const graph::Step& step : net->plan().forward) {
    const std::string& type = net->plan().graph.nodes[size_t(step.node)].type;
    EXPECT_TRUE(type == "Input" || type == "Reorder" || type.find("onvolution") != std::string::npos) << type;
  }
}

TEST(FrozenNet, is_as_small_as_it_can_be) {
  Context context(1);
  graph::BuildOptions options;
  options.frozen = true;
  const auto net = make(small_net(), context, options);
  std::string types;
  for (const graph::Step& step : net->plan().forward) types += net->plan().graph.nodes[size_t(step.node)].type + "\n";
  for (const char* gone : {"\nBatchNorm", "\nScale", "\nBias", "\nEltwise", "\nReLU"})
    EXPECT_EQ(types.find(gone), std::string::npos) << types;
}

/// The steps whose sum lies where the other operand was.
int sums_in_place(const Net& net) {
  int count = 0;
  for (const graph::Step& step : net.plan().forward)
    count += step.x.size() == 2 && step.y.size() == 1 && step.x[1].offset == step.y[0].offset;
  return count;
}

TEST(FrozenNet, sums_work_in_the_memory_of_the_other_operand_unless_somebody_looks_at_it) {
  Context context(1);
  graph::BuildOptions options;
  options.frozen = true;
  EXPECT_EQ(sums_in_place(*make(small_net(), context, options)), 2);  // not sum2 and sum3: dw and c3 read what they add
  options.keep = {"sum0"};
  EXPECT_EQ(sums_in_place(*make(small_net(), context, options)), 1);
}

TEST(FrozenNet, blobs_between_merged_layers_are_no_outputs) {
  Context context(1);
  graph::BuildOptions options;
  options.frozen = true;
  const auto net = make(small_net(), context, options);
  ASSERT_EQ(net->outputs().size(), 1u);
  EXPECT_EQ(net->outputs()[0].name, "out");
}

TEST(FrozenNet, new_weights_are_folded_anew) {
  Context a(1), b(1);
  graph::BuildOptions options;
  options.frozen = true;
  const auto net = make(small_net(), a, options), other = make(small_net(), b, options);
  const auto first = drawn_weights(*net, 3), second = drawn_weights(*net, 4);
  net->load_weights(first, "first");
  run(*net);
  const std::vector<float> before = net->read_blob("out");
  net->load_weights(second, "second");
  run(*net);
  EXPECT_GT(distance(net->read_blob("out"), before), 0.01);
  other->load_weights(second, "second");
  run(*other);
  EXPECT_EQ(net->read_blob("out"), other->read_blob("out"));
}

TEST(FrozenNet, weights_come_out_as_they_went_in) {
  Context context(1);
  graph::BuildOptions options;
  options.frozen = true;
  const auto net = make(small_net(), context, options);
  const std::vector<LayerWeights> weights = drawn_weights(*net);
  net->load_weights(weights, "drawn");
  run(*net);
  const caffe::NetParameter proto = net->to_proto();
  for (const LayerWeights& layer : weights)
    for (const caffe::LayerParameter& out : proto.layer())
      for (int k = 0; out.name() == layer.name && k < out.blobs_size(); ++k)
        EXPECT_EQ(std::vector<float>(out.blobs(k).data().begin(), out.blobs(k).data().end()), layer.blobs[size_t(k)].data);
}

TEST(FrozenNet, what_no_wanted_blob_needs_is_dropped) {
  Context a(1), b(1);
  graph::BuildOptions all, some;
  all.frozen = some.frozen = true;
  all.keep = some.keep = {"c0"};
  some.only_kept = true;
  const auto whole = make(small_net(), a, all), part = make(small_net(), b, some);
  const std::vector<LayerWeights> weights = drawn_weights(*whole);
  for (Net* net : {whole.get(), part.get()}) {
    net->load_weights(weights, "drawn");
    run(*net);
  }
  EXPECT_EQ(whole->read_blob("c0"), part->read_blob("c0"));
  EXPECT_EQ(part->forward_steps(), 3u);  // the input, its reorder, the convolution
  EXPECT_EQ(part->outputs().size(), 1u);
  EXPECT_EQ(part->plan().graph.weights.size(), 5u);
  EXPECT_FALSE(part->has_blob("out"));
}

class FrozenModel : public testing::TestWithParam<const char*> {};

TEST_P(FrozenModel, folded_and_fused_gives_what_the_file_says) {
  const std::string path = std::string(CORTADO_SOURCE_DIR "/models/") + GetParam() + "/deploy.prototxt";
  const auto file = std::make_shared<const NetFile>(read_net(path));
  EXPECT_LE(distance_of_frozen(file, file->net.layer(file->net.layer_size() - 1).bottom(0)), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(, FrozenModel, testing::Values("googlenet", "mobilenet_v1", "resnet18", "resnet50"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace cortado
