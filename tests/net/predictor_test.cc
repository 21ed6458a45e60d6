// Concurrent requests, other batch sizes, and errors of callers.

#include "net/predictor.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/error.h"
#include "core/files/file.h"
#include "core/rng.h"
#include "tests/harness/errors.h"
#include "tests/harness/places.h"
#include "tests/net/reference_net.h"

namespace cortado {
namespace {

const char* const kNet = R"(
  name: "small"
  layer { name: "in" type: "Input" top: "data" top: "other" input_param {
      shape { dim: 1 dim: 16 dim: 6 dim: 6 } shape { dim: 1 dim: 3 } } }
  layer { name: "c0" type: "Convolution" bottom: "data" top: "c0"
      convolution_param { num_output: 32 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
  layer { name: "bn0" type: "BatchNorm" bottom: "c0" top: "c0" }
  layer { name: "c1" type: "Convolution" bottom: "c0" top: "c1"
      convolution_param { num_output: 32 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
  layer { name: "sum" type: "Eltwise" bottom: "c0" bottom: "c1" top: "sum" }
  layer { name: "fc" type: "InnerProduct" bottom: "sum" top: "fc" inner_product_param { num_output: 3
      weight_filler { type: "xavier" } } }
  layer { name: "both" type: "Eltwise" bottom: "fc" bottom: "other" top: "both" }
  layer { name: "prob" type: "Softmax" bottom: "both" top: "prob" }
)";

std::shared_ptr<const NetFile> small_net() {
  return std::make_shared<NetFile>(read_net_from_text(kNet, "net.prototxt"));
}

std::unique_ptr<Net> net_of(const std::shared_ptr<const NetFile>& file, Context& context) {
  graph::BuildOptions options;
  options.state.set_phase(caffe::TEST);
  options.backward = false;
  return make_net(file, options, context);
}

std::string weights_path(const std::string& name) { return testing::TempDir() + "/" + name + ".caffemodel"; }

/// The path of a weights file for the net.
std::string weights_of(const std::shared_ptr<const NetFile>& file, const std::string& name) {
  Context context(1);
  const std::string path = weights_path(name);
  write_weights(path, net_of(file, context)->to_proto());
  return path;
}

Array drawn(const Shape& shape, uint64_t seed) {
  RandomStream random(seed);
  Array array{shape, std::vector<float>(size_t(shape.count()))};
  for (float& v : array.values) v = float(random.normal());
  return array;
}

Arrays request(int64_t batch, uint64_t seed) {
  return {{"data", drawn({batch, 16, 6, 6}, seed)}, {"other", drawn({batch, 3}, seed + 100)}};
}

class PredictorTest : public testing::Test {
 protected:
  std::shared_ptr<const NetFile> file_ = small_net();
  std::vector<std::string> weights_ = {weights_of(file_, "predictor_test")};
};

TEST_F(PredictorTest, results_are_those_of_a_computation_in_double_precision) {
  Context context(1);
  const std::unique_ptr<Net> net = net_of(file_, context);
  ReferenceNet reference(file_->net, *net, caffe::TEST);
  caffe::NetParameter weights = net->to_proto();
  uint64_t key = 0;
  for (ReferenceNet::Weight& weight : reference.weights()) {
    weight.values = harness::random(weight.values.shape, ++key, weight.learned ? -0.3 : 0.5, weight.learned ? 0.3 : 2);
    const auto& [name, index] = weight.users[0];
    for (caffe::LayerParameter& layer : *weights.mutable_layer())
      if (layer.name() == name)
        layer.mutable_blobs(index)->mutable_data()->Assign(weight.values.values.begin(), weight.values.values.end());
  }
  const std::string path = weights_path("predictor_test_drawn");
  write_weights(path, weights);
  Predictor predictor(file_, {path});
  for (const int64_t batch : {1, 3}) {
    const Arrays x = request(batch, 5);
    harness::Arrays inputs;
    for (const char* name : {"data", "other"}) {
      const std::vector<float>& values = x.at(name).values;
      inputs.emplace_back(x.at(name).shape, std::vector<double>(values.begin(), values.end()));
    }
    reference.run(inputs);
    const Arrays y = predictor.predict(x);
    const harness::Array& expected = reference.array(reference.last("prob"));
    ASSERT_EQ(y.at("prob").shape, expected.shape);
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(y.at("prob").values[i], expected[i], 1e-5);
  }
}

TEST_F(PredictorTest, many_threads_get_equal_bits) {
  Predictor alone(file_, weights_, {.context = {.threads = 2}}), shared(file_, weights_, {.context = {.threads = 2}});
  std::vector<std::vector<float>> expected;
  for (uint64_t seed = 0; seed < 8; ++seed)
    expected.push_back(alone.predict(request(1 + int64_t(seed % 3), seed)).at("prob").values);
  std::vector<std::thread> threads;
  std::vector<int> wrong(16);
  for (size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 40; ++i) {
        const uint64_t seed = (i + t) % 8;
        wrong[t] += shared.predict(request(1 + int64_t(seed % 3), seed)).at("prob").values != expected[seed];
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(wrong.size()));
}

TEST_F(PredictorTest, rows_of_a_batch_equal_single_rows) {
  Predictor predictor(file_, weights_);
  const Arrays all = request(5, 1);
  const std::vector<float> together = predictor.predict(all).at("prob").values;
  ASSERT_EQ(together.size(), 15u);
  for (size_t n = 0; n < 5; ++n) {
    Arrays one = request(1, 0);
    for (auto& [name, array] : one)
      std::copy_n(all.at(name).values.begin() + int64_t(n * array.values.size()), array.values.size(),
                  array.values.begin());
    const std::vector<float> row = predictor.predict(one).at("prob").values;
    for (size_t k = 0; k < 3; ++k) EXPECT_NEAR(row[k], together[n * 3 + k], 1e-5);
  }
}

TEST_F(PredictorTest, more_shapes_than_are_kept_still_work) {
  Predictor predictor(file_, weights_, {.context = {.threads = 1}});
  const std::vector<float> first = predictor.predict(request(1, 7)).at("prob").values;
  for (int64_t batch = 2; batch < 30; ++batch)
    EXPECT_EQ(predictor.predict(request(batch, 7)).at("prob").shape, (Shape{batch, 3}));
  EXPECT_EQ(predictor.predict(request(1, 7)).at("prob").values, first);
}

TEST_F(PredictorTest, prepared_nets_give_the_same_results) {
  Predictor predictor(file_, weights_, {.context = {.threads = 1}}),
      other(file_, weights_, {.context = {.threads = 1}});
  for (int64_t batch = 1; batch <= 12; ++batch)
    predictor.prepare({{"data", {batch, 16, 6, 6}}, {"other", {batch, 3}}}, 2);
  for (int64_t batch = 1; batch <= 12; ++batch)
    EXPECT_EQ(predictor.predict(request(batch, 7)).at("prob").values,
              other.predict(request(batch, 7)).at("prob").values);
  Predictor one(file_, weights_, {.context = {.threads = 2}});
  one.prepare({{"data", {3, 16, 6, 6}}, {"other", {3, 3}}}, 1, 1);
  EXPECT_EQ(one.predict(request(3, 7)).at("prob").values, other.predict(request(3, 7)).at("prob").values)
      << "by one thread, as requested";
  EXPECT_THROW(predictor.prepare({{"data", {1, 15, 6, 6}}, {"other", {1, 3}}}, 1), Error);
}

TEST_F(PredictorTest, any_blob_may_be_an_output_and_needs_its_own_inputs_only) {
  Predictor all(file_, weights_), features(file_, weights_, {.outputs = {"fc", "c0"}});
  const Arrays got = features.predict({{"data", request(2, 3).at("data")}});
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got.at("fc").shape, (Shape{2, 3}));
  EXPECT_EQ(got.at("c0").shape, (Shape{2, 32, 6, 6}));
  EXPECT_EQ(all.outputs(), std::vector<std::string>{"prob"});
}

/// Convolutions of several kinds, layers folded into them, a crop and a sum of two branches: no extent is fixed.
std::shared_ptr<const NetFile> net_for(int64_t batch, int64_t height, int64_t width) {
  return std::make_shared<NetFile>(read_net_from_text(
      "layer { name: 'in' type: 'Input' top: 'data' input_param { shape { dim: " + std::to_string(batch) +
          " dim: 3 dim: " + std::to_string(height) + " dim: " + std::to_string(width) + R"( } } }
  layer { name: "c0" type: "Convolution" bottom: "data" top: "c0"
      convolution_param { num_output: 32 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
  layer { name: "bn0" type: "BatchNorm" bottom: "c0" top: "c0" }
  layer { name: "r0" type: "ReLU" bottom: "c0" top: "c0" }
  layer { name: "pool" type: "Pooling" bottom: "c0" top: "pool" pooling_param { kernel_size: 2 stride: 2 } }
  layer { name: "c1" type: "Convolution" bottom: "pool" top: "c1"
      convolution_param { num_output: 32 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
  layer { name: "sum" type: "Eltwise" bottom: "pool" bottom: "c1" top: "sum" }
  layer { name: "up" type: "Deconvolution" bottom: "sum" top: "up"
      convolution_param { num_output: 16 kernel_size: 4 stride: 2 weight_filler { type: "xavier" } } }
  layer { name: "crop" type: "Crop" bottom: "up" bottom: "data" top: "crop" crop_param { axis: 2 offset: 1 } }
  layer { name: "c2" type: "Convolution" bottom: "crop" top: "c2"
      convolution_param { num_output: 5 kernel_size: 1 weight_filler { type: "xavier" } } }
  layer { name: "prob" type: "Softmax" bottom: "c2" top: "prob" } )",
      "net.prototxt"));
}

TEST(PredictorOfAnyExtents, EqualANetWrittenForThem) {
  const std::vector<std::string> weights = {weights_of(net_for(1, 8, 8), "any_extents")};
  Predictor predictor(net_for(1, 8, 8), weights, {.context = {.threads = 2}});
  std::vector<std::pair<Array, std::vector<float>>> expected;
  for (const Shape& shape : std::vector<Shape>{{1, 3, 8, 8},
                                               {1, 3, 20, 12},
                                               {2, 3, 33, 7},
                                               {1, 3, 8, 9},
                                               {1, 3, 1, 1},
                                               {3, 3, 5, 64},
                                               {1, 3, 12, 20},
                                               {1, 3, 40, 40},
                                               {1, 3, 41, 40},
                                               {1, 3, 42, 40},
                                               {1, 3, 43, 40}}) {
    Predictor written(net_for(shape[0], shape[2], shape[3]), weights, {.context = {.threads = 2}});
    const Array data = drawn(shape, uint64_t(shape.count()));
    expected.emplace_back(data, written.predict({{"data", data}}).at("prob").values);
    EXPECT_EQ(predictor.predict({{"data", data}}).at("prob").values, expected.back().second) << shape.str();
    EXPECT_EQ(predictor.predict({{"data", data}}).at("prob").shape, (Shape{shape[0], 5, shape[2], shape[3]}));
  }
  std::vector<std::thread> threads;  // more shapes than are kept, in a different order in each thread
  std::vector<int> wrong(3);
  for (size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 3 * expected.size(); ++i) {
        const auto& [data, values] = expected[(i * (t + 1) + t) % expected.size()];
        wrong[t] += predictor.predict({{"data", data}}).at("prob").values != values;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(3));
}

TEST(PredictorOfAnyExtents, ArePlannedForTypicalRequests) {
  const std::vector<std::string> weights = {weights_of(net_for(1, 8, 8), "most_requests")};
  Predictor predictor(net_for(1, 8, 8), weights, {.shapes = {{"data", {2, 3, 30, 20}}}});
  EXPECT_EQ(predictor.output_shape("prob"), (Shape{2, 5, 30, 20}));
}

TEST_F(PredictorTest, a_typical_batch_is_that_of_all_inputs) {
  Predictor predictor(file_, weights_, {.outputs = {"prob", "other"}, .batch = 5});
  EXPECT_EQ(predictor.output_shape("prob"), (Shape{5, 3}));
  const auto vector = std::make_shared<NetFile>(read_net_from_text(
      "layer { name: 'in' type: 'Input' top: 'x' top: 'one' input_param { shape { dim: 2 } shape { } } }\n"
      "layer { name: 'abs' type: 'AbsVal' bottom: 'x' top: 'y' }\n"
      "layer { name: 'abs1' type: 'AbsVal' bottom: 'one' top: 'z' }",
      "net.prototxt"));
  Predictor of_vector(vector, {}, {.batch = 7});
  EXPECT_EQ(of_vector.output_shape("y"), (Shape{7}));
  EXPECT_EQ(of_vector.output_shape("z"), Shape());
}

TEST_F(PredictorTest, the_state_selects_layers) {
  const auto file = std::make_shared<NetFile>(read_net_from_text(
      "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 } } }\n"
      "layer { name: 'test' type: 'Power' bottom: 'x' top: 'y' power_param { scale: 2 } include { phase: TEST "
      "not_stage: "
      "'s' } }\n"
      "layer { name: 'train' type: 'Power' bottom: 'x' top: 'y' power_param { scale: 3 } include { phase: TRAIN } }\n"
      "layer { name: 'stage' type: 'Power' bottom: 'x' top: 'y' power_param { scale: 4 } include { phase: TEST stage: "
      "'s' } }",
      "net.prototxt"));
  const auto result = [&](const caffe::NetState& state) {
    return Predictor(file, {}, {.state = state}).predict({{"x", {{2}, {1, -1}}}}).at("y").values;
  };
  caffe::NetState train, stage;
  train.set_phase(caffe::TRAIN);
  stage.add_stage("s");
  EXPECT_EQ(result({}), (std::vector<float>{2, -2}));
  EXPECT_EQ(result(train), (std::vector<float>{3, -3}));
  EXPECT_EQ(result(stage), (std::vector<float>{4, -4}));
}

TEST_F(PredictorTest, every_weight_is_needed) {
  caffe::NetParameter some;
  ASSERT_TRUE(some.ParseFromString(read_file(weights_[0])));
  for (caffe::LayerParameter& layer : *some.mutable_layer())
    if (layer.name() == "c1") layer.clear_blobs();
  const std::string path = weights_path("predictor_test_some");
  write_weights(path, some);
  expect_error([&] { Predictor(file_, {path}); }, ExitCode::kSnapshot, "c1");
}

TEST_F(PredictorTest, errors_have_hints) {
  Predictor predictor(file_, weights_);
  Arrays misnamed = request(1, 1), narrow = misnamed, flat = misnamed, short_of = misnamed, missing = misnamed;
  misnamed["dat"] = misnamed["data"];
  narrow["data"] = drawn({1, 16, 6, 5}, 1);
  flat["data"] = drawn({1, 16, 36}, 1);
  short_of["data"].values.pop_back();
  missing.erase("other");
  expect_error([&] { predictor.predict(misnamed); }, ExitCode::kUsage, "did you mean 'data'");
  expect_error([&] { predictor.predict(narrow); }, ExitCode::kData,
               "layer 'fc' (InnerProduct) has weights of shape 3x1152, but these inputs need 3x960");
  expect_error([&] { predictor.predict(flat); }, ExitCode::kData, "the same number of axes");
  expect_error([&] { predictor.predict(short_of); }, ExitCode::kData, "575 values");
  expect_error([&] { predictor.predict(missing); }, ExitCode::kUsage, "'other' is missing");
  expect_error([&] { Predictor(file_, weights_, {.outputs = {"prb"}}); }, ExitCode::kUsage, "did you mean 'prob'");
  expect_error([&] { Predictor(file_, {}); }, ExitCode::kUsage, "no weights are given");
  EXPECT_EQ(predictor.predict(request(1, 1)).at("prob").shape, (Shape{1, 3}));  // after all these errors it still works
}

TEST_F(PredictorTest, the_example_of_the_documentation_runs) {
  const std::string model = in_source("models/lenet/deploy.prototxt"), out = testing::TempDir() + "/example.txt";
  const std::string weights = weights_of(std::make_shared<const NetFile>(read_net(model)), "example");
  const std::string line = "'" CORTADO_EXAMPLE "' '" + model + "' '" + weights + "' > '" + out + "'";
  ASSERT_EQ(std::system(line.c_str()), 0);
  EXPECT_EQ(read_file(out), "prob 1x10\n");
}

TEST(PredictorWithMemoryData, AcceptsInputs) {
  const auto net_of = [](const std::string& first) {
    return std::make_shared<NetFile>(
        read_net_from_text(first +
                               R"( layer { name: "fc" type: "InnerProduct" bottom: "data" top: "fc"
                inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
                    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" } )",
                           "net.prototxt"));
  };
  const auto memory = net_of(
      "layer { name: 'data' type: 'MemoryData' top: 'data' top: 'label' memory_data_param { batch_size: 4 channels: 2 "
      "height: 3 width: 3 } }");
  const auto input = net_of(
      "layer { name: 'data' type: 'Input' top: 'data' top: 'label' input_param { shape { dim: 4 dim: 2 dim: 3 dim: 3 } "
      "shape { dim: 4 } } }");
  const std::string weights = weights_of(input, "memory_data_test");
  Arrays given = {{"data", drawn({8, 2, 3, 3}, 1)}, {"label", {{8}, {0, 1, 2, 0, 1, 2, 0, 1}}}};
  Predictor both(memory, {weights}), expected(input, {weights});
  EXPECT_EQ(both.inputs(), (std::map<std::string, Shape>{{"data", {4, 2, 3, 3}}, {"label", {4}}}));
  EXPECT_EQ(both.predict(given).at("loss").values, expected.predict(given).at("loss").values);

  Predictor features(memory, {weights}, {.outputs = {"fc"}});
  const Arrays alone = {{"data", given.at("data")}};
  EXPECT_EQ(features.predict(alone).at("fc").shape, (Shape{8, 3})) << "labels are not needed";
  try {
    both.predict(alone);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("input 'label' is missing"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace cortado
