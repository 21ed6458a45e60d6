// Frozen nets on devices: folded and fused as on the CPU, with weights in the type that the kernels read. They run on
// the simulated device, and on a GPU if CORTADO_TEST_GPU names one.
//
// Tolerances are relative distances of whole blobs. Values, weights and biases are rounded to the type. A frozen net
// rounds the folded weights, and omits the roundings between merged layers; the original net does not.

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "net/predictor.h"
#include "tests/harness/places.h"
#include "tests/net/frozen_nets.h"

namespace cortado {
namespace {

using namespace frozen;

struct Case {
  Precision precision;
  double allowed;       ///< between the frozen and the original net, and between devices
  double allowed_deep;  ///< the same after dozens of layers
};
const Case kCases[] = {{Precision::kFp32, 2e-6, 1e-5},
                       {Precision::kTf32, 2e-3, 1e-2},
                       {Precision::kFp16, 2e-3, 1e-2},
                       {Precision::kBf16, 1.5e-2, 6e-2}};

std::vector<Device> devices() {
  std::vector<Device> list = {{DeviceKind::kSimulated, 0}};
  if (const char* gpu = std::getenv("CORTADO_TEST_GPU")) list.push_back({DeviceKind::kCuda, std::atoi(gpu)});
  return list;
}

struct OnDevice {
  OnDevice(const Device& device, Precision precision)
      : context({.threads = 2, .device = device, .precision = precision}) {}
  Context context;
};

graph::BuildOptions frozen_options(const std::string& kept = {}) {
  graph::BuildOptions options;
  options.frozen = true;
  if (!kept.empty()) options.keep = {kept};
  return options;
}

/// `blob` of three nets: frozen on the device, original there, original on the CPU.
std::vector<std::vector<float>> three_ways(const std::shared_ptr<const NetFile>& file, const std::string& blob,
                                           const Device& device, Precision precision) {
  OnDevice a(device, precision), b(device, precision);
  Context host(2);
  graph::BuildOptions plain;
  plain.fuse = false;
  plain.keep = {blob};
  const auto fast = make(file, a.context, frozen_options(blob)), slow = make(file, b.context, plain),
             reference = make(file, host, plain);
  const std::vector<LayerWeights> weights = drawn_weights(*reference);
  std::vector<std::vector<float>> results;
  for (Net* net : {fast.get(), slow.get(), reference.get()}) {
    net->load_weights(weights, "drawn");
    run(*net);
    results.push_back(net->read_blob(blob));
    for (const float v : results.back()) EXPECT_TRUE(std::isfinite(v));
  }
  EXPECT_LT(fast->forward_steps(), slow->forward_steps());
  return results;
}

TEST(FrozenDevice, MatchesTheOriginalNetInEveryPrecision) {
  const auto mobile = std::make_shared<NetFile>(read_net_from_text(kMobileNet, "net.prototxt")),
             enlarging = std::make_shared<NetFile>(read_net_from_text(kEnlargingNet, "net.prototxt"));
  for (const Device& device : devices())
    for (const Case& c : kCases)
      for (const auto& [file, blob] :
           {std::pair(small_net(), "out"), {small_net(), "sum0"}, {mobile, "dw2"}, {enlarging, "groups"}}) {
        SCOPED_TRACE(device.str() + " " + name_of(c.precision) + " " + blob);
        const auto results = three_ways(file, blob, device, c.precision);
        EXPECT_LE(distance(results[0], results[1]), c.allowed);
        EXPECT_LE(distance(results[0], results[2]), c.allowed);
      }
}

TEST(FrozenDevice, RunsOnlyConvolutionsAndProducts) {
  for (const Device& device : devices())
    for (const Case& c : kCases) {
      OnDevice on(device, c.precision);
      const auto net = make(small_net(), on.context, frozen_options());
      for (const graph::Step& step : net->plan().forward) {
        const std::string& type = net->plan().graph.node(step.node).type;
        EXPECT_TRUE(type == "Input" || type == "Reorder" || type.find("Convolution") == 0 ||
                    type.find("InnerProduct") == 0)
            << type;
      }
    }
}

TEST(FrozenDevice, DerivesWeightsInTheTypeOfValues) {
  for (const Device& device : devices())
    for (const Case& c : kCases) {
      OnDevice on(device, c.precision);
      const auto net = make(small_net(), on.context, frozen_options());
      int derived = 0;
      for (const LayerNeeds& needs : net->plan().needs)
        for (const kernels::WeightFormat& format : needs.derived) {
          EXPECT_EQ(format.dtype(), value_type(c.precision));
          ++derived;
        }
      EXPECT_EQ(derived, value_type(c.precision) == DType::kF32 ? 2 * 6 : 2 * 8);  // c1a and c3 have nothing to fold
      for (const kernels::WeightFormat& format : net->plan().w_formats) EXPECT_EQ(format.dtype(), DType::kF32);
    }
}

TEST(FrozenDevice, NewWeightsAreFoldedAndReadBackUnchanged) {
  for (const Device& device : devices()) {
    OnDevice a(device, Precision::kBf16), b(device, Precision::kBf16);
    const auto net = make(small_net(), a.context, frozen_options()),
               other = make(small_net(), b.context, frozen_options());
    const auto first = drawn_weights(*net, 3), second = drawn_weights(*net, 4);
    expect_folds_anew(*net, *other, first, second);
    const caffe::NetParameter proto = net->to_proto();
    for (const LayerWeights& layer : second)
      for (const caffe::LayerParameter& out : proto.layer())
        for (int k = 0; out.name() == layer.name && k < out.blobs_size(); ++k)
          EXPECT_EQ(std::vector<float>(out.blobs(k).data().begin(), out.blobs(k).data().end()),
                    layer.blobs[size_t(k)].data);
  }
}

/// A net of another batch size on the same weights, in its own context: it uses the weights that the first one loaded.
TEST(FrozenDevice, NetsShareWeights) {
  for (const Device& device : devices())
    for (const Case& c : kCases) {
      OnDevice a(device, c.precision), b(device, c.precision);
      const auto owner = make(small_net(), a.context, frozen_options());
      std::string text = kResidualNet;
      text.replace(text.find("dim: 2"), 6, "dim: 1");
      const auto single = make(std::make_shared<NetFile>(read_net_from_text(text, "single.prototxt")), b.context,
                               frozen_options(), owner.get());
      owner->load_weights(drawn_weights(*owner), "drawn");
      const std::vector<float> x = drawn(owner->blob_shape("data").count(), 5);
      run(*owner, 5);
      for (size_t image = 0; image < 2; ++image) {
        single->write_blob("data", x.data() + image * x.size() / 2);
        single->forward();
        const std::vector<float> both = owner->read_blob("out"),
                                 row(both.begin() + long(image * 5), both.begin() + long(image * 5 + 5));
        EXPECT_LE(distance(single->read_blob("out"), row), c.allowed);
      }
    }
}

TEST(FrozenDevice, ThreadsOfAPredictorGetEqualBits) {
  const auto file = small_net();
  const std::string weights = ::testing::TempDir() + "/frozen_device_test.caffemodel";
  {
    Context context(1);
    const auto net = make(file, context, frozen_options());
    net->load_weights(drawn_weights(*net), "drawn");
    write_weights(weights, net->to_proto());
  }
  const auto request = [](uint64_t seed) {
    const int64_t batch = 1 + int64_t(seed % 3);
    return Arrays{{"data", {{batch, 20, 7, 6}, drawn(batch * 840, seed)}}};
  };
  for (const Device& device : devices())
    for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
      const PredictorOptions options{.context = {.threads = 1, .device = device, .precision = precision}};
      Predictor alone(file, {weights}, options), shared(file, {weights}, options);
      std::vector<std::vector<float>> expected;
      for (uint64_t seed = 0; seed < 6; ++seed) expected.push_back(alone.predict(request(seed)).at("out").values);
      std::vector<std::thread> threads;
      std::vector<int> wrong(4);
      for (size_t t = 0; t < wrong.size(); ++t)
        threads.emplace_back([&, t] {
          for (uint64_t i = 0; i < 12; ++i)
            wrong[t] += shared.predict(request((i + t) % 6)).at("out").values != expected[(i + t) % 6];
        });
      for (std::thread& thread : threads) thread.join();
      EXPECT_EQ(wrong, std::vector<int>(4)) << device.str() << " " << name_of(precision);
    }
}

class FrozenDeviceModel : public ::testing::TestWithParam<std::tuple<const char*, Case>> {};

/// The whole net: original on the CPU, frozen on the device.
TEST_P(FrozenDeviceModel, MatchesTheCpu) {
  const auto& [name, c] = GetParam();
  const std::string path = in_source("models/") + name + "/deploy.prototxt";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the program runs without its sources";
  const auto file = std::make_shared<const NetFile>(read_net(path));
  const std::string blob = file->net.layer(file->net.layer_size() - 1).bottom(0);
  Context host(2);
  graph::BuildOptions plain;
  plain.keep = {blob};
  const auto reference = make(file, host, plain);
  const std::vector<LayerWeights> weights = drawn_weights(*reference);
  reference->load_weights(weights, "drawn");
  run(*reference);
  for (const Device& device : devices()) {
    OnDevice on(device, c.precision);
    const auto net = make(file, on.context, frozen_options(blob));
    net->load_weights(weights, "drawn");
    run(*net);
    EXPECT_LE(distance(net->read_blob(blob), reference->read_blob(blob)), c.allowed_deep) << device.str();
    for (const graph::Step& step : net->plan().forward)
      for (const char* gone : {"BatchNorm", "Scale", "Eltwise", "ReLU"})
        EXPECT_NE(net->plan().graph.node(step.node).type.find(gone), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(, FrozenDeviceModel,
                         ::testing::Combine(::testing::Values("googlenet", "mobilenet_v2", "resnet50"),
                                            ::testing::Values(kCases[0], kCases[3])),
                         [](const auto& info) {
                           return std::get<0>(info.param) + ("_" + name_of(std::get<1>(info.param).precision));
                         });

}  // namespace
}  // namespace cortado
