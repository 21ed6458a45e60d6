// Random nets, built in every way that a net can be built, compared with a computation in double precision: losses,
// blobs, and gradients, of which the derivative in a random direction is known from differences of losses.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "core/device.h"
#include "graph/deploy.h"
#include "net/observed_net.h"
#include "tests/net/random_net.h"
#include "tests/net/reference_net.h"

namespace cortado {
namespace {

using harness::Array;
using harness::Arrays;
using Values = std::vector<float>;

/// One way to build and run a training net.
struct Way {
  std::string name;
  graph::BuildOptions options = {};
  std::string device = "cpu";
  Precision precision = Precision::kFp32;
  int threads = 1;
};

Way way(const std::string& name, caffe::Phase phase = caffe::TRAIN) {
  Way made{name};
  made.options.state.set_phase(phase);
  made.options.backward = phase == caffe::TRAIN;
  made.options.verify = true;
  return made;
}

/// Every other one, `first` or not.
std::vector<std::string> half_of(const std::vector<std::string>& list, bool first) {
  std::vector<std::string> half;
  for (size_t i = first ? 0 : 1; i < list.size(); i += 2) half.push_back(list[i]);
  return half;
}

/// All ways to train; `blobs`: those of the net.
std::vector<Way> ways_to_train(const std::vector<std::string>& blobs) {
  std::vector<Way> ways = {way("as usual")};
  const auto add = [&](const std::string& name) -> graph::BuildOptions& {
    return ways.emplace_back(way(name)).options;
  };
  add("without fusion").fuse = false;
  add("recomputing").recompute = true;
  add("with transient gradients").transient_gradients = true;
  add("accumulating").accumulates = true;
  add("keeping all").keep = blobs;
  for (const bool first : {true, false})
    add(first ? "keeping a half" : "keeping the other").keep = half_of(blobs, first);
  add("in plain layout").preferred_layout = Layout::kPlain;
  graph::BuildOptions& observed = add("observed");
  observed.observed = observed.accumulates = true;
  for (const bool fuses : {true, false}) {
    graph::BuildOptions& options = add(fuses ? "on a device" : "on a device without fusion");
    options.fuse = fuses;
    options.recompute = fuses;
    ways.back().device = "simulated";
  }
  for (const bool first : {true, false}) {
    add("in 16 bits").keep = half_of(blobs, first);
    ways.back().device = "simulated";
    ways.back().precision = Precision::kBf16;
  }
  return ways;
}

/// All ways to run a net that does not learn.
std::vector<Way> ways_to_infer(const std::vector<std::string>& blobs) {
  std::vector<Way> ways = {way("of phase TEST", caffe::TEST)};
  for (const char* device : {"cpu", "simulated"})
    for (const std::vector<std::string>& kept :
         {std::vector<std::string>(), half_of(blobs, true), half_of(blobs, false)}) {
      ways.push_back(way("frozen", caffe::TEST));
      ways.back().options.frozen = true;
      ways.back().options.keep = kept;
      ways.back().device = device;
    }
  return ways;
}

/// Each element within [0.5, 1], or its negative: every element of a gradient counts.
Array direction_of(const Shape& shape, uint64_t key) {
  Array direction = harness::random(shape, key, 0.5, 1);
  const Array sign = harness::random(shape, key + 1);
  for (size_t i = 0; i < direction.size(); ++i) direction[i] *= sign[i] < 0 ? -1 : 1;
  return direction;
}

Values floats(const Array& array) { return Values(array.values.begin(), array.values.end()); }

Array of_floats(const Shape& shape, const Values& values) {
  return Array(shape, std::vector<double>(values.begin(), values.end()));
}

/// The gradients of weights when they are complete, per index into params().
struct ReadsGradients : GradientReader {
  explicit ReadsGradients(Net& net) : net(net), gradients(net.params().size()) {}
  void on_complete(size_t param) override {
    const Param& of = net.params()[param];
    gradients[param].assign(size_t(of.shape.count()), 0);
    of.format.to_plain(net.context(), of.dw, gradients[param].data());
  }
  Net& net;
  std::vector<Values> gradients;
};

/// A reference and the derivatives of its loss, each along one direction.
class Checked {
 public:
  Checked(const caffe::NetParameter& message, const std::vector<std::string>& input_names, const Arrays& inputs,
          uint64_t seed, caffe::Phase phase = caffe::TRAIN)
      : file_(std::make_shared<NetFile>(read_net_from_text(message.DebugString(), "net.prototxt"))),
        input_names_(input_names),
        inputs_(inputs),
        shapes_(1),
        shaped_(make_net(file_, way("", phase).options, shapes_)),
        reference_(message, *shaped_, phase) {
    uint64_t key = seed * 1000;
    for (ReferenceNet::Weight& weight : reference_.weights()) {
      const Shape& shape = weight.values.shape;
      const double size = shape.axes() > 1 ? 1 / std::sqrt(double(shape.count(1))) : 0.5;
      weight.values = harness::random(shape, ++key, -1.5 * size, 1.5 * size);
      if (!weight.learned && weight.users[0].second > 0)  // the variance and the divisor of a BatchNorm
        weight.values = harness::random(shape, ++key, 1, 2);
    }
    reference_.run(inputs_);
    if (phase == caffe::TEST) return;
    for (size_t w = 0; w < reference_.weights().size(); ++w) {
      const ReferenceNet::Weight& weight = reference_.weights()[w];
      of_weights_.push_back(direction_of(weight.values.shape, key += 2));
      const bool learns = weight.learns();
      slopes_of_weights_.push_back(learns ? reference_.slope_of_weight(w, of_weights_.back()) : std::nullopt);
    }
    for (size_t v = 0; v < reference_.values().size(); ++v) {
      of_values_.push_back(direction_of(reference_.array(v).shape, key += 2));
      const bool learns = reference_.values()[v].learns;
      slopes_of_values_.push_back(learns ? reference_.slope_of_value(v, of_values_.back()) : std::nullopt);
    }
  }

