// Nets with constant weights, folded and fused, compared with the same nets as in the file.

#include "tests/harness/places.h"
#include "tests/net/frozen_nets.h"

namespace cortado {
namespace {

using namespace frozen;

/// Relative distance of `blob` between the frozen net and the original one.
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

TEST(FrozenNet, folded_and_fused_matches_the_original) {
  EXPECT_LE(distance_of_frozen(small_net(), "out"), 2e-6);
  EXPECT_LE(distance_of_frozen(small_net(), "sum0"), 2e-6);  // kept: the sum after it must not use its memory
}

TEST(FrozenNet, convolutions_of_mobile_nets_merge_the_layers_after_them) {
  const auto file = std::make_shared<NetFile>(read_net_from_text(kMobileNet, "net.prototxt"));
  for (const char* blob : {"dw1", "pw", "dw2"}) EXPECT_LE(distance_of_frozen(file, blob), 2e-6) << blob;
  Context context(1);
  graph::BuildOptions options;
  options.frozen = true;
  const auto net = make(file, context, options);
  for (const graph::Step& step : net->plan().forward) {
    const std::string& type = net->plan().graph.node(step.node).type;
    EXPECT_TRUE(type == "Input" || type == "Reorder" || type.find("onvolution") != std::string::npos) << type;
  }
}

/// The types of the steps that compute, in order.
std::vector<std::string> types_of_steps(const std::string& text) {
  Context context(1);
  graph::BuildOptions options;
  options.frozen = true;
  const auto net = make(std::make_shared<NetFile>(read_net_from_text(text, "net.prototxt")), context, options);
  std::vector<std::string> types;
  for (const graph::Step& step : net->plan().forward)
    if (const std::string& type = net->plan().graph.node(step.node).type; type != "Input" && type != "Reorder")
      types.push_back(type);
  return types;
}

TEST(FrozenNet, smooth_activations_merge_into_the_products_before_them) {
  const std::string text = R"(
    layer { name: "in" type: "Input" top: "data" input_param { shape { dim: 2 dim: 20 dim: 7 dim: 6 } } }
    layer { name: "c0" type: "Convolution" bottom: "data" top: "c0"
        convolution_param { num_output: 32 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
    layer { name: "s0" type: "Sigmoid" bottom: "c0" top: "c0" }
    layer { name: "c1" type: "Convolution" bottom: "c0" top: "c1"
        convolution_param { num_output: 20 kernel_size: 1 weight_filler { type: "xavier" } } }
    layer { name: "s1" type: "Swish" bottom: "c1" top: "c1" }
    layer { name: "c2" type: "Convolution" bottom: "c1" top: "c2"
        convolution_param { num_output: 24 kernel_size: 3 weight_filler { type: "xavier" } } }
    layer { name: "s2" type: "Sigmoid" bottom: "c2" top: "c2" }
    layer { name: "c3" type: "Convolution" bottom: "c2" top: "c3"
        convolution_param { num_output: 20 kernel_size: 3 weight_filler { type: "xavier" } } }
    layer { name: "s3" type: "GELU" bottom: "c3" top: "c3" }
    layer { name: "fc" type: "InnerProduct" bottom: "c3" top: "fc"
        inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
    layer { name: "s4" type: "Sigmoid" bottom: "fc" top: "fc" })";
  EXPECT_EQ(types_of_steps(text), (std::vector<std::string>{"Convolution+Sigmoid", "Convolution+Swish", "Convolution",
                                                            "Sigmoid", "Convolution+GELU", "InnerProduct+Sigmoid"}))
      << "24 channels leave padding lanes that must not become sigmoid(0)";
  const auto file = std::make_shared<NetFile>(read_net_from_text(text, "net.prototxt"));
  for (const char* blob : {"c0", "c1", "c3", "fc"}) EXPECT_LE(distance_of_frozen(file, blob), 2e-6) << blob;
}

TEST(FrozenNet, deconvolutions_derive_their_weights) {
  const auto file = std::make_shared<NetFile>(read_net_from_text(kEnlargingNet, "net.prototxt"));
  for (const char* blob : {"up", "groups"}) EXPECT_LE(distance_of_frozen(file, blob), 2e-6) << blob;
}

TEST(FrozenNet, has_the_fewest_steps) {
  Context context(1);
  graph::BuildOptions options;
  options.frozen = true;
  const auto net = make(small_net(), context, options);
  std::string types;
  for (const graph::Step& step : net->plan().forward) types += net->plan().graph.node(step.node).type + "\n";
  for (const char* gone : {"\nBatchNorm", "\nScale", "\nBias", "\nEltwise", "\nReLU"})
    EXPECT_EQ(types.find(gone), std::string::npos) << types;
}

/// Number of steps whose sum overwrites the other operand.
int sums_in_place(const Net& net) {
  int count = 0;
  for (const graph::Step& step : net.plan().forward)
    count += step.x.size() == 2 && step.y.size() == 1 && step.x[1].offset == step.y[0].offset;
  return count;
}

TEST(FrozenNet, sums_overwrite_the_other_operand_unless_it_is_kept) {
  Context context(1);
  graph::BuildOptions options;
  options.frozen = true;
  EXPECT_EQ(sums_in_place(*make(small_net(), context, options)),
            2);  // not sum2 and sum3: dw and c3 read their operands
  options.keep = {"sum0"};
  EXPECT_EQ(sums_in_place(*make(small_net(), context, options)), 1);
}

TEST(FrozenNet, blobs_between_merged_layers_are_not_outputs) {
  Context context(1);
  graph::BuildOptions options;
  options.frozen = true;
  const auto net = make(small_net(), context, options);
  ASSERT_EQ(net->outputs().size(), 1u);
  EXPECT_EQ(net->outputs()[0].name, "out");
}

TEST(FrozenNet, new_weights_are_folded) {
  Context a(1), b(1);
  graph::BuildOptions options;
  options.frozen = true;
  const auto net = make(small_net(), a, options), other = make(small_net(), b, options);
  expect_folds_anew(*net, *other, drawn_weights(*net, 3), drawn_weights(*net, 4));
}

TEST(FrozenNet, weights_read_back_unchanged) {
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
        EXPECT_EQ(std::vector<float>(out.blobs(k).data().begin(), out.blobs(k).data().end()),
                  layer.blobs[size_t(k)].data);
}

TEST(FrozenNet, layers_that_no_requested_blob_needs_are_dropped) {
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

TEST_P(FrozenModel, folded_and_fused_matches_the_original) {
  const std::string path = in_source("models/") + GetParam() + "/deploy.prototxt";
  const auto file = std::make_shared<const NetFile>(read_net(path));
  EXPECT_LE(distance_of_frozen(file, file->net.layer(file->net.layer_size() - 1).bottom(0)), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(, FrozenModel, testing::Values("googlenet", "mobilenet_v1", "resnet18", "resnet50"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace cortado
