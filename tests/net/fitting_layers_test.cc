#include "net/fitting_layers.h"

#include <gtest/gtest.h>

#include "net/inputs.h"
#include "net/observed_net.h"

namespace cortado {
namespace {

const char* const kFitting = R"(
  layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 12 dim: 12 } } }
  layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
    convolution_param { num_output: 4 kernel_size: 3 } }
  layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
  layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param { kernel_size: 5 } }
  layer { name: "fc" type: "InnerProduct" bottom: "pool" top: "fc" inner_product_param { num_output: 2 } }
  layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 1 } } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" }
)";

class FittingLayers : public testing::Test {
 protected:
  FittingLayers() {
    options_.observed = true;
    whole_ = make_net(file_, options_, context_);
  }

  std::shared_ptr<const NetFile> at(int64_t size) const { return with_inputs(file_, {{"data", {1, 3, size, size}}}); }

  graph::BuildOptions options_;
  Context context_;
  std::shared_ptr<const NetFile> file_ = std::make_shared<NetFile>(read_net_from_text(kFitting, "net.prototxt"));
  std::unique_ptr<Net> whole_;
};

TEST_F(FittingLayers, EndAtTheFirstThatDoesNotFit) {
  EXPECT_EQ(fitting_layers(at(12), options_, *whole_), 7u);
  EXPECT_EQ(fitting_layers(at(13), options_, *whole_), 4u) << "other weights of fc";
  EXPECT_EQ(fitting_layers(at(6), options_, *whole_), 3u) << "smaller than the pooling";
  EXPECT_EQ(fitting_layers(at(2), options_, *whole_), 1u) << "smaller than the convolution";
}

/// Also where the first layer does not fit, or has other weights than the net's first.
TEST_F(FittingLayers, MayBeNone) {
  const auto first = [](const std::string& more) {
    return std::make_shared<NetFile>(read_net_from_text(
        "layer { name: 'w' type: 'Parameter' top: 'w' parameter_param { shape { " + more + " } } }\n", "net.prototxt"));
  };
  const auto two = make_net(first("dim: 2"), options_, context_);
  EXPECT_EQ(fitting_layers(first("dim: 2"), options_, *two), 1u);
  EXPECT_EQ(fitting_layers(first("dim: 3"), options_, *two), 0u);
  const auto crop = std::make_shared<NetFile>(read_net_from_text(
      "layer { name: 'd' type: 'DummyData' top: 'd' dummy_data_param { shape { dim: -1 } } }", "net.prototxt"));
  EXPECT_EQ(fitting_layers(crop, options_, *two), 0u);
}

/// With all inputs, and gradients of what a later loss depends on.
TEST_F(FittingLayers, RunAlone) {
  options_.first_layers = 3;
  options_.accumulates = true;
  options_.verify = true;
  const auto first = make_net(at(6), options_, context_, whole_.get());
  ObservedNet net(*first);
  EXPECT_EQ(net.blobs(), (std::vector<std::string>{"data", "conv", "label"}));
  EXPECT_EQ(net.shape("conv"), (Shape{1, 4, 4, 4}));
  net.forward(0, 2);
  const std::vector<float> ones(4 * 4 * 4, 1);
  net.write("conv", BlobPart::kGradients, ones.data());
  net.backward(1, 1);
  std::vector<float> bias(4);
  first->read_weight_gradient(first->plan().graph.layers[1].weights[1], bias.data());
  EXPECT_EQ(bias, std::vector<float>(4, 16));
}

}  // namespace
}  // namespace cortado