  std::vector<std::string> blobs() const {
    std::vector<std::string> names;
    for (const ReferenceNet::Value& value : reference_.values())
      if (std::ranges::count(names, value.blob) == 0) names.push_back(value.blob);
    return names;
  }

  /// Returns the kinds of fusions that the net contains.
  std::set<std::string> expect_agrees(const Way& way) {
    SCOPED_TRACE(way.name);
    Context context({.threads = way.threads, .device = device_named(way.device), .precision = way.precision});
    const auto net = make_net(file_, way.options, context);
    set_weights(*net);
    set_inputs(*net);
    if (!way.options.backward || way.precision != Precision::kFp32) {
      net->forward();
      expect_blobs(*net, way);
      return fusions_of(*net);
    }
    std::optional<ReadsGradients> gradients;
    const int passes = way.options.accumulates ? 2 : 1;
    for (int pass = 0; pass < passes; ++pass) {
      net->forward();
      expect_blobs(*net, way);
      gradients.emplace(*net);
      net->backward(pass > 0, &*gradients);
    }
    expect_rates(*net);
    expect_gradients(*net, *gradients, passes);
    if (way.options.observed) expect_observed(*net);
    return fusions_of(*net);
  }

  /// The deployed net, with weights by name, has no loss and computes the same predictions.
  void expect_deployed_agrees() {
    SCOPED_TRACE("deployed");
    const graph::Deployed deployed = graph::make_deploy_net(*file_, {});
    for (const caffe::LayerParameter& layer : deployed.net.layer()) {
      EXPECT_EQ(layer.loss_weight_size() + layer.propagate_down_size(), 0) << layer.name();
      for (const caffe::ParamSpec& param : layer.param())
        EXPECT_FALSE(param.has_lr_mult() || param.has_decay_mult()) << layer.name();
    }
    const auto file = std::make_shared<NetFile>(read_net_from_text(deployed.net.DebugString(), "deploy.prototxt"));
    Way kept = way("", caffe::TEST);
    kept.options.keep = deployed.outputs;
    const auto net = make_net(file, kept.options, shapes_);
    set_weights(*net);
    set_inputs(*net);
    net->forward();
    EXPECT_EQ(net->loss(), 0);
    for (const std::string& blob : deployed.outputs)
      if (std::ranges::count(blobs(), blob) > 0)
        expect_close(of_floats(net->blob_shape(blob), net->read_blob(blob)), reference_.array(reference_.last(blob)),
                     blob);
  }

  size_t checks() const { return checks_; }
  size_t large() const { return large_; }

 private:
  static std::set<std::string> fusions_of(const Net& net) {
    std::set<std::string> kinds;
    for (const graph::Node& node : net.plan().graph.nodes)
      for (const Fusion& fusion : node.fusions) kinds.insert(fusion.kind->name);
    return kinds;
  }

