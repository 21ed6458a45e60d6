// Nets with layers written in Python, on devices.

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/device/device_memory.h"
#include "net/net.h"
#include "tests/harness/places.h"
#include "tests/harness/python_here.h"

namespace cortado {
namespace {

const bool path_is_set = ::setenv("PYTHONPATH", in_source("tests/layers/python").c_str(), 1) == 0 &&
                         ::setenv("PYTHONDONTWRITEBYTECODE", "1", 1) == 0;

/// `layer` and a sum of squares, after a layer that also runs on the host.
std::unique_ptr<Net> net_of(const std::string& layer, Context& context) {
  const std::string text =
      "layer { name: 'x' type: 'Python' top: 'x' python_param { module: 'tested_layers' layer: 'Ramp' } }"
      "layer { name: 'mine' type: 'Python' " +
      layer +
      " }"
      "layer { name: 'ip' type: 'InnerProduct' bottom: 'y' top: 'ip' inner_product_param { num_output: 2"
      " weight_filler { type: 'xavier' } } }"
      "layer { name: 'loss' type: 'Reduction' bottom: 'ip' top: 'loss' loss_weight: 1"
      " reduction_param { operation: SUMSQ } }";
  graph::BuildOptions options;
  options.state.set_phase(caffe::TRAIN);
  options.verify = true;
  options.keep = {"y", "ip"};
  return make_net(std::make_shared<NetFile>(read_net_from_text(text, "net.prototxt")), options, context);
}

std::vector<float> gradient(Net& net, const Param& param) {
  std::vector<float> values(size_t(param.shape.count()));
  param.format.to_plain(net.context(), param.dw, values.data());
  return values;
}

TEST(PythonNet, WeightsAfterHostLayersHaveGradientsOnDevices) {
  SKIP_WITHOUT_PYTHON();
  ASSERT_TRUE(path_is_set);
  const std::string mix = "bottom: 'x' bottom: 'x' top: 'y' python_param { module: 'tested_layers' layer: 'Mix' }";
  Context cpu, device({.device = {DeviceKind::kSimulated, 0}});
  const auto on_cpu = net_of(mix, cpu), on_device = net_of(mix, device);
  EXPECT_FALSE(on_device->stages_all_host_work()) << "its backward runs on the host";
  for (Net* net : {on_cpu.get(), on_device.get()}) {
    net->forward();
    net->backward();
  }
  EXPECT_GT(on_cpu->loss(), 0);
  EXPECT_NEAR(on_device->loss(), on_cpu->loss(), 1e-4 * on_cpu->loss());
  ASSERT_EQ(on_cpu->params().size(), 3u);
  for (size_t p = 0; p < 3; ++p) {
    const std::vector<float> expected = gradient(*on_cpu, on_cpu->params()[p]);
    const std::vector<float> got = gradient(*on_device, on_device->params()[p]);
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-4 * (1 + std::abs(expected[i])));
  }
}

/// The first row starts below 0.
TEST(PythonNet, LayersAfterDynamicRowsRunOnThose) {
  SKIP_WITHOUT_PYTHON();
  ASSERT_TRUE(path_is_set);
  for (const Device& place : {Device(), Device{DeviceKind::kSimulated, 0}}) {
    Context context({.device = place});
    const auto net = net_of("bottom: 'x' top: 'y' python_param { module: 'tested_layers' layer: 'Fewer' }", context);
    for (int pass = 0; pass < 2; ++pass) {
      net->forward();
      net->backward();
    }
    const std::vector<float> y = net->read_blob("y"), ip = net->read_blob("ip");
    ASSERT_EQ(y.size(), 16u) << "four rows of five";
    ASSERT_EQ(ip.size(), 8u);
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], float(i));
    double sum = 0;
    for (const float value : ip) sum += double(value) * double(value);
    EXPECT_NEAR(net->loss(), sum, 1e-4 * sum);
  }
}

TEST(PythonNet, ExceptionsHaveThePlaceOfTheLayer) {
  SKIP_WITHOUT_PYTHON();
  ASSERT_TRUE(path_is_set);
  Context context;
  const auto net = net_of(
      "bottom: 'x' top: 'y' python_param { module: 'tested_layers' layer: 'Fails' param_str: 'forward' }", context);
  try {
    net->forward();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kNet);
    const std::string text = error.what();
    EXPECT_NE(text.find("net.prototxt:1:"), std::string::npos) << text;
    EXPECT_NE(text.find("error: layer 'mine' (Python): forward() raised KeyError"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace cortado
