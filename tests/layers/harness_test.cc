// The harness must detect broken layers. Each fault here violates the interface of layers.

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "core/device/simulated_device.h"
#include "layers/registry.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// y = 2 x, with one fault, named by the layer.
class Faulty : public Layer {
 public:
  explicit Faulty(const LayerOptions& options) : fault_(options.config.name()) {}

  LayerShapes infer(const std::vector<Shape>& x) override { return {.y = {x[0]}, .w = {}}; }
  StorageRule storage(const kernels::PostOps&) const override { return {.layout = LayoutRule::kFollow}; }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.aliasing.y_may_overwrite_x = fault_ == "in place";
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    const DeviceAccess access(context);
    const int64_t n = io.x[0].spec.elements();
    float *x = io.x[0].f32(), *y = io.y[0].f32();
    if (fault_ == "in place") std::fill(y, y + n, 0.0f);
    for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i];
    if (fault_ == "wrong forward") y[3] += 1;
    if (fault_ == "threads") y[3] += 1e-6f * float(context.threads);
    if (fault_ == "outside") y[n] = 0;
    if (fault_ == "changes x") x[0] += 1;
    if (fault_ == "padding" && io.y[0].spec.layout == Layout::kBlocked16) y[n - 1] = 1;
  }

  void backward(Context& context, const Operands& io) override {
    const DeviceAccess access(context);
    const int64_t n = io.dx[0].spec.elements();
    float *dx = io.dx[0].f32(), *dy = io.dy[0].f32();
    for (int64_t i = 0; i < n; ++i) dx[i] = 2 * dy[i];
    if (fault_ == "wrong backward") dx[3] *= 1.01f;
    if (fault_ == "reads x") dx[3] += 0 * io.x[0].f32()[3];
    if (fault_ == "changes dy") dy[0] += 1;
  }

 private:
  std::string fault_;
};

const RegisterLayer register_harness_test({"test:Faulty", "breaks promises", "", 1, 1, 1, 1, make_layer<Faulty>});

void check(const std::string& fault) {
  check_layer({
      .layer = "type: 'test:Faulty' name: '" + fault + "'",
      .x = {random({2, 20, 2, 2}, 1)},
      .reference = [](const Arrays& x, const Arrays&) -> Arrays { return {map(x[0], [](double v) { return 2 * v; })}; },
  });
}

/// The number of expectations that fail.
int failures(const std::string& fault) {
  testing::TestPartResultArray results;
  {
    testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
    check(fault);
  }
  return results.size();
}

/// The layer above runs on the host, which cannot read a GPU's memory.
class Harness : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* gpu = std::getenv("CORTADO_TEST_GPU")) gpu_ = gpu;
    unsetenv("CORTADO_TEST_GPU");
  }
  void TearDown() override {
    if (gpu_) setenv("CORTADO_TEST_GPU", gpu_->c_str(), 1);
  }

 private:
  std::optional<std::string> gpu_;
};

TEST_F(Harness, AcceptsACorrectLayer) { check("none"); }

TEST_F(Harness, DetectsEachFault) {
  for (const char* fault : {"wrong forward", "wrong backward", "threads", "outside", "changes x", "padding", "reads x",
                            "changes dy", "in place"})
    EXPECT_GT(failures(fault), 0) << fault;
}

}  // namespace
}  // namespace cortado::harness