  double scale() const { return std::max(1.0, std::abs(reference_.loss())); }

  static graph::WeightId weight_in(const Net& net, const std::pair<std::string, int>& user) {
    const graph::Graph& graph = net.plan().graph;
    return graph.source(graph.source_named(user.first)).weights[size_t(user.second)];
  }

  /// Of the layers that the net has.
  void set_weights(Net& net) {
    for (const ReferenceNet::Weight& weight : reference_.weights())
      for (const auto& user : weight.users)
        if (net.plan().graph.source_named(user.first) >= 0)
          net.write_weight(weight_in(net, user), floats(weight.values).data());
  }

  /// Those that the net has.
  void set_inputs(Net& net) const {
    const std::vector<std::string> known = net.input_names();
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (std::ranges::count(known, input_names_[i]) > 0) net.write_blob(input_names_[i], floats(inputs_[i]).data());
  }

  void expect_blobs(Net& net, const Way& way) const {
    const bool exact = way.precision == Precision::kFp32;
    EXPECT_NEAR(net.loss(), reference_.loss(), (exact ? 1e-4 : 0.1) * scale());
    std::vector<std::string> readable = way.options.keep;
    for (const NetOutput& output : net.outputs()) readable.push_back(output.name);
    if (way.options.observed) readable = blobs();
    for (const std::string& blob : readable) {
      ASSERT_TRUE(net.has_blob(blob)) << blob;
      const Array& expected = reference_.array(reference_.last(blob));
      const Values got = net.read_blob(blob);
      ASSERT_EQ(got.size(), expected.size()) << blob;
      if (!exact) expect_close(of_floats(expected.shape, got), expected, blob);
      for (size_t i = 0; exact && i < got.size(); ++i)
        ASSERT_NEAR(got[i], expected[i], 2e-4 * std::max(1.0, std::abs(expected[i]))) << blob << " at " << i;
    }
  }

  /// As vectors.
  static void expect_close(const Array& got, const Array& expected, const std::string& blob) {
    Array apart = got;
    for (size_t i = 0; i < apart.size(); ++i) apart[i] -= expected[i];
    EXPECT_LE(std::sqrt(dot(apart, apart)), 0.1 * std::sqrt(dot(expected, expected)) + 1e-3) << blob;
  }

  void expect_rates(Net& net) {
    size_t learning = 0;
    for (const ReferenceNet::Weight& weight : reference_.weights()) {
      if (!weight.learns()) continue;
      ++learning;
      for (const auto& user : weight.users) {
        const Param& param = param_of(net, weight_in(net, user));
        EXPECT_EQ(param.lr_mult, weight.lr_mult) << weight.name();
        EXPECT_EQ(param.decay_mult, weight.decay_mult) << weight.name();
      }
    }
    EXPECT_EQ(net.params().size(), learning);
  }

  static const Param& param_of(Net& net, graph::WeightId id) {
    for (const Param& param : net.params())
      if (param.id == id) return param;
    throw_internal("a weight does not learn");
  }

  void expect_gradients(Net& net, const ReadsGradients& gradients, int passes) {
    for (size_t w = 0; w < slopes_of_weights_.size(); ++w) {
      if (!slopes_of_weights_[w]) continue;
      const ReferenceNet::Weight& weight = reference_.weights()[w];
      const Param& param = param_of(net, weight_in(net, weight.users[0]));
      const Values& sum = gradients.gradients[size_t(&param - net.params().data())];
      ASSERT_EQ(sum.size(), weight.values.size()) << "gradient of " << weight.name();
      Array dw = of_floats(weight.values.shape, sum);
      for (double& v : dw.values) v /= passes;
      expect_slope(dw, of_weights_[w], *slopes_of_weights_[w], "weight " + weight.name());
    }
  }

