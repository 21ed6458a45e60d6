#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

std::string layer(const std::string& options) { return "type: 'CtcLoss' ctc_loss_param { " + options + " }"; }

/// The labels of a path: without repetitions, then without blanks.
std::vector<int> labels_of(const std::vector<int>& path, int blank) {
  std::vector<int> labels;
  for (size_t t = 0; t < path.size(); ++t)
    if (path[t] != blank && (t == 0 || path[t] != path[t - 1])) labels.push_back(path[t]);
  return labels;
}

/// The probability of the labels `target` in sequence n: the sum over all paths.
double probability(const Array& x, size_t n, const std::vector<int>& target, int blank) {
  const size_t steps = size_t(x.shape[0]), sequences = size_t(x.shape[1]), classes = size_t(x.shape[2]);
  double total = 0;
  size_t paths = 1;
  for (size_t t = 0; t < steps; ++t) paths *= classes;
  for (size_t number = 0; number < paths; ++number) {
    std::vector<int> path;
    double p = 1;
    size_t left = number;
    for (size_t t = 0; t < steps; ++t, left /= classes) {
      path.push_back(int(left % classes));
      const double* scores = x.values.data() + (t * sequences + n) * classes;
      double sum = 0;
      for (size_t c = 0; c < classes; ++c) sum += std::exp(scores[c]);
      p *= std::exp(scores[path.back()]) / sum;
    }
    if (labels_of(path, blank) == target) total += p;
  }
  return total;
}

Array loss(const Array& x, const Array& labels, int blank) {
  const size_t sequences = size_t(x.shape[1]), width = labels.size() / sequences;
  double sum = 0;
  for (size_t n = 0; n < sequences; ++n) {
    std::vector<int> wanted;
    for (size_t i = n * width; i < (n + 1) * width; ++i)
      if (int(labels[i]) != blank) wanted.push_back(int(labels[i]));
    const double p = probability(x, n, wanted, blank);
    if (p > 0) sum -= std::log(p);  // labels that need more steps have no loss
  }
  return Array(Shape(), sum / double(sequences));
}

LayerCase ctc(const std::string& options, const Array& x, const Array& labels, int blank) {
  return {
      .layer = layer(options),
      .x = {x, labels},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return {loss(x[0], x[1], blank)}; },
  };
}

TEST(CtcLoss, IsTheSumOverAllPaths) {
  check_layer(ctc("", random({4, 2, 3}, 1, -2, 2), Array({2, 2}, {1, 2, 2, 1}), 0));
  check_layer(ctc("blank_label: 2", random({5, 1, 3}, 2, -2, 2), Array({1, 2}, {1, 0}), 2));
  check_layer(ctc("alphabet_size: 2 time_step: 6", random({6, 2, 2}, 3, -2, 2), Array({2, 3}, {1, 1, 1, 1, 0, 0}), 0));
  check_layer(ctc("", random({1, 2, 3, 1}, 4, -2, 2), Array({2}, {1, 2}), 0));
}

TEST(CtcLoss, IgnoresBlanksInLabels) {
  check_layer(ctc("", random({4, 3, 3}, 1, -2, 2), Array({3, 3}, {1, 0, 2, 0, 0, 0, 0, 2, 2}), 0));
}

TEST(CtcLoss, LabelsThatNeedMoreStepsHaveNoLoss) {
  const Array x = random({3, 2, 3}, 1, -2, 2), labels({2, 3}, {1, 1, 2, 1, 2, 0});  // the first needs four steps
  check_layer(ctc("", x, labels, 0));
  LayerRun run(layer(""), {x, labels});
  run.forward();
  run.backward({Array(Shape(), 1)});
  for (size_t t = 0; t < 3; ++t)
    for (size_t c = 0; c < 3; ++c) EXPECT_EQ(run.dx(0)[t * 6 + c], 0);
}

/// x[i] = scale sin(step i).
Array waves(const Shape& shape, double scale, double step) {
  Array x(shape);
  for (size_t i = 0; i < x.size(); ++i) x[i] = double(float(scale * std::sin(step * double(i))));
  return x;
}

// The numbers are from torch.nn.functional.ctc_loss in double, of log_softmax(x).
TEST(CtcLoss, AgreesWithPyTorch) {
  std::vector<Device> devices = tested_devices();
  devices.push_back({});
  for (const Device& device : devices) {
    LayerRun run(layer(""), {waves({6, 3, 5}, 2, 0.7), Array({3, 3}, {2, 2, 1, 3, 4, 0, 1, 0, 0})}, {.device = device});
    run.forward();
    EXPECT_NEAR(run.y()[0][0], 7.808477454117553, 1e-5);
    run.backward({Array(Shape(), 1)});
    const std::vector<double> third = {-0.0918464358, 0.0752321418,  0.00347553746, 0.00707168285, 0.00606707369,
                                       -0.0037887,    0.0211826604,  0.0742246408,  -0.166063536,  0.0744449351,
                                       0.0198371904,  -0.0946074015, 0.0197138621,  0.0173057541,  0.0377505948};
    const std::vector<double> last = {0.0918277453,  -0.124708235, 0.0183896944, 0.00738385207, 0.00710694302,
                                      -0.0444058759, 0.0245922627, 0.0818787362, 0.134362649,   -0.196427772,
                                      -0.099994834,  0.0110629706, 0.0204887307, 0.0201803638,  0.0482627688};
    for (size_t i = 0; i < 15; ++i) {
      EXPECT_NEAR(run.dx(0)[2 * 15 + i], third[i], 1e-6) << i;
      EXPECT_NEAR(run.dx(0)[5 * 15 + i], last[i], 1e-6) << i;
    }
  }
}

