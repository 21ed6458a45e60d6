#pragma once

// Small nets that contain everything that freezing merges, drawn weights, and distances of results.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/rng.h"
#include "net/net.h"

namespace cortado::frozen {

inline const char* const kResidualNet = R"(
  name: "residual"
  layer { name: "in" type: "Input" top: "data" input_param { shape { dim: 2 dim: 20 dim: 7 dim: 6 } } }
  layer { name: "side" type: "Convolution" bottom: "data" top: "side"
      convolution_param { num_output: 40 kernel_size: 1 bias_term: false weight_filler { type: "xavier" } } }
  layer { name: "bn_side" type: "BatchNorm" bottom: "side" top: "side" }
  layer { name: "scale_side" type: "Scale" bottom: "side" top: "side" scale_param { bias_term: true } }
  layer { name: "c0" type: "Convolution" bottom: "data" top: "c0"
      convolution_param { num_output: 40 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
  layer { name: "bn0" type: "BatchNorm" bottom: "c0" top: "c0" batch_norm_param { eps: 0.1 } }
  layer { name: "sum0" type: "Eltwise" bottom: "side" bottom: "c0" top: "sum0" }
  layer { name: "relu0" type: "ReLU" bottom: "sum0" top: "sum0" }
  layer { name: "c1a" type: "Convolution" bottom: "sum0" top: "c1a"
      convolution_param { num_output: 24 kernel_size: 1 weight_filler { type: "xavier" } } }
  layer { name: "c1" type: "Convolution" bottom: "c1a" top: "c1"
      convolution_param { num_output: 40 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
  layer { name: "bn1" type: "BatchNorm" bottom: "c1" top: "c1" }
  layer { name: "bias1" type: "Bias" bottom: "c1" top: "c1" }
  layer { name: "bn1b" type: "BatchNorm" bottom: "c1" top: "c1" }
  layer { name: "sum1" type: "Eltwise" bottom: "c1" bottom: "sum0" top: "sum1" }
  layer { name: "dw" type: "Convolution" bottom: "sum1" top: "dw"
      convolution_param { num_output: 40 group: 40 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
  layer { name: "scale_dw" type: "Scale" bottom: "dw" top: "dw" }
  layer { name: "sum2" type: "Eltwise" bottom: "dw" bottom: "sum1" top: "sum2" }
  layer { name: "c3" type: "Convolution" bottom: "sum2" top: "c3"
      convolution_param { num_output: 40 group: 2 kernel_size: 1 weight_filler { type: "xavier" } } }
  layer { name: "sum3" type: "Eltwise" bottom: "c3" bottom: "sum2" top: "sum3" }
  layer { name: "fc" type: "InnerProduct" bottom: "sum3" top: "fc"
      inner_product_param { num_output: 19 weight_filler { type: "xavier" } } }
  layer { name: "bn_fc" type: "BatchNorm" bottom: "fc" top: "fc" }
  layer { name: "relu_fc" type: "ReLU" bottom: "fc" top: "fc" }
  layer { name: "out" type: "InnerProduct" bottom: "fc" top: "out"
      inner_product_param { num_output: 5 transpose: true bias_term: false weight_filler { type: "xavier" } } }
  layer { name: "scale_out" type: "Scale" bottom: "out" top: "out" scale_param { bias_term: true } }
)";

inline std::unique_ptr<Net> make(std::shared_ptr<const NetFile> file, Context& context, graph::BuildOptions options,
                                 Net* of = nullptr) {
  options.state.set_phase(caffe::TEST);
  options.backward = false;
  return make_net(std::move(file), options, context, of);
}

inline std::shared_ptr<const NetFile> small_net() {
  return std::make_shared<NetFile>(read_net_from_text(kResidualNet, "net.prototxt"));
}

/// The net's weights with all statistics, scales, shifts and unfilled values drawn, as if the net had been trained.
inline std::vector<LayerWeights> drawn_weights(Net& net, uint64_t seed = 3) {
  RandomStream random(seed);
  std::vector<LayerWeights> out;
  const caffe::NetParameter proto = net.to_proto();
  for (const caffe::LayerParameter& layer : proto.layer()) {
    if (layer.blobs_size() == 0) continue;
    LayerWeights weights{layer.name(), layer.type(), {}};
    for (const caffe::BlobProto& blob : layer.blobs()) {
      const auto& dims = blob.shape().dim();
      BlobFile file{Shape(std::vector<int64_t>(dims.begin(), dims.end())), {blob.data().begin(), blob.data().end()}};
      const double filters = file.shape.axes() > 1 ? std::sqrt(2.0 / double(file.shape.count(1))) : 0;
      if (filters > 0 && std::all_of(file.data.begin(), file.data.end(), [](float v) { return v == 0; }))
        for (float& v : file.data) v = float(filters * random.normal());
      const bool spreads = weights.blobs.size() != 1 || layer.type() != "BatchNorm";
      for (float& v : file.data)
        if (filters == 0) v = spreads ? float(1 + 0.3 * random.normal()) : float(2 * (0.5 + random.uniform()));
      if (layer.type() == "BatchNorm" && weights.blobs.size() == 2) file.data[0] = 2;  // the divisor of the sums
      weights.blobs.push_back(std::move(file));
    }
    out.push_back(std::move(weights));
  }
  return out;
}

inline std::vector<float> drawn(int64_t count, uint64_t seed) {
  RandomStream random(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = float(random.normal());
  return values;
}

inline void run(Net& net, uint64_t seed = 5) {
  const std::string input = net.input_names()[0];
  net.write_blob(input, drawn(net.blob_shape(input).count(), seed).data());
  net.forward();
}

inline double distance(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double difference = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(double(a[i]) - b[i], 2);
    size += std::pow(double(b[i]), 2);
  }
  EXPECT_GT(size, 0);
  return std::sqrt(difference / size);
}

/// Checks that weights that replace others are folded as if they were loaded first; `other` is a copy of `net`.
inline void expect_folds_anew(Net& net, Net& other, const std::vector<LayerWeights>& first,
                              const std::vector<LayerWeights>& second) {
  net.load_weights(first, "first");
  run(net);
  const std::vector<float> before = net.read_blob("out");
  net.load_weights(second, "second");
  run(net);
  EXPECT_GT(distance(net.read_blob("out"), before), 0.01);
  other.load_weights(second, "second");
  run(other);
  EXPECT_EQ(net.read_blob("out"), other.read_blob("out"));
}

/// Depthwise convolutions under each of their type names, and ReLU6.
inline const char* const kMobileNet = R"(
  name: "mobile"
  layer { name: "in" type: "Input" top: "data" input_param { shape { dim: 2 dim: 20 dim: 7 dim: 6 } } }
  layer { name: "dw1" type: "DepthwiseConvolution" bottom: "data" top: "dw1"
      convolution_param { kernel_size: 3 pad: 1 bias_term: false weight_filler { type: "gaussian" std: 2 } } }
  layer { name: "bn1" type: "BatchNorm" bottom: "dw1" top: "dw1" }
  layer { name: "scale1" type: "Scale" bottom: "dw1" top: "dw1" scale_param { bias_term: true } }
  layer { name: "relu1" type: "ReLU6" bottom: "dw1" top: "dw1" }
  layer { name: "pw" type: "Convolution" bottom: "dw1" top: "pw"
      convolution_param { num_output: 32 kernel_size: 1 weight_filler { type: "gaussian" std: 2 } } }
  layer { name: "relu_pw" type: "ReLU6" bottom: "pw" top: "pw" }
  layer { name: "dw2" type: "ConvolutionDepthwise" bottom: "pw" top: "dw2"
      convolution_param { kernel_size: 3 stride: 2 weight_filler { type: "gaussian" std: 2 } } }
  layer { name: "scale2" type: "Scale" bottom: "dw2" top: "dw2" }
  layer { name: "relu2" type: "ReLU6" bottom: "dw2" top: "dw2" }
)";

/// Deconvolutions, whose weights are derived although nothing is folded into them.
inline const char* const kEnlargingNet = R"(
  name: "enlarging"
  layer { name: "in" type: "Input" top: "data" input_param { shape { dim: 2 dim: 16 dim: 5 dim: 6 } } }
  layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
      convolution_param { num_output: 32 kernel_size: 3 weight_filler { type: "xavier" } } }
  layer { name: "bn" type: "BatchNorm" bottom: "conv" top: "conv" }
  layer { name: "up" type: "Deconvolution" bottom: "conv" top: "up"
      convolution_param { num_output: 16 kernel_size: 4 stride: 2 pad: 1 weight_filler { type: "xavier" } } }
  layer { name: "bn_up" type: "BatchNorm" bottom: "up" top: "up" }
  layer { name: "relu" type: "ReLU" bottom: "up" top: "up" }
  layer { name: "groups" type: "Deconvolution" bottom: "up" top: "groups"
      convolution_param { num_output: 8 group: 4 kernel_size: 3 bias_term: false weight_filler { type: "xavier" } } }
)";

}  // namespace cortado::frozen