  /// The gradient of a blob is that of the first of its values which a gradient reaches. It is the same if the
  /// observer runs the pass.
  void expect_observed(Net& net) {
    ObservedNet observed(net);
    const std::map<std::string, Values> after_a_pass = gradients_of(observed);
    observed.clear_weight_gradients();
    observed.forward(0, observed.layers() - 1);
    observed.backward(0, observed.layers() - 1);
    const std::map<std::string, Values> observed_pass = gradients_of(observed);
    for (const auto& [blob, values] : after_a_pass)
      EXPECT_TRUE(values == observed_pass.at(blob)) << "the gradient of " << blob << " depends on who runs the pass";
    for (const auto& [blob, values] : after_a_pass) {
      size_t v = 0;
      const auto has_gradient = [&](const ReferenceNet::Value& value) { return value.learns && value.reached; };
      while (v < of_values_.size() && (reference_.values()[v].blob != blob || !has_gradient(reference_.values()[v])))
        ++v;
      if (v == of_values_.size())
        EXPECT_EQ(values, Values(values.size())) << "of blob " << blob << ", which has no gradient";
      else if (slopes_of_values_[v])
        expect_slope(of_floats(reference_.array(v).shape, values), of_values_[v], *slopes_of_values_[v],
                     "blob " + blob);
    }
  }

  std::map<std::string, Values> gradients_of(const ObservedNet& net) const {
    std::map<std::string, Values> all;
    for (const std::string& blob : blobs()) {
      all[blob].resize(size_t(net.shape(blob).count()));
      net.read(blob, BlobPart::kGradients, all[blob].data());
    }
    return all;
  }

  void expect_slope(const Array& gradient, const Array& direction, double slope, const std::string& what) {
    const double size = std::sqrt(dot(gradient, gradient)), allowed = 5e-4 * size + 3e-5 * scale();
    EXPECT_NEAR(dot(gradient, direction), slope, allowed) << what << ", gradient of norm " << size;
    ++checks_;
    large_ += std::abs(slope) > 20 * allowed;
  }

  std::shared_ptr<const NetFile> file_;
  std::vector<std::string> input_names_;
  Arrays inputs_;
  Context shapes_;
  std::unique_ptr<Net> shaped_;
  ReferenceNet reference_;
  Arrays of_weights_, of_values_;
  std::vector<std::optional<double>> slopes_of_weights_, slopes_of_values_;
  size_t checks_ = 0,
         large_ = 0;  ///< comparisons of slopes, and those that a wrong gradient cannot pass by being small
};

/// `work` for random nets of some seeds. The tests are split so that they can run at the same time.
class RandomNets : public testing::TestWithParam<int> {
 protected:
  void for_each_net(const std::function<void(const RandomNet& random, uint64_t seed)>& work) {
    constexpr uint64_t kNets = 8;
    for (uint64_t seed = uint64_t(GetParam()) * kNets; seed < uint64_t(GetParam() + 1) * kNets; ++seed) {
      const RandomNet random(seed);
      SCOPED_TRACE("seed " + std::to_string(seed));
      work(random, seed);
      if (HasFailure()) FAIL() << random.message().DebugString();
    }
  }
};

TEST_P(RandomNets, TrainAsTheReference) {
  size_t checks = 0, large = 0;
  for_each_net([&](const RandomNet& random, uint64_t seed) {
    Checked checked(random.message(), random.input_names(), random.inputs(), seed);
    for (const Way& way : ways_to_train(checked.blobs())) checked.expect_agrees(way);
    checks += checked.checks(), large += checked.large();
  });
  EXPECT_GT(double(large), 0.3 * double(checks)) << "too few gradients are so large that wrong ones would be seen";
}

TEST_P(RandomNets, InferAsTheReference) {
  for_each_net([](const RandomNet& random, uint64_t seed) {
    Checked checked(random.message(), random.input_names(), random.inputs(), seed, caffe::TEST);
    for (const Way& way : ways_to_infer(checked.blobs())) checked.expect_agrees(way);
    checked.expect_deployed_agrees();
  });
}

INSTANTIATE_TEST_SUITE_P(, RandomNets, testing::Range(0, 8));

const std::string kRows = R"(
  layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 3 dim: 6 } } }
  layer { name: "of" type: "Input" top: "label" input_param { shape { dim: 3 } } }
  layer { name: "to" type: "Input" top: "target" input_param { shape { dim: 3 dim: 6 } } } )";
const std::string kSums = R"(
  layer { name: "a" type: "InnerProduct" bottom: "x" top: "a" inner_product_param { num_output: 6 } }
  layer { name: "b" type: "InnerProduct" bottom: "x" top: "b" inner_product_param { num_output: 6 } } )";
const std::string kLoss = R"(
  layer { name: "loss" type: "EuclideanLoss" bottom: "y" bottom: "target" top: "loss" } )";

