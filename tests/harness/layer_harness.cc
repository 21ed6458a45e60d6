#include "tests/harness/layer_harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/device/device_memory.h"
#include "core/error.h"
#include "layers/roles.h"
#include "tests/harness/storage.h"

namespace cortado::harness {

namespace {

constexpr size_t kMaxProbes = 400;  ///< elements of one operand whose gradient is measured

struct Probe {
  size_t element;
  double slope;
};
using Probes = std::vector<Probe>;

/// The reference's y, and the gradients of sum(dy * y).
struct Expected {
  Arrays y, dy, w;
  std::vector<Probes> dx, dw;
};

struct Variant {
  std::string name;
  RunOptions options;
};

double objective(const Arrays& y, const Arrays& dy) {
  double sum = 0;
  for (size_t i = 0; i < y.size(); ++i)
    for (size_t k = 0; k < y[i].size(); ++k) sum += y[i][k] * dy[i][k];
  return sum;
}

/// Central differences of the objective for elements of `operand`; `evaluate` reads it.
Probes measure(Array& operand, const std::function<double()>& evaluate) {
  constexpr double kStep = 1e-5;
  Probes probes;
  const size_t stride = std::max<size_t>(1, (operand.size() + kMaxProbes - 1) / kMaxProbes);
  for (size_t i = 0; i < operand.size(); i += stride) {
    const double value = operand[i];
    operand[i] = value + kStep;
    const double above = evaluate();
    operand[i] = value - kStep;
    const double below = evaluate();
    operand[i] = value;
    probes.push_back({i, (above - below) / (2 * kStep)});
  }
  return probes;
}

Expected expect(const LayerCase& layer_case, const Arrays& w, const Layer& layer, const std::vector<WeightSpec>& specs,
                const std::vector<bool>& has_dy) {
  Expected expected{.y = layer_case.reference(layer_case.x, w), .dy = {}, .w = w, .dx = {}, .dw = {}};
  for (size_t i = 0; i < expected.y.size(); ++i) {
    const bool arrives = has_dy.empty() || has_dy[i];
    expected.dy.push_back(arrives ? random(expected.y[i].shape, 500 + i) : Array(expected.y[i].shape));
  }
  Arrays x = layer_case.x, moved_w = w;
  const auto& differentiated = layer_case.potential ? layer_case.potential : layer_case.reference;
  const auto evaluate = [&] { return objective(differentiated(x, moved_w), expected.dy); };
  for (size_t i = 0; i < x.size(); ++i)
    expected.dx.push_back(layer.differentiable(int(i)) ? measure(x[i], evaluate) : Probes());
  for (size_t i = 0; i < w.size(); ++i)
    expected.dw.push_back(specs[i].learned ? measure(moved_w[i], evaluate) : Probes());
  return expected;
}

bool near(double got, double expected, double tolerance) {
  return std::fabs(got - expected) <= tolerance * std::max(1.0, std::fabs(expected));  // false for NaN
}

void expect_slopes(const Array& got, const Probes& probes, double shift, double tolerance, const std::string& what) {
  int wrong = 0;
  for (const Probe& probe : probes) {
    if (near(got[probe.element], probe.slope + shift, tolerance)) continue;
    if (++wrong <= 3)
      ADD_FAILURE() << what << "[" << probe.element << "] is " << got[probe.element] << ", the difference quotient "
                    << probe.slope + shift;
  }
  EXPECT_EQ(wrong, 0) << what << ": of " << probes.size() << " elements";
}

LayerRun start(const LayerCase& layer_case, const RunOptions& options) {
  return LayerRun(layer_case.layer, layer_case.x, options, layer_case.w, layer_case.follower);
}

/// Runs forward and backward, and compares with `expected`.
void check_run(const LayerCase& layer_case, const Expected& expected, const RunOptions& options) {
  LayerRun run = start(layer_case, options);
  run.forward();
  ASSERT_EQ(run.y().size(), expected.y.size()) << "tops";
  for (size_t i = 0; i < expected.y.size(); ++i)
    expect_near(run.y()[i], expected.y[i], layer_case.tolerance, "y" + std::to_string(i));
  if (!options.backward) return;
  run.backward(expected.dy);
  for (size_t i = 0; i < layer_case.x.size(); ++i)
    if (run.has_dx(i)) expect_slopes(run.dx(i), expected.dx[i], 0, layer_case.tolerance, "dx" + std::to_string(i));
  const double old = options.add_dw || options.accumulate ? kOldGradient : 0;
  for (size_t i = 0; i < run.w().size(); ++i)
    if (!expected.dw[i].empty())
      expect_slopes(run.dw(i), expected.dw[i], old, layer_case.tolerance, "dw" + std::to_string(i));
}

/// Expects the same bits from two ways to run the layer.
void check_same_bits(const LayerCase& layer_case, const Expected& expected, const RunOptions& one,
                     const RunOptions& other) {
  LayerRun a = start(layer_case, one), b = start(layer_case, other);
  a.forward();
  b.forward();
  for (size_t i = 0; i < a.y().size(); ++i) EXPECT_TRUE(same_bits(a.y()[i], b.y()[i])) << "y" << i;
  if (!one.backward || !other.backward) return;
  a.backward(expected.dy);
  b.backward(expected.dy);
  for (size_t i = 0; i < layer_case.x.size(); ++i)
    if (a.has_dx(i)) {
      EXPECT_TRUE(same_bits(a.dx(i), b.dx(i))) << "dx" << i;
    }
  for (size_t i = 0; i < a.w().size(); ++i)
    if (!expected.dw[i].empty()) {
      EXPECT_TRUE(same_bits(a.dw(i), b.dw(i))) << "dw" << i;
    }
}

/// The layouts that the layer supports.
std::vector<Variant> variants(const LayerCase& layer_case, const MadeLayer& made) {
  RunOptions options;
  options.phase = layer_case.phase;
  const LayoutRule rule = made.layer->storage({}).layout;
  const bool four_axes = !layer_case.x.empty() && layer_case.x[0].shape.axes() == 4;
  std::vector<Variant> list;
  const bool suits = made.layer->storage({}).suits_blocks;
  if (rule != LayoutRule::kPreferred || !suits) list.push_back({"plain", options});
  if (rule != LayoutRule::kPlain && four_axes && suits) {
    options.layout = Layout::kBlocked16;
    list.push_back({"in blocks of 16", options});
    options.plain_x = true;
    if (made.layer->storage({}).accepts_plain_x) list.push_back({"in blocks of 16 from plain x", options});
    options.plain_x = false;
  }
  if (rule == LayoutRule::kFollow && four_axes && layer_case.channels_last) {
    options.layout = Layout::kChannelsLast;
    list.push_back({"channels last", options});
  }
  return list;
}

/// The same on a device, whose packed layout is channels last.
std::vector<Variant> device_variants(const LayerCase& layer_case, const MadeLayer& made, const Device& device) {
  RunOptions options;
  options.phase = layer_case.phase;
  options.device = device;
  std::vector<Variant> list = {{"plain, " + device.str(), options}};
  const bool four_axes = !layer_case.x.empty() && layer_case.x[0].shape.axes() == 4;
  if (made.layer->storage({}).layout == LayoutRule::kPlain || !four_axes) return list;
  options.layout = Layout::kChannelsLast;
  list.push_back({"channels last, " + device.str(), options});
  return list;
}

/// Compares in place and out of place for all gradients of x, for each one alone, and for all but one: which of them is
/// in the memory of dy depends on those requested.
void check_in_place(const LayerCase& layer_case, const Expected& expected, const RunOptions& options) {
  const size_t n = layer_case.x.size();
  std::set<std::vector<bool>> subsets = {std::vector<bool>(n, true)};
  for (size_t i = 0; n > 1 && i < n; ++i)
    for (const bool alone : {true, false}) {
      std::vector<bool> wanted(n, !alone);
      wanted[i] = alone;
      subsets.insert(wanted);
    }
  for (const std::vector<bool>& wanted : subsets) {
    SCOPED_TRACE("in place and out of place, gradients of x requested: " + ::testing::PrintToString(wanted));
    RunOptions out = options, in = options;
    out.wants_dx = in.wants_dx = wanted;
    in.in_place = true;
    check_same_bits(layer_case, expected, out, in);
  }
}

/// Compares in place and out of place if all x are one blob, of which a layer must not overwrite what it reads later.
void check_one_x(const LayerCase& layer_case, const Expected& expected, const RunOptions& options) {
  LayerCase same = layer_case;
  for (Array& x : same.x) {
    if (x.shape != same.x[0].shape) return;
    x = same.x[0];
  }
  if (same.x.size() < 2) return;
  const LayerNeeds needs = start(same, options).needs();
  const bool reads_x = options.backward && std::ranges::count(needs.backward_reads_x, true) > 0;
  if (!needs.aliasing.y_may_overwrite_x || needs.aliasing.overwritten_x != 0 || reads_x) return;  // nor does a plan
  SCOPED_TRACE("all x are one, in place and out of place");
  RunOptions in = options;
  in.in_place = in.one_x = true;
  check_same_bits(same, expected, options, in);
}

/// All checks in one layout, except those of a missing dy.
void check_variant(const LayerCase& layer_case, const Expected& expected, const RunOptions& options) {
  {
    SCOPED_TRACE("forward and backward");
    check_run(layer_case, expected, options);
  }
  if (!layer_case.w.empty() || !expected.w.empty()) {
    SCOPED_TRACE("dw is accumulated");
    RunOptions added = options;
    added.add_dw = true;
    check_run(layer_case, expected, added);
    added.add_dw = false;
    added.accumulate = true;
    check_run(layer_case, expected, added);
  }
  for (size_t i = 0; i < layer_case.x.size(); ++i) {
    SCOPED_TRACE("dx" + std::to_string(i) + " is not requested");
    RunOptions unwanted = options;
    unwanted.wants_dx.assign(layer_case.x.size(), true);
    unwanted.wants_dx[i] = false;
    if (layer_case.x.size() > 1 || !expected.w.empty()) check_run(layer_case, expected, unwanted);
  }
  check_in_place(layer_case, expected, options);
  for (const bool backward : {false, true}) {
    RunOptions forward_only = options;
    forward_only.backward = backward;
    check_one_x(layer_case, expected, forward_only);
  }
  RunOptions other = options;
  {
    SCOPED_TRACE("forward only, in place, and forward before a backward");
    other.in_place = true;
    other.backward = false;
    check_run(layer_case, expected, other);
  }
  if (start(layer_case, options).needs().last_saved_for_y) {
    SCOPED_TRACE("backward from y and from what forward saved");
    other = options;
    other.keeps_y = true;
    check_same_bits(layer_case, expected, options, other);
  }
  if (layer_case.same_bits_for_any_threads) {
    SCOPED_TRACE("eight threads and one");
    other = options;
    other.threads = 8;
    check_same_bits(layer_case, expected, options, other);
  }
}

/// Checks 16-bit values: y against the reference, gradients against 32-bit floats on the CPU, from operands that are
/// rounded to 16 bits; weights are not, since kernels may round them. Difference quotients cannot be used, because
/// rounding makes different values equal.
void check_rounded(const LayerCase& layer_case, const Arrays& w, const RunOptions& options, const RunOptions& floats) {
  const double of_type = options.dtype == DType::kF16 ? 0.003 : options.device.is_simulated() ? 0.02 : 0.03;
  const double tolerance = std::max(layer_case.tolerance, of_type);
  LayerRun run = start(layer_case, options);
  LayerCase given = layer_case;
  for (size_t i = 0; i < given.x.size(); ++i) given.x[i] = rounded(given.x[i], run.x_type(i));
  run.forward();
  const Arrays y = layer_case.reference(given.x, w);
  for (size_t i = 0; i < y.size(); ++i) expect_near(run.y()[i], y[i], tolerance, "y" + std::to_string(i));
  LayerRun other = start(given, floats);
  other.forward();
  Arrays dy;
  for (size_t i = 0; i < y.size(); ++i) dy.push_back(rounded(random(y[i].shape, 600 + i), run.y_type(i)));
  run.backward(dy);
  other.backward(dy);
  for (size_t i = 0; i < given.x.size(); ++i)
    if (run.has_dx(i)) expect_near(run.dx(i), other.dx(i), tolerance, "dx" + std::to_string(i));
  for (size_t i = 0; i < w.size(); ++i)
    if (run.has_dw(i)) expect_near(run.dw(i), other.dw(i), tolerance, "dw" + std::to_string(i));
}

void check_on_device(const LayerCase& layer_case, const MadeLayer& made, const Expected& expected, const Device& device,
                     const RunOptions& on_cpu) {
  for (const Variant& variant : device_variants(layer_case, made, device)) {
    SCOPED_TRACE(variant.name);
    check_variant(layer_case, expected, variant.options);
    if (made.layer->storage({}).type == TypeRule::kFloat) continue;
    for (const DType dtype : {DType::kBF16, DType::kF16}) {
      SCOPED_TRACE(name_of(dtype));
      RunOptions options = variant.options;
      options.dtype = dtype;
      check_rounded(layer_case, expected.w, options, on_cpu);
    }
  }
}

/// Checks that a second pass over the same x has the same bits if carried() has the content from before the first pass.
void check_carried(const LayerCase& layer_case, const RunOptions& options) {
  LayerRun run = start(layer_case, options);
  auto* memory = run.layer().roles().memory;
  const std::span<float> carried = memory ? memory->carried() : std::span<float>();
  std::vector<float> before(carried.size());
  copy_to_host(run.context(), before.data(), carried.data(), carried.size_bytes());
  run.forward();
  const Arrays first = run.y();
  copy_to_device(run.context(), carried.data(), before.data(), carried.size_bytes());
  run.forward();
  for (size_t i = 0; i < first.size(); ++i)
    EXPECT_TRUE(same_bits(run.y()[i], first[i])) << "y" << i << " depends on state that carried() does not include";
}

}  // namespace

void expect_near(const Array& got, const Array& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(got.shape, expected.shape) << what;
  int wrong = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (near(got[i], expected[i], tolerance)) continue;
    if (++wrong <= 3) ADD_FAILURE() << what << "[" << i << "] is " << got[i] << ", not " << expected[i];
  }
  EXPECT_EQ(wrong, 0) << what << ": of " << got.size() << " elements";
}

