// Nets in which a Filter selects rows, compared with the same nets on only those rows.

#include <gtest/gtest.h>

#include <algorithm>

#include "core/device/device_memory.h"
#include "core/rng.h"
#include "net/net.h"
#include "tests/harness/errors.h"

namespace cortado {
namespace {

constexpr int64_t kRows = 6, kWidth = 4;

/// The layers after the filter, which read `x` and `label`.
const char* const kBehind = R"(
  layer { name: "fc1" type: "InnerProduct" bottom: "x" top: "fc1" inner_product_param { num_output: 5
      weight_filler { type: "xavier" } } }
  layer { name: "bn" type: "BatchNorm" bottom: "fc1" top: "fc1" }
  layer { name: "relu" type: "ReLU" bottom: "fc1" top: "fc1" }
  layer { name: "drop" type: "Dropout" bottom: "fc1" top: "fc1" }
  layer { name: "fc2" type: "InnerProduct" bottom: "fc1" top: "fc2"
      inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc2" bottom: "label" top: "loss" }
  layer { name: "size" type: "Reduction" bottom: "fc2" top: "size"
      reduction_param { operation: SUMSQ } loss_weight: 0.1 }
)";

std::string inputs(const std::string& names, int64_t rows, bool selector) {
  const std::string n = std::to_string(rows), last = selector ? " shape { dim: " + n + " }" : "";
  return "layer { name: 'in' type: 'Input' " + names + " input_param { shape { dim: " + n +
         " dim: 4 } shape { dim: " + n + " }" + last + " } }";
}

std::string filtered() {
  return inputs("top: 'data' top: 'all' top: 'selector'", kRows, true) +
         "layer { name: 'before' type: 'Scale' bottom: 'data' top: 'before' }"
         "layer { name: 'filter' type: 'Filter' bottom: 'before' bottom: 'all' bottom: 'selector' top: 'x' top: "
         "'label' }" +
         kBehind;
}

std::string alone(int64_t rows) {
  return inputs("top: 'data' top: 'label'", rows, false) +
         "layer { name: 'before' type: 'Scale' bottom: 'data' top: 'x' }" + kBehind;
}

std::unique_ptr<Net> make(const std::string& text, Context& context, bool fuse = true) {
  graph::BuildOptions options;
  options.state.set_phase(caffe::TRAIN);
  options.fuse = fuse;
  options.accumulates = true;
  options.keep = {"fc2"};
  return make_net(std::make_shared<NetFile>(read_net_from_text(text, "net.prototxt")), options, context);
}

std::vector<float> plain(Net& net, const Param& param, const float* stored) {
  std::vector<float> values(size_t(param.shape.count()));
  param.format.to_plain(net.context(), stored, values.data());
  return values;
}

void set_weights_of(Net& net, Net& other) {
  for (size_t p = 0; p < net.params().size(); ++p) {
    const std::vector<float> w = plain(other, other.params()[p], other.params()[p].w);
    net.params()[p].format.from_plain(net.context(), w.data(), net.params()[p].w);
  }
}

struct Batch {
  std::vector<float> data, label, selector;