std::string eltwise(const std::string& options) {
  return kRows + kSums +
         "layer { name: 'y' type: 'Eltwise' bottom: 'a' bottom: 'b' bottom: 'a' top: 'y' eltwise_param {" + options +
         "} }" + kLoss;
}

/// The layers 'first' and 'second' share a matrix and have these options of it.
std::string sharing(const std::string& first, const std::string& second) {
  const auto product = [](const std::string& name, const std::string& bottom, const std::string& options) {
    return "layer { name: '" + name + "' type: 'InnerProduct' bottom: '" + bottom + "' top: '" + name +
           "' param { name: 'm' " + options + "} inner_product_param { num_output: 6 } }";
  };
  return kRows + product("first", "x", first) + product("y", "first", second) + kLoss;
}

/// What `layer` computes in place, and the sum of that and another layer.
std::string in_place(const std::string& layer) {
  return "force_backward: true " + kRows + kSums + "layer { name: 'f' bottom: 'a' top: 'a' " + layer +
         "} layer { name: 'y' type: 'Eltwise' bottom: 'a' bottom: 'b' top: 'y' }" + kLoss;
}

std::string heads(const std::string& of_first, const std::string& of_second, const std::string& more = "") {
  return kRows + kSums + "layer { name: 'one' type: 'EuclideanLoss' bottom: 'a' bottom: 'target' top: 'one' " +
         of_first + "} layer { name: 'two' type: 'SoftmaxWithLoss' bottom: 'b' bottom: 'label' top: 'two' " +
         of_second + "} " + more;
}

std::string stops(const std::string& layer, const std::string& options = "") {
  return options + kRows + kSums + "layer { name: 'y' bottom: 'a' bottom: 'b' top: 'y' type: " + layer + "}" + kLoss;
}