void check_layer(const LayerCase& layer_case) {
  const MadeLayer made(layer_case.layer, layer_case.follower, shapes_of(layer_case.x), layer_case.phase);
  ASSERT_TRUE(layer_case.follower.empty() || made.absorbed) << "the follower was not fused";
  const std::vector<Variant> list = variants(layer_case, made);
  ASSERT_FALSE(list.empty());
  const Arrays w = start(layer_case, list[0].options).w();
  const Expected expected = expect(layer_case, w, *made.layer, made.shapes.w, {});
  for (const Variant& variant : list) {
    SCOPED_TRACE(variant.name);
    check_variant(layer_case, expected, variant.options);
    for (size_t i = 0; expected.y.size() > 1 && i < expected.y.size(); ++i) {
      SCOPED_TRACE("dy" + std::to_string(i) + " is missing");
      RunOptions options = variant.options;
      options.has_dy.assign(expected.y.size(), true);
      options.has_dy[i] = false;
      check_run(layer_case, expect(layer_case, w, *made.layer, made.shapes.w, options.has_dy), options);
    }
  }
  check_carried(layer_case, list[0].options);
  if (made.layer->storage({}).type != TypeRule::kFloat)
    for (const Variant& variant : list) {
      SCOPED_TRACE(variant.name + ", bfloat16");
      RunOptions options = variant.options;
      options.dtype = DType::kBF16;
      check_rounded(layer_case, expected.w, options, list[0].options);
    }
  for (const Device& device : tested_devices()) check_on_device(layer_case, made, expected, device, list[0].options);
}

void expect_field_error(const std::string& layer, const std::vector<Shape>& x, const std::string& field,
                        const std::string& words) {
  try {
    MadeLayer made(layer, "", x);
    ADD_FAILURE() << "no error for " << layer;
  } catch (const FieldError& error) {
    EXPECT_EQ(error.field(), field) << error.message();
    EXPECT_NE(error.message().find(words), std::string::npos) << "the message is: " << error.message();
  }
}

}  // namespace cortado::harness
