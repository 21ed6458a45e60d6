// A whole net compared with independent arithmetic, and with itself without any optimisation of the planner.

#include "net/net.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <thread>

#include "core/process/sanitized.h"
#include "core/rng.h"
#include "graph/passes/passes.h"
#include "net/epoch.h"
#include "tests/harness/errors.h"

namespace cortado {
namespace {

const char* const kBlock = R"(
  name: "block" force_backward: true
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
  layer { name: "r2" type: "ReLU" bottom: "sum" top: "sum" }
  layer { name: "pool" type: "Pooling" bottom: "sum" top: "pool" pooling_param { pool: MAX kernel_size: 3 stride: 2 } }
  layer { name: "cat" type: "Concat" bottom: "pool" bottom: "pool" top: "cat" }
  layer { name: "fc" type: "InnerProduct" bottom: "cat" top: "fc" inner_product_param { num_output: 5
      weight_filler { type: "xavier" } } }
  layer { name: "side" type: "InnerProduct" bottom: "sum" top: "side"
      inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" }
  layer { name: "loss2" type: "SoftmaxWithLoss" bottom: "side" bottom: "label" top: "loss2" loss_weight: 0.5 }
)";

std::unique_ptr<Net> make(const char* text, Context& context, bool free_planner) {
  graph::BuildOptions options;
  options.state.set_phase(caffe::TRAIN);
  options.accumulates = true;
  options.fuse = free_planner;
  if (!free_planner) options.keep = {"data", "c0", "c1", "sum", "pool", "cat", "fc", "side"};
  return make_net(std::make_shared<NetFile>(read_net_from_text(text, "net.prototxt")), options, context);
}

void set_inputs(Net& net) {
  RandomStream random(5);
  std::vector<float> data(size_t(net.blob_shape("data").count()));
  for (float& v : data) v = float(random.normal());
  net.write_blob("data", data.data());
  const float label[] = {0, 3, 4};
  net.write_blob("label", label);
}

std::vector<float> plain_gradient(Net& net, const Param& param) {
  std::vector<float> plain(size_t(param.shape.count()));
  param.format.to_plain(net.context(), param.dw, plain.data());
  return plain;
}

TEST(Net, fusion_and_memory_reuse_change_no_result) {
  Context a(2), b(2);
  const auto fast = make(kBlock, a, true), slow = make(kBlock, b, false);
  for (Net* net : {fast.get(), slow.get()}) {
    set_inputs(*net);
    net->forward();
    net->backward();
  }
  EXPECT_LT(fast->plan().arena_bytes, slow->plan().arena_bytes);
  EXPECT_LT(fast->forward_steps(), slow->forward_steps());
  EXPECT_NEAR(fast->loss(), slow->loss(), 1e-5);
  ASSERT_EQ(fast->params().size(), slow->params().size());
  for (const Param& param : fast->params()) {
    const Param* twin = nullptr;
    for (const Param& other : slow->params())
      if (other.layer == param.layer && other.index == param.index) twin = &other;
    ASSERT_NE(twin, nullptr) << param.layer;
    const std::vector<float> g = plain_gradient(*fast, param), h = plain_gradient(*slow, *twin);
    double difference = 0, size = 0;
    for (size_t i = 0; i < g.size(); ++i) {
      difference += std::pow(double(g[i]) - h[i], 2);
      size += std::pow(double(h[i]), 2);
    }
    EXPECT_LE(std::sqrt(difference), 2e-4 * std::sqrt(size) + 1e-5) << param.layer << " blob " << param.index;
  }
}

TEST(Net, gradients_agree_with_differences_of_the_loss) {
  Context context(1);
  const auto net = make(kBlock, context, true);
  set_inputs(*net);
  net->forward();
  net->backward();
  for (const char* layer : {"c1", "fc", "side", "sc"}) {
    const Param* param = nullptr;
    for (const Param& p : net->params())
      if (p.layer == layer && p.index == 0) param = &p;
    ASSERT_NE(param, nullptr);
    std::vector<float> w(size_t(param->shape.count()));
    param->format.to_plain(context, param->w, w.data());
    const std::vector<float> dw = plain_gradient(*net, *param);
    size_t at = 0;  // the direction of steepest ascent, where rounding matters least
    for (size_t i = 0; i < dw.size(); ++i)
      if (std::fabs(dw[i]) > std::fabs(dw[at])) at = i;
    const auto loss_at = [&](float value) {
      std::vector<float> moved = w;
      moved[at] = value;
      param->format.from_plain(context, moved.data(), param->w);
      net->forward();
      const double loss = net->loss();
      param->format.from_plain(context, w.data(), param->w);
      return loss;
    };
    const float h = 2e-3f;
    const double slope = (loss_at(w[at] + h) - loss_at(w[at] - h)) / (2.0 * h);
    EXPECT_NEAR(slope, dw[at], 0.03 * std::fabs(slope) + 1e-3) << layer;
  }
}

TEST(Net, accumulating_twice_doubles_every_gradient) {
  Context context(2);
  const auto net = make(kBlock, context, true);
  set_inputs(*net);
  net->forward();
  net->backward();
  std::vector<std::vector<float>> once;
  for (const Param& param : net->params()) once.push_back(plain_gradient(*net, param));
  net->forward();
  net->backward(true);
  for (size_t k = 0; k < once.size(); ++k) {
    const std::vector<float> twice = plain_gradient(*net, net->params()[k]);
    for (size_t i = 0; i < twice.size(); ++i) ASSERT_NEAR(twice[i], 2 * once[k][i], 1e-5 + 1e-4 * std::fabs(twice[i]));
  }
}

/// Three training passes of a net with random draws: losses, then all gradients.
std::vector<double> passes_on(Context& context) {
  std::string text = kBlock;
  text.insert(text.find("layer { name: \"fc\""), R"(layer { name: "few" type: "Dropout" bottom: "cat" top: "cat" } )");
  const auto net = make(text.c_str(), context, true);
  set_inputs(*net);
  std::vector<double> seen;
  for (; context.pass < 3; ++context.pass) {
    net->forward();
    net->backward();
    seen.push_back(net->loss());
  }
  for (const Param& param : net->params())
    for (const float slope : plain_gradient(*net, param)) seen.push_back(double(slope));
  return seen;
}

TEST(Net, concurrent_contexts_with_equal_options_give_equal_bits) {
  const ContextOptions options = {.threads = 2, .seed = 11};
  Context a(options), b(options), other({.threads = 2, .seed = 12});
  std::vector<double> of_a, of_b;
  {
    const std::jthread beside([&] { of_b = passes_on(b); });
    of_a = passes_on(a);
  }
  EXPECT_EQ(of_a, of_b);
  EXPECT_NE(of_a[0], of_a[1]) << "passes differ by their draws";
  EXPECT_NE(of_a, passes_on(other)) << "draws depend on the seed";
}

/// More threads than CPUs: results agree up to rounding, and threads hardly add loops.
TEST(Net, many_threads_agree_and_join_as_often) {
  std::vector<double> expected;
  uint64_t joins = 0;
  for (const int threads : {2, 8, 16}) {
    Context context({.threads = threads, .seed = 11});
    const std::vector<double> seen = passes_on(context);
    EXPECT_GT(context.joins, 0u);
    if (threads == 2) {
      expected = seen, joins = context.joins;
      continue;
    }
    EXPECT_LE(context.joins, joins + joins / 10) << threads;
    ASSERT_EQ(seen.size(), expected.size());
    for (size_t i = 0; i < seen.size(); ++i)
      EXPECT_NEAR(seen[i], expected[i], 1e-4 * (1 + std::abs(expected[i]))) << threads << " threads, value " << i;
  }
  Context alone({.threads = 1, .seed = 11});
  passes_on(alone);
  EXPECT_EQ(alone.joins, 0u);
}

TEST(Net, weights_read_back_from_a_file_bit_for_bit) {
  Context a(1), b(1, 99);
  const auto from = make(kBlock, a, true), to = make(kBlock, b, true);
  const std::string path = testing::TempDir() + "/net_test.caffemodel";
  write_weights(path, from->to_proto());
  EXPECT_GT(to->load_weights(read_weights(path), path), 0);
  EXPECT_EQ(from->to_proto().SerializeAsString(), to->to_proto().SerializeAsString());
}

std::unique_ptr<Net> net_of(const std::string& text, Context& context) {
  graph::BuildOptions options;
  options.state.set_phase(caffe::TRAIN);
  return make_net(std::make_shared<NetFile>(read_net_from_text(text, "net.prototxt")), options, context);
}

TEST(Net, its_message_has_every_layer_and_shape) {
  Context context(1);
  const auto net = net_of(
      "layer { name: 'one' type: 'Parameter' top: 'one' parameter_param { shape { } } }\n"
      "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 } } }\n"
      "layer { name: 'two' type: 'Parameter' top: 'two' parameter_param { shape { dim: 3 dim: 1 } } }",
      context);
  const caffe::NetParameter message = net->to_proto();
  ASSERT_EQ(message.layer_size(), 3);
  EXPECT_EQ(message.layer(0).name() + message.layer(1).name() + message.layer(2).name(), "oneintwo");
  EXPECT_TRUE(message.layer(0).blobs(0).has_shape());
  EXPECT_EQ(message.layer(0).blobs(0).shape().dim_size(), 0);
  EXPECT_EQ(message.layer(0).blobs(0).data_size(), 1);
  EXPECT_EQ(message.layer(1).blobs_size(), 0);
  EXPECT_EQ(message.layer(2).blobs(0).shape().DebugString(), "dim: 3\ndim: 1\n");
}

TEST(Net, weights_that_were_written_are_not_missing) {
  Context context(1);
  const auto net = net_of(
      "layer { name: 'one' type: 'Parameter' top: 'one' parameter_param { shape { dim: 2 } } }\n"
      "layer { name: 'two' type: 'Parameter' top: 'two' parameter_param { shape { dim: 2 } } }",
      context);
  const std::vector<float> values = {1, 2};
  expect_error([&] { net->require_weights(); }, ExitCode::kSnapshot, "'one'");
  net->write_weight(0, values.data());
  expect_error([&] { net->require_weights(); }, ExitCode::kSnapshot, "layer 'two'");
  net->write_weight(1, values.data());
  EXPECT_NO_THROW(net->require_weights());
}

TEST(Net, weights_that_do_not_learn_are_kept) {
  Context context(1);
  const auto net = net_of(
      "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 3 } } }\n"
      "layer { name: 'bn' type: 'BatchNorm' bottom: 'x' top: 'y' }\n"
      "layer { name: 'ip' type: 'InnerProduct' bottom: 'y' top: 'z' inner_product_param { num_output: 2 } }",
      context);
  std::vector<int64_t> floats;
  for (const KeptWeight& weight : net->kept_weights()) floats.push_back(weight.count);
  EXPECT_EQ(floats, (std::vector<int64_t>{3, 3, 1})) << "mean, variance and their factor";
}

TEST(Net, a_filler_that_does_not_fit_is_an_error_of_its_layer) {
  Context context(1);
  expect_error(
      [&] {
        net_of(
            "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 2 dim: 5 dim: 5 } } }\n"
            "layer { name: 'up' type: 'Deconvolution' bottom: 'x' top: 'y' convolution_param { num_output: 2 "
            "kernel_h: 3 kernel_w: 2 weight_filler { type: 'bilinear' } } }",
            context);
      },
      ExitCode::kNet, "layer 'up' (Deconvolution)");
}

TEST(Net, each_layer_draws_its_own_numbers) {
  Context context(1);
  const auto net = net_of(
      "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 200 } } }\n"
      "layer { name: 'one' type: 'Dropout' bottom: 'x' top: 'y' }\n"
      "layer { name: 'two' type: 'Dropout' bottom: 'x' top: 'z' }",
      context);
  net->write_blob("x", std::vector<float>(200, 1).data());
  net->forward();
  const std::vector<float> y = net->read_blob("y"), z = net->read_blob("z");
  int both = 0, kept = 0;
  for (size_t i = 0; i < y.size(); ++i) both += y[i] > 0 && z[i] > 0, kept += y[i] > 0;
  EXPECT_NEAR(kept, 100, 40);
  EXPECT_NEAR(both, 50, 30);
}

TEST(Net, its_batch_is_that_of_its_first_data) {
  Context context(1);
  const auto batch = [&](const std::string& shape) {
    return net_of("layer { name: 'in' type: 'Input' top: 'x' input_param { shape { " + shape + " } } }", context)
        ->batch_size();
  };
  EXPECT_EQ(batch("dim: 4 dim: 2"), 4);
  EXPECT_EQ(batch(""), 1);
}

TEST(Net, the_first_value_that_is_not_finite_is_found) {
  Context context(1);
  const auto net = net_of(
      "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 2 } } }\n"
      "layer { name: 'abs' type: 'AbsVal' bottom: 'x' top: 'y' }\n"
      "layer { name: 'log' type: 'Log' bottom: 'y' top: 'z' }",
      context);
  const std::vector<float> zero = {1, 2, 0, 3}, nan = {1, 2, 3, NAN};
  net->write_blob("x", zero.data());
  net->forward();
  EXPECT_EQ(net->first_not_finite().where, "layer 'log' (Log): top 'z'");
  EXPECT_EQ(net->first_not_finite().in, NotFinite::In::kResult);
  EXPECT_EQ(net->first_not_finite_given().in, NotFinite::In::kNothing) << "the input is finite";
  net->write_blob("x", nan.data());
  net->forward();
  const NotFinite found = net->first_not_finite();
  EXPECT_EQ(found.in, NotFinite::In::kData);
  EXPECT_EQ(found.where, "layer 'in' (Input): top 'x'");
  EXPECT_NE(found.record.find("sample 1 of the batch: it contains"), std::string::npos) << found.record;
}

TEST(Net, a_batch_is_divided_among_shards) {
  const auto file = std::make_shared<NetFile>(read_net_from_text(
      "layer { name: 'd' type: 'Data' top: 'x' data_param { source: 's' batch_size: 6 } }", "net.prototxt"));
  const auto batch = [&](int64_t parts) {
    return with_divided_batch(file, parts)->net.layer(0).data_param().batch_size();
  };
  EXPECT_EQ(batch(1), 6u);
  EXPECT_EQ(batch(2), 3u);
  EXPECT_EQ(batch(6), 1u);
  expect_error([&] { batch(4); }, ExitCode::kNet, "a batch of 6 cannot be divided among 4 shards");
  EXPECT_EQ(with_data_batch(file, 9)->net.layer(0).data_param().batch_size(), 9u);
}

TEST(Net, all_mismatched_weights_are_reported_at_once) {
  Context context(1);
  const auto net = make(kBlock, context, true);
  std::vector<LayerWeights> file(2);
  file[0].name = "c0";
  file[0].blobs = {{Shape{1, 1, 3, 3}, std::vector<float>(9)}, {Shape{20}, std::vector<float>(20)}};
  file[1].name = "fc";
  file[1].blobs = {{Shape{5}, std::vector<float>(5)}};
  try {
    net->load_weights(file, "w.caffemodel");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::kSnapshot);
    EXPECT_EQ(e.mistakes().size(), 2u);
  }
}

}  // namespace
}  // namespace cortado