/// One feature in each net, so that a failure names it.
TEST(NetByNumbers, EveryFeatureAgreesWithTheReference) {
  const std::string square = "layer { name: 'more' type: 'Power' bottom: 'one' top: 'more' power_param { power: 2 } ";
  const std::map<std::string, std::string> nets = {
      {"a loss that is read", heads("", "", square + "}")},
      {"a loss that is read by a loss", heads("loss_weight: 0.5", "", square + "loss_weight: 2 }")},
      {"a loss that is read twice", heads("", "loss_weight: 0",
                                          square + "loss_weight: 2 } layer { name: 'sum' type: 'Eltwise' bottom: 'two' "
                                                   "bottom: 'one' bottom: 'two' top: 'sum' loss_weight: 3 }")},
      {"a weight on what is read",
       kRows + kSums + "layer { name: 'y' type: 'TanH' bottom: 'a' top: 'y' loss_weight: 0.1 }" + kLoss},
      {"a weight on what is read twice", kRows + kSums +
                                             "layer { name: 't' type: 'TanH' bottom: 'a' top: 't' loss_weight: 0.1 } "
                                             "layer { name: 'y' type: 'Eltwise' bottom: 't' bottom: 't' top: 'y' }" +
                                             kLoss},
      {"two weights", heads("loss_weight: 0.25", "loss_weight: 3")},
      {"a negative weight", heads("loss_weight: -1", "loss_weight: 3")},
      {"a sum of a, b, a", eltwise("")},
      {"a sum of a, b, a with coefficients", eltwise("coeff: 2 coeff: -1 coeff: 0.5")},
      {"a product of a, b, a", eltwise("operation: PROD")},
      {"a maximum of a, b, a", eltwise("operation: MAX")},
      {"a sum of a, a", kRows + kSums + "layer { name: 'y' type: 'Eltwise' bottom: 'a' bottom: 'a' top: 'y' }" + kLoss},
      {"a maximum of a, a", kRows + kSums +
                                "layer { name: 'y' type: 'Eltwise' bottom: 'a' bottom: 'a' top: 'y' "
                                "eltwise_param { operation: MAX } }" +
                                kLoss},
      {"joined a, b, a",
       kRows + kSums +
           "layer { name: 'j' type: 'Concat' bottom: 'a' bottom: 'b' bottom: 'a' top: 'j' } "
           "layer { name: 'y' type: 'InnerProduct' bottom: 'j' top: 'y' inner_product_param { num_output: 6 } }" +
           kLoss},
      {"a rate of the first", sharing("lr_mult: 3 decay_mult: 2", "")},
      {"a rate of the second", sharing("", "lr_mult: 3 decay_mult: 2")},
      {"no rate of the first", sharing("lr_mult: 0", "")},
      {"no rate of the second", sharing("", "lr_mult: 0")},
      {"no decay of the second", sharing("lr_mult: 2", "decay_mult: 0")},
      {"a gradient of an input that is asked for", kRows + kSums +
                                                       "layer { name: 'y' type: 'Eltwise' bottom: 'x' bottom: 'a' top: "
                                                       "'y' propagate_down: true propagate_down: true }" +
                                                       kLoss},
      {"no gradient of a", stops("'Eltwise' propagate_down: false propagate_down: true")},
      {"no gradient of b", stops("'Eltwise' propagate_down: true propagate_down: false")},
      {"no gradient of a product's a",
       stops("'Eltwise' propagate_down: false propagate_down: true eltwise_param { operation: PROD }")},
      {"no gradient of a merged layer", "force_backward: true " + kRows + kSums +
                                            "layer { name: 'n' type: 'BatchNorm' bottom: 'a' top: 'n' propagate_down: "
                                            "false } layer { name: 'y' type: 'Scale' "
                                            "bottom: 'n' top: 'y' param { lr_mult: 0 } }" +
                                            kLoss},
      {"in place: ReLU", in_place("type: 'ReLU'")},
      {"in place: ReLUs of both operands",
       in_place("type: 'ReLU' } layer { name: 'g' bottom: 'b' top: 'b' type: 'ReLU'")},
      {"in place: leaky ReLU", in_place("type: 'ReLU' relu_param { negative_slope: 0.3 }")},
      {"in place: ELU", in_place("type: 'ELU'")},
      {"in place: PReLU", in_place("type: 'PReLU'")},
      {"in place: Sigmoid", in_place("type: 'Sigmoid'")},
      {"in place: TanH", in_place("type: 'TanH'")},
      {"in place: Power", in_place("type: 'Power' power_param { scale: 0.5 power: 2 shift: 0.2 }")},
      {"in place: Scale", in_place("type: 'Scale' scale_param { bias_term: true }")},
      {"in place, without a gradient", in_place("type: 'ReLU' propagate_down: false")},
  };
  uint64_t seed = 100;
  for (const auto& [name, text] : nets) {
    SCOPED_TRACE(name);
    const caffe::NetParameter net = read_net_from_text(text, "net.prototxt").net;
    const Arrays inputs = {harness::random({3, 6}, ++seed), harness::random_labels({3}, seed, 6),
                           harness::random({3, 6}, seed + 50)};
    Checked checked(net, {"x", "label", "target"}, inputs, seed);
    for (const Way& way : ways_to_train(checked.blobs())) checked.expect_agrees(way);
    EXPECT_GT(checked.large(), 0u);
  }
}

