// A weights file, loaded into nets.
#include "net/net.h"
#include "proto/files/read_text.h"
#include "proto/weights/weights_file.h"
#include "tests/fuzz/fuzzed.h"

namespace {

constexpr const char* kImages = R"(
  layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 1 dim: 3 dim: 6 dim: 6 } } }
  layer { name: "c" type: "Convolution" bottom: "x" top: "c" convolution_param { num_output: 2 kernel_size: 3 } }
  layer { name: "bn" type: "BatchNorm" bottom: "c" top: "c" }
  layer { name: "s" type: "Scale" bottom: "c" top: "c" scale_param { bias_term: true } }
  layer { name: "p" type: "PReLU" bottom: "c" top: "c" }
  layer { name: "d" type: "Deconvolution" bottom: "c" top: "d" convolution_param { num_output: 2 kernel_size: 2 } }
  layer { name: "ip" type: "InnerProduct" bottom: "d" top: "ip" inner_product_param { num_output: 2 } })";
constexpr const char* kSequences = R"(
  layer { name: "t" type: "Input" top: "t" top: "cont"
          input_param { shape { dim: 3 dim: 1 } shape { dim: 3 dim: 1 } } }
  layer { name: "e" type: "Embed" bottom: "t" top: "e" embed_param { input_dim: 4 num_output: 2 } }
  layer { name: "l" type: "LSTM" bottom: "e" bottom: "cont" top: "l" recurrent_param { num_output: 2 } }
  layer { name: "b" type: "Bias" bottom: "l" top: "b" bias_param { axis: 2 } })";

std::unique_ptr<cortado::Net> net_of(const char* text) {
  static cortado::Context context(1);
  cortado::graph::BuildOptions options;
  options.state.set_phase(caffe::TEST);
  options.backward = false;
  return cortado::make_net(std::make_shared<cortado::NetFile>(cortado::read_net_from_text(text, "net")), options,
                           context);
}

}  // namespace

void cortado::fuzz::fuzz(std::string_view input) {
  static const auto images = net_of(kImages), sequences = net_of(kSequences);
  expect_answer([&] {
    const std::vector<LayerWeights> layers = weights_from_bytes(input, "weights");
    for (Net* net : {images.get(), sequences.get()})
      expect_answer([&] {
        net->load_weights(layers, "weights");
        net->forward();
      });
  });
}
