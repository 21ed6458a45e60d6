// Blobs and gradients of an observed net, compared with whole passes, finite differences and independent arithmetic.

#include "net/observed_net.h"

#include <gtest/gtest.h>

#include "core/device.h"
#include "core/device/device_memory.h"
#include "core/rng.h"

namespace cortado {
namespace {

// Forks, views, and in-place chains that nodes merge.
const char* const kText = R"(
  name: "observed" force_backward: true
  layer { name: "in" type: "Input" top: "data" top: "label" input_param {
      shape { dim: 3 dim: 4 dim: 9 dim: 7 } shape { dim: 3 } } }
  layer { name: "c0" type: "Convolution" bottom: "data" top: "c0"
      convolution_param { num_output: 20 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
  layer { name: "bn" type: "BatchNorm" bottom: "c0" top: "c0" }
  layer { name: "sc" type: "Scale" bottom: "c0" top: "c0" scale_param { bias_term: true } }
  layer { name: "r0" type: "ReLU" bottom: "c0" top: "c0" }
  layer { name: "c1" type: "Convolution" bottom: "c0" top: "c1"
      convolution_param { num_output: 20 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
  layer { name: "r1" type: "ReLU" bottom: "c1" top: "c1" }
  layer { name: "sum" type: "Eltwise" bottom: "c0" bottom: "c1" top: "sum" }
  layer { name: "pool" type: "Pooling" bottom: "sum" top: "pool" pooling_param { pool: AVE kernel_size: 3 stride: 2 } }
  layer { name: "drop" type: "Dropout" bottom: "pool" top: "pool" }
  layer { name: "flat" type: "Flatten" bottom: "pool" top: "flat" }
  layer { name: "fc" type: "InnerProduct" bottom: "flat" top: "fc" inner_product_param { num_output: 5
      weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" loss_weight: 2 }
)";

std::unique_ptr<Net> make(Context& context, const std::string& text = kText) {
  graph::BuildOptions options;
  options.state.set_phase(caffe::TRAIN);
  options.accumulates = true;
  options.observed = true;
  options.verify = true;
  return make_net(std::make_shared<NetFile>(read_net_from_text(text, "net.prototxt")), options, context);
}

using Values = std::vector<float>;

Values read(const ObservedNet& net, const std::string& blob, BlobPart part = BlobPart::kValues) {
  Values values(size_t(net.net().blob_shape(blob).count()));
  net.read(blob, part, values.data());
  return values;
}

Values noise(int64_t count, uint64_t seed) {
  RandomStream random(seed);
  Values values(static_cast<size_t>(count));
  for (float& v : values) v = float(random.normal());
  return values;
}

void set_inputs(ObservedNet& net) {
  net.write("data", BlobPart::kValues, noise(net.net().blob_shape("data").count(), 5).data());
  const float label[] = {0, 3, 4};
  net.write("label", BlobPart::kValues, label);
}

std::map<std::string, Values> everything(const ObservedNet& net) {
  std::map<std::string, Values> all;
  for (const std::string& blob : net.blobs())
    for (const BlobPart part : {BlobPart::kValues, BlobPart::kGradients})
      all[blob + (part == BlobPart::kValues ? "" : "'s gradient")] = read(net, blob, part);
  return all;
}

class Observed : public testing::TestWithParam<const char*> {
 protected:
  Observed() : context_({.threads = 2, .device = device_named(GetParam())}) {
    net_ = make(context_);
    observed_ = std::make_unique<ObservedNet>(*net_);
    set_inputs(*observed_);
  }

  void run_whole() {
    observed_->forward(0, observed_->layers() - 1);
    observed_->backward(0, observed_->layers() - 1);
  }

  Context context_;
  std::unique_ptr<Net> net_;
  std::unique_ptr<ObservedNet> observed_;
};

TEST_P(Observed, BlobsAreInTheFilesOrder) {
  EXPECT_EQ(observed_->blobs(),
            (std::vector<std::string>{"data", "label", "c0", "c1", "sum", "pool", "flat", "fc", "loss"}));
}

TEST_P(Observed, SingleLayersEqualAPass) {
  run_whole();
  const std::map<std::string, Values> whole = everything(*observed_);
  net_ = make(context_);
  ObservedNet again(*net_);
  set_inputs(again);
  again.forward(0, 0);
  for (size_t layer = 1; layer < again.layers(); ++layer) again.forward(layer, layer);
  for (size_t layer = again.layers(); layer-- > 0;) again.backward(layer, layer);
  for (const auto& [what, values] : everything(again)) EXPECT_EQ(values, whole.at(what)) << what;
}

TEST_P(Observed, PartsCanBeRunAgain) {
  run_whole();
  const std::map<std::string, Values> whole = everything(*observed_);
  observed_->forward(4, 9);
  observed_->backward(2, 10);
  observed_->backward(0, observed_->layers() - 1);
  for (const auto& [what, values] : everything(*observed_)) EXPECT_EQ(values, whole.at(what)) << what;
}

TEST_P(Observed, GradientsAgreeWithDifferences) {
  run_whole();
  const size_t behind_sum = 8, last = observed_->layers() - 1;
  const Values gradient = read(*observed_, "sum", BlobPart::kGradients), sum = read(*observed_, "sum");
  for (const size_t at : {size_t(0), sum.size() / 3, sum.size() - 1}) {
    double loss[2];
    for (const int side : {0, 1}) {
      Values moved = sum;
      moved[at] += side ? -0.05f : 0.05f;
      observed_->write("sum", BlobPart::kValues, moved.data());
      observed_->forward(behind_sum, last);
      loss[side] = net_->loss();
    }
    EXPECT_NEAR((loss[0] - loss[1]) / 0.1, gradient[at], 1e-3 + 0.02 * std::abs(gradient[at])) << at;
  }
}

TEST_P(Observed, GradientsMayStartAnywhere) {
  run_whole();
  const Values before = read(*observed_, "data", BlobPart::kGradients);
  Values twice = read(*observed_, "sum", BlobPart::kGradients);
  for (float& v : twice) v *= 2;
  observed_->write("sum", BlobPart::kGradients, twice.data());
  observed_->backward(0, 7);
  const Values after = read(*observed_, "data", BlobPart::kGradients);
  for (size_t i = 0; i < after.size(); ++i) ASSERT_NEAR(after[i], 2 * before[i], 1e-4 + 1e-4 * std::abs(after[i])) << i;
}

TEST_P(Observed, TheGradientOfALossMayBeSet) {
  run_whole();
  const Values before = read(*observed_, "fc", BlobPart::kGradients);
  EXPECT_EQ(read(*observed_, "loss", BlobPart::kGradients), Values{2});
  const float three = 3;
  observed_->write("loss", BlobPart::kGradients, &three);
  observed_->backward(0, observed_->layers() - 1);
  const Values after = read(*observed_, "fc", BlobPart::kGradients);
  for (size_t i = 0; i < after.size(); ++i) ASSERT_NEAR(after[i], 1.5f * before[i], 1e-6) << i;
}

TEST_P(Observed, GradientsOfWeightsAddUpUntilTheyAreCleared) {
  const auto gradient = [&] {
    Values values(5);
    const graph::SourceLayer& fc = net_->plan().graph.source(net_->plan().graph.source_named("fc"));
    net_->read_weight_gradient(fc.weights[1], values.data());
    return values;
  };
  run_whole();
  const Values once = gradient();
  observed_->backward(0, observed_->layers() - 1);
  const Values twice = gradient();
  for (size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(twice[i], 2 * once[i], 1e-6);
  net_->backward();  // as an iteration of a training
  EXPECT_EQ(gradient(), once);
  observed_->backward(0, observed_->layers() - 1);
  EXPECT_EQ(gradient(), twice);
  observed_->clear_weight_gradients();
  EXPECT_EQ(gradient(), Values(5, 0));
}

/// A net without a loss: gradients start at its output.
TEST_P(Observed, WithoutALossGradientsStartAtTheOutput) {
  const std::string text = kText, head = text.substr(0, text.find("layer { name: \"loss\""));
  net_ = make(context_, head);
  ObservedNet net(*net_);
  net.write("data", BlobPart::kValues, noise(net_->blob_shape("data").count(), 5).data());
  net.forward(0, net.layers() - 1);
  EXPECT_EQ(read(net, "fc", BlobPart::kGradients), Values(15, 0));
  Values one(15, 0);
  one[7] = 1;
  net.write("fc", BlobPart::kGradients, one.data());
  net.backward(0, net.layers() - 1);
  const graph::SourceLayer& fc = net_->plan().graph.source(net_->plan().graph.source_named("fc"));
  const int64_t columns = net_->plan().graph.weight(fc.weights[0]).spec.shape[1];
  Values weights(size_t(5 * columns));
  net_->read_weight(fc.weights[0], weights.data());
  const Values gradient = read(net, "flat", BlobPart::kGradients);
  for (int64_t i = 0; i < columns; ++i) {
    EXPECT_EQ(gradient[size_t(i)], 0);
    EXPECT_FLOAT_EQ(gradient[size_t(columns + i)], weights[size_t(2 * columns + i)]);
  }
}

/// The same net without computation in place: what such a layer writes is a blob with the layer's name.
std::string apart() {
  caffe::NetParameter net = read_net_from_text(kText, "net.prototxt").net;
  std::map<std::string, std::string> latest;
  for (caffe::LayerParameter& layer : *net.mutable_layer()) {
    const bool in_place = layer.bottom_size() > 0 && layer.bottom(0) == layer.top(0);
    for (std::string& bottom : *layer.mutable_bottom())
      if (latest.contains(bottom)) bottom = latest[bottom];
    if (!in_place) continue;
    latest[layer.top(0)] = layer.name();
    layer.set_top(0, layer.name());
  }
  return net.DebugString();
}

void expect_alike(const Values& got, const Values& expected, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-5 + 1e-5 * std::abs(expected[i])) << what;
}

TEST_P(Observed, LayersInPlaceRunAlone) {
  const auto other = make(context_, apart());
  ObservedNet separate(*other);
  set_inputs(separate);
  const size_t last = separate.layers() - 1;
  separate.forward(0, last);
  separate.backward(0, last);
  run_whole();
  for (size_t k = 1; k < last; ++k) {
    const caffe::LayerParameter &own = *net_->plan().graph.layers[k].config,
                                &theirs = *other->plan().graph.layers[k].config;
    observed_->forward(0, k);
    const Values y = read(*observed_, own.top(0));
    expect_alike(y, read(separate, theirs.top(0)), "forward ends at " + own.name());
    observed_->forward(k + 1, last);
    expect_alike(read(*observed_, "loss"), read(separate, "loss"), "forward starts after " + own.name());
    const Values dy = noise(int64_t(y.size()), k);
    observed_->write(own.top(0), BlobPart::kGradients, dy.data());
    separate.write(theirs.top(0), BlobPart::kGradients, dy.data());
    observed_->backward(k, k);
    separate.backward(k, k);
    expect_alike(read(*observed_, own.bottom(0), BlobPart::kGradients),
                 read(separate, theirs.bottom(0), BlobPart::kGradients), "backward of " + own.name());
  }
}

/// Two layers in place: the second one alone runs again on its own result, as in Caffe.
TEST_P(Observed, TheNextLayerReadsWhatTheLastOneLeft) {
  net_ = make(context_, R"(
    layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 dim: 4 dim: 5 } } }
    layer { name: "c" type: "Convolution" bottom: "x" top: "c" convolution_param { num_output: 20 kernel_size: 1
        weight_filler { type: "gaussian" std: 1 } } }
    layer { name: "r" type: "ReLU" bottom: "c" top: "c" }
    layer { name: "twice" type: "Power" bottom: "c" top: "c" power_param { scale: 2 } }
    layer { name: "y" type: "Power" bottom: "c" top: "y" power_param { scale: 3 } })");
  ObservedNet net(*net_);
  net.write("x", BlobPart::kValues, noise(net.shape("x").count(), 5).data());
  net.forward(0, 1);
  const Values c = read(net, "c");
  net.forward(4, 4);
  net.forward(3, 3);
  const Values y = read(net, "y"), twice = read(net, "c");
  net.forward(3, 3);
  net.forward(2, 2);
  const Values last = read(net, "c");
  for (size_t i = 0; i < c.size(); ++i) {
    EXPECT_FLOAT_EQ(y[i], 3 * c[i]);
    EXPECT_FLOAT_EQ(twice[i], 2 * c[i]);
    EXPECT_FLOAT_EQ(last[i], std::max(0.0f, 4 * c[i]));
  }
}

TEST_P(Observed, UnknownBlobsAreErrors) {
  Values values(1);
  EXPECT_THROW(observed_->read("c2", BlobPart::kValues, values.data()), Error);
}

INSTANTIATE_TEST_SUITE_P(Devices, Observed, testing::Values("cpu", "simulated"),
                         [](const auto& device) { return std::string(device.param); });

}  // namespace
}  // namespace cortado