TEST(CtcLoss, AgreesWithPyTorchOnLongSequences) {
  Array labels({4, 12});
  for (size_t n = 0; n < 4; ++n)
    for (size_t i = 0; i < 12; ++i) labels[n * 12 + i] = double((7 * n + 5 * i + i * i) % 29);
  LayerRun run(layer("blank_label: 29"), {waves({40, 4, 30}, 3, 0.37), labels});
  run.forward();
  EXPECT_NEAR(run.y()[0][0], 105.14715236681931, 1e-4);
  run.backward({Array(Shape(), 1)});
  const Array dx = run.dx(0);
  const std::vector<double> some = {0.00845054669, 0.0183832832,  0.0217357712,  0.0299117952,   -0.217948443,
                                    0.0102990367,  0.00391411644, 0.00131065241, 0.000448401216, 0.000181225031};
  for (size_t i = 0; i < some.size(); ++i) EXPECT_NEAR(dx[(20 * 4 + 1) * 30 + i], some[i], 1e-6) << i;
  double sizes = 0, squares = 0;
  for (const double v : dx.values) sizes += std::fabs(v), squares += v * v;
  EXPECT_NEAR(sizes, 68.4605604036908, 1e-4);
  EXPECT_NEAR(squares, 6.1268285993279825, 1e-5);
}

TEST(CtcLoss, StaysFiniteForImprobableLabels) {
  Array x({50, 1, 3}, 0);
  for (size_t t = 0; t < 50; ++t) x[t * 3] = 200;  // e^-200 for each label
  LayerRun run(layer(""), {x, Array({1, 2}, {1, 2})});
  run.forward();
  EXPECT_NEAR(run.y()[0][0], 400 - std::log(50 * 49 / 2), 1e-3);
  run.backward({Array(Shape(), 1)});
  double sum = 0;
  for (const double v : run.dx(0).values) sum += v;
  EXPECT_NEAR(sum, 0, 1e-4);
}

TEST(CtcLoss, WithoutBackwardTheLossIsTheSame) {
  const Arrays x = {waves({20, 4, 6}, 2, 0.7), random_labels({4, 5}, 1, 6)};
  LayerRun learning(layer(""), x), testing(layer(""), x, {.phase = caffe::TEST, .backward = false});
  learning.forward();
  testing.forward();
  EXPECT_EQ(learning.y()[0].values, testing.y()[0].values);
}

TEST(CtcLoss, ReportsAnInvalidLabel) {
  for (const double label : {5.0, -1.0, 1.5, double(NAN), 1e30}) {
    const Arrays x = {random({3, 1, 5}, 1), Array({1, 2}, {1, label})};
    LayerRun run(layer(""), x);
    EXPECT_THROW(run.forward(), Error);
    for (const Device& device : tested_devices()) {
      LayerRun on_device(layer(""), x, {.device = device});
      on_device.forward();
      EXPECT_TRUE(std::isnan(on_device.y()[0][0]));
      EXPECT_THROW(on_device.validate(), Error);
      on_device.backward({Array(Shape(), 1)});
      for (const double v : on_device.dx(0).values) EXPECT_EQ(v, 0);
    }
  }
}

TEST(CtcLoss, IsZeroForNoSequences) {
  LayerRun run(layer(""), {Array({3, 0, 5}), Array({0, 2})});
  run.forward();
  EXPECT_EQ(run.y()[0][0], 0);
}

TEST(CtcLoss, PropagatesNaN) {
  Array x = random({3, 1, 5}, 1);
  x[7] = NAN;
  LayerRun run(layer(""), {x, Array({1, 2}, {1, 2})});
  run.forward();
  EXPECT_TRUE(std::isnan(run.y()[0][0]));
}

TEST(CtcLoss, ReportsErrors) {
  expect_field_error(layer(""), {{5, 2}, {2, 3}}, "bottom[0]", "its shape is 5x2, but scores must be steps");
  expect_field_error(layer(""), {{0, 2, 4}, {2, 3}}, "bottom[0]", "its shape is 0x2x4");
  expect_field_error(layer(""), {{5, 2, 4}, {3, 3}}, "bottom[1]", "its shape is 3x3, but bottom[0] has 2 sequences");
  expect_field_error(layer("alphabet_size: 5"), {{5, 2, 4}, {2, 3}}, "ctc_loss_param.alphabet_size",
                     "alphabet_size is 5, but bottom[0] is 5x2x4: it has 4 classes");
  expect_field_error(layer("time_step: 4"), {{5, 2, 4}, {2, 3}}, "ctc_loss_param.time_step", "it has 5 steps");
  expect_field_error(layer("blank_label: 4"), {{5, 2, 4}, {2, 3}}, "ctc_loss_param.blank_label",
                     "blank_label is 4, but there are 4 classes");
  expect_field_error(layer("blank_label: -1"), {{5, 2, 4}, {2, 3}}, "ctc_loss_param.blank_label", "blank_label is -1");
}

}  // namespace
}  // namespace cortado::harness