  explicit Batch(uint64_t seed) {
    RandomStream random(seed);
    for (int64_t i = 0; i < kRows * kWidth; ++i) data.push_back(float(random.normal()));
    for (int64_t i = 0; i < kRows; ++i) label.push_back(float(i % 3));
  }
  void choose(std::vector<float> rows) { selector = std::move(rows); }
};

void give(Net& net, const Batch& batch) {
  net.write_blob("data", batch.data.data());
  net.write_blob("all", batch.label.data());
  net.write_blob("selector", batch.selector.data());
}

void give_chosen(Net& net, const Batch& batch) {
  std::vector<float> data, label;
  for (size_t row = 0; row < size_t(kRows); ++row) {
    if (batch.selector[row] == 0) continue;
    data.insert(data.end(), batch.data.begin() + long(row) * kWidth, batch.data.begin() + long(row + 1) * kWidth);
    label.push_back(batch.label[row]);
  }
  net.write_blob("data", data.data());
  net.write_blob("label", label.data());
}

void expect_near(const std::vector<float>& got, const std::vector<float>& expected, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5) << what << " " << i;
}

void compare(Net& net, Context& context, const Batch& batch, int64_t rows) {
  SCOPED_TRACE(rows);
  Context other(2);
  other.pass = context.pass;
  const auto expected = make(alone(rows), other);
  set_weights_of(*expected, net);
  give(net, batch);
  give_chosen(*expected, batch);
  for (Net* each : {&net, expected.get()}) {
    each->forward();
    each->backward();
  }
  EXPECT_NEAR(net.loss(), expected->loss(), 1e-5);
  EXPECT_EQ(net.blob_shape("fc2"), Shape({rows, 3}));
  expect_near(net.read_blob("fc2"), expected->read_blob("fc2"), "fc2");
  for (size_t p = 0; p < net.params().size(); ++p)
    expect_near(plain(net, net.params()[p], net.params()[p].dw),
                plain(*expected, expected->params()[p], expected->params()[p].dw), net.params()[p].layer);
}

TEST(FilterNet, RunsOnTheSelectedRows) {
  Context context(2);
  const auto net = make(filtered(), context);
  Batch batch(3);
  for (const std::vector<float>& rows :
       {std::vector<float>{1, 0, 1, 1, 0, 1}, {0, 0, 1, 0, 1, 0}, {1, 1, 1, 1, 1, 1}, {1, 0, 1, 1, 0, 1}}) {
    batch.choose(rows);
    compare(*net, context, batch, std::count(rows.begin(), rows.end(), 1.0f));
    ++context.pass;
  }
}

TEST(FilterNet, RunsWithoutRows) {
  Context context(1);
  const auto net = make(inputs("top: 'data' top: 'all' top: 'selector'", kRows, true) + R"(
    layer { name: "filter" type: "Filter" bottom: "data" bottom: "all" bottom: "selector" top: "x" top: "label" }
    layer { name: "fc2" type: "InnerProduct" bottom: "x" top: "fc2"
        inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc2" bottom: "label" top: "loss" })",
                        context);
  Batch batch(4);
  for (const std::vector<float>& rows : {std::vector<float>(kRows, 1), std::vector<float>(kRows, 0)}) {
    batch.choose(rows);
    give(*net, batch);
    net->forward();
    net->backward();
  }
  EXPECT_EQ(net->loss(), 0);
  EXPECT_EQ(net->blob_shape("fc2"), Shape({0, 3}));
  for (const Param& param : net->params())
    EXPECT_EQ(plain(*net, param, param.dw), std::vector<float>(size_t(param.shape.count()), 0));
}

/// Only in the selected rows.
TEST(FilterNet, FindsInvalidLabels) {
  Context context(1);
  const auto net = make(filtered(), context);
  Batch batch(7);
  batch.label[2] = 5;
  batch.choose({1, 1, 0, 1, 0, 0});
  give(*net, batch);
  EXPECT_NO_THROW(net->forward());
  batch.choose({0, 1, 1, 1, 0, 0});
  give(*net, batch);
  expect_error([&] { net->forward(); }, ExitCode::kData, "label 5");
}

/// The type of the layer that runs for the source layer of this name.
std::string type_of(const Net& net, const std::string& layer) {
  for (const graph::Node& node : net.plan().graph.nodes)
    if (node.name.starts_with(layer)) return node.type;
  return "none";
}

TEST(FilterNet, FusionChangesNoBit) {
  const std::string text = inputs("top: 'data' top: 'all' top: 'selector'", kRows, true) + R"(
    layer { name: "filter" type: "Filter" bottom: "data" bottom: "all" bottom: "selector" top: "x" top: "label" }
    layer { name: "fc1" type: "InnerProduct" bottom: "x" top: "fc1"
        inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
    layer { name: "relu" type: "ReLU" bottom: "fc1" top: "relu" }
    layer { name: "bn" type: "BatchNorm" bottom: "relu" top: "bn" }
    layer { name: "scale" type: "Scale" bottom: "bn" top: "scale" scale_param { bias_term: true } }
    layer { name: "relu6" type: "ReLU6" bottom: "scale" top: "relu6" }
    layer { name: "fc2" type: "InnerProduct" bottom: "relu6" top: "fc2"
        inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc2" bottom: "label" top: "loss" })";
  Context context(2), other(2);
  const auto fused = make(text, context), apart = make(text, other, /*fuse=*/false);
  EXPECT_EQ(type_of(*fused, "fc1"), "InnerProduct+ReLU");
  EXPECT_EQ(type_of(*fused, "bn"), "BatchNorm+Scale+ReLU6");
  EXPECT_EQ(type_of(*apart, "fc1"), "InnerProduct");
  set_weights_of(*apart, *fused);
  Batch batch(6);
  for (const std::vector<float>& rows : {std::vector<float>{1, 0, 1, 1, 0, 1}, {0, 1, 0, 0, 1, 0}}) {
    batch.choose(rows);
    for (Net* net : {fused.get(), apart.get()}) {
      give(*net, batch);
      net->forward();
      net->backward();
    }
    EXPECT_EQ(fused->read_blob("fc2"), apart->read_blob("fc2"));
    for (size_t p = 0; p < fused->params().size(); ++p) {
      const auto dw = plain(*fused, fused->params()[p], fused->params()[p].dw),
                 expected = plain(*apart, apart->params()[p], apart->params()[p].dw);
      const std::string& layer = fused->params()[p].layer;
      if (layer != "scale") {
        EXPECT_EQ(dw, expected) << layer;
      }
      for (size_t i = 0; i < dw.size(); ++i)  // only Scale rounds its products before it adds them
        EXPECT_NEAR(dw[i], expected[i], 1e-6) << layer;
    }
  }
}

TEST(FilterNet, DevicesAgree) {
  std::vector<double> losses;
  for (const Device place : {Device(), Device{DeviceKind::kSimulated, 0}}) {
    Context context({.threads = 2, .device = place});
    const auto net = make(filtered(), context);
    EXPECT_FALSE(net->stages_all_host_work());
    Batch batch(5);
    batch.choose({0, 1, 1, 1, 0, 0});
    give(*net, batch);
    net->forward();
    net->backward();
    losses.push_back(net->loss());
    losses.push_back(plain(*net, net->params()[2], net->params()[2].dw)[3]);
  }
  EXPECT_NEAR(losses[0], losses[2], 1e-5);
  EXPECT_NEAR(losses[1], losses[3], 1e-5);
}

}  // namespace
}  // namespace cortado