/// The gradient of a blob with a layer in place is what the layer sends down, also where its input is 0; before that
/// layer's backward it is what the layer gets.
TEST(NetByNumbers, GradientsOfBlobsComputedInPlace) {
  const Values x = {-2, -1, -0.0f, 0, 1, 2};
  struct Case {
    const char* layer;
    std::function<double(double x, double y)> slope;
  };
  const Case cases[] = {
      {"type: 'ReLU'", [](double v, double) { return v > 0 ? 1 : 0; }},
      {"type: 'ReLU' relu_param { negative_slope: 0.25 }", [](double v, double) { return v > 0 ? 1 : 0.25; }},
      {"type: 'ELU' elu_param { alpha: 0.5 }", [](double v, double y) { return v > 0 ? 1 : y + 0.5; }},
      {"type: 'PReLU' prelu_param { filler { value: 0.25 } }", [](double v, double) { return v > 0 ? 1 : 0.25; }},
      {"type: 'Sigmoid'", [](double, double y) { return y * (1 - y); }},
      {"type: 'TanH'", [](double, double y) { return 1 - y * y; }},
      {"type: 'ReLU6'", [](double v, double) { return v > 0 ? 1 : 0; }},
      {"type: 'Power' power_param { scale: 3 }", [](double, double) { return 3; }},
  };
  for (const char* device : {"cpu", "simulated"})
    for (const Case& c : cases) {
      SCOPED_TRACE(std::string(device) + " " + c.layer);
      const std::string text =
          "force_backward: true layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 6 } } } "
          "layer { name: 'c' type: 'Power' bottom: 'x' top: 'c' } "
          "layer { name: 'f' bottom: 'c' top: 'c' " +
          std::string(c.layer) +
          "} "
          "layer { name: 'y' type: 'Power' bottom: 'c' top: 'y' power_param { scale: 5 } loss_weight: 2 }";
      Way observed = way("observed");
      observed.options.observed = observed.options.accumulates = true;
      Context context({.threads = 1, .device = device_named(device)});
      const auto net =
          make_net(std::make_shared<NetFile>(read_net_from_text(text, "net.prototxt")), observed.options, context);
      ObservedNet seen(*net);
      seen.write("x", BlobPart::kValues, x.data());
      Values y(6), dy(6), dc(6), dx(6);
      seen.forward(0, 3);
      seen.read("c", BlobPart::kValues, y.data());
      seen.backward(3, 3);
      seen.read("c", BlobPart::kGradients, dy.data());
      EXPECT_EQ(dy, Values(6, 10));
      seen.backward(2, 2);
      seen.read("c", BlobPart::kGradients, dc.data());
      seen.backward(1, 1);
      seen.read("x", BlobPart::kGradients, dx.data());
      for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(dc[i], 10 * c.slope(x[i], y[i]), 1e-5) << "at " << x[i];
      EXPECT_EQ(dx, dc);
      seen.backward(3, 3);
      seen.backward(1, 1);
      seen.read("x", BlobPart::kGradients, dx.data());
      EXPECT_EQ(dx, dy) << "the layer before gets what the last layer that ran has left";
      net->forward();
      net->backward(true);
      seen.ran();
      seen.read("c", BlobPart::kGradients, dx.data());
      EXPECT_EQ(dx, dc) << "after a whole pass";
    }
}

/// Two normalizations whose results are added, and what else may be done with the first one.
std::string normalizations(const std::string& of_first, const std::string& more) {
  const auto branch = [](const std::string& name, const std::string& options) {
    return "layer { name: '" + name + "' type: 'Convolution' bottom: 'x' top: '" + name +
           "' convolution_param { num_output: 16 kernel_size: 1 } } layer { name: 'n" + name +
           "' type: 'BatchNorm' bottom: '" + name + "' top: 'n" + name + "' } layer { name: 's" + name +
           "' type: 'Scale' bottom: 'n" + name + "' top: 's" + name + "' scale_param { bias_term: true } " + options +
           "} ";
  };
  return "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 3 dim: 16 dim: 4 dim: 5 } } } " +
         branch("a", of_first) + branch("b", "") +
         "layer { name: 'y' type: 'Eltwise' bottom: 'sa' bottom: 'sb' top: 'y' } "
         "layer { name: 'c' type: 'InnerProduct' bottom: 'y' top: 'c' inner_product_param { num_output: 4 } "
         "loss_weight: "
         "0.1 } " +
         more;
}

/// On devices in 16 bits a normalization may leave its scale and shift to the sum that reads it: not if anything else
/// sees its result.
TEST(NetByNumbers, NormalizationsThatAreReadTwiceInSixteenBits) {
  const std::string reader =
      "layer { name: 'z' type: 'InnerProduct' bottom: 'sa' top: 'z' inner_product_param { num_output: 4 } ";
  struct Case {
    std::string name, net;
    std::vector<std::string> keep;
    bool leaves;  ///< whether the map is left to the sum
  };
  const Case cases[] = {{"one reader", normalizations("", ""), {}, true},
                        {"kept", normalizations("", ""), {"sa"}, false},
                        {"with a loss weight", normalizations("loss_weight: 0.1", ""), {}, false},
                        {"of two readers", normalizations("", reader + "}"), {}, false},
                        {"of two readers that learn", normalizations("", reader + "loss_weight: 1 }"), {}, false}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const caffe::NetParameter net = read_net_from_text(c.net, "net.prototxt").net;
    Checked checked(net, {"x"}, {harness::random({3, 16, 4, 5}, 7)}, 8);
    for (const Precision precision : {Precision::kBf16, Precision::kFp16}) {
      Way in_16_bits = way("in 16 bits");
      in_16_bits.options.keep = c.keep;
      in_16_bits.device = "simulated";
      in_16_bits.precision = precision;
      EXPECT_EQ(checked.expect_agrees(in_16_bits).contains("leave_maps"), c.leaves);
    }
  }
}

}  // namespace
}  // namespace cortado
