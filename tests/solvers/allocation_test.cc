// Once training runs, an iteration allocates nothing and decides nothing: no operator new of this program, no tensor
// memory, none of oneDNN's primitives. What oneDNN allocates while it works is counted apart and printed.

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "kernels/conv.h"
#include "kernels/devices.h"
#include "tests/kernels/operand.h"
#include "tests/solvers/training.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<long> allocations{0}, of_library{0};

bool is_of_library(void* caller) {
  Dl_info info;
  return dladdr(caller, &info) != 0 && info.dli_fname && std::strstr(info.dli_fname, "libdnnl") != nullptr;
}

}  // namespace

[[gnu::noinline]] void* operator new(size_t size) {
  if (counting) ++(is_of_library(__builtin_return_address(0)) ? of_library : allocations);
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
// The library's own nothrow form would not come here under a sanitizer, but its delete would.
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
  if (counting) ++(is_of_library(__builtin_return_address(0)) ? of_library : allocations);
  return std::malloc(size ? size : 1);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace cortado {
namespace {

long allocations_in(const std::function<void()>& act) {
  allocations = of_library = 0;
  counting = true;
  act();
  counting = false;
  return allocations;
}

/// Every kind of kernel: convolutions direct and by Winograd's algorithm, of few channels and in groups, pooling,
/// normalisations, branches, sums.
constexpr const char* kAllKernels = R"(
  name: "all_kernels"
  layer { name: "data" type: "DummyData" top: "data" top: "label"
          dummy_data_param { shape { dim: 4 dim: 3 dim: 28 dim: 28 } shape { dim: 4 }
                             data_filler { type: "gaussian" } data_filler { type: "constant" value: 1 } } }
  layer { name: "c1" type: "Convolution" bottom: "data" top: "c1"
          convolution_param { num_output: 64 kernel_size: 5 pad: 2 weight_filler { type: "msra" } } }
  layer { name: "r1" type: "ReLU" bottom: "c1" top: "c1" }
  layer { name: "p1" type: "Pooling" bottom: "c1" top: "p1" pooling_param { kernel_size: 3 stride: 2 } }
  layer { name: "n1" type: "LRN" bottom: "p1" top: "n1" lrn_param { local_size: 5 alpha: 0.0001 } }
  layer { name: "c2" type: "Convolution" bottom: "n1" top: "c2"
          convolution_param { num_output: 64 kernel_size: 3 pad: 1 bias_term: false weight_filler { type: "msra" } } }
  layer { name: "b2" type: "BatchNorm" bottom: "c2" top: "b2" }
  layer { name: "s2" type: "Scale" bottom: "b2" top: "b2" scale_param { bias_term: true } }
  layer { name: "sum" type: "Eltwise" bottom: "b2" bottom: "n1" top: "sum" }
  layer { name: "r2" type: "ReLU" bottom: "sum" top: "sum" }
  layer { name: "c3" type: "Convolution" bottom: "sum" top: "c3"
          convolution_param { num_output: 20 kernel_size: 1 weight_filler { type: "msra" } } }
  layer { name: "c4" type: "Convolution" bottom: "sum" top: "c4"
          convolution_param { num_output: 64 kernel_size: 3 pad: 1 group: 64 weight_filler { type: "msra" } } }
  layer { name: "cat" type: "Concat" bottom: "c3" bottom: "c4" top: "cat" }
  layer { name: "p2" type: "Pooling" bottom: "cat" top: "p2" pooling_param { pool: AVE kernel_size: 2 stride: 2 } }
  layer { name: "d" type: "Dropout" bottom: "p2" top: "p2" }
  layer { name: "ip" type: "InnerProduct" bottom: "p2" top: "ip"
          inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
)";

TEST(Allocation, NoneInAnIterationOfAnyKernel) {
  for (const char* options : {"momentum: 0.9 weight_decay: 0.1", "momentum: 0.9 iter_size: 2 clip_gradients: 10"}) {
    Folder folder;
    Context context(2);
    Solver solver = make_solver(
        tiny_solver(folder, std::string(options) + " max_iter: 100 base_lr: 0.0001", kAllKernels), {}, context);
    solver.step(3);
    const uint64_t taken = Arena::taken_bytes();
    const int64_t primitives = kernels::onednn_primitives_made(context);
    EXPECT_GT(primitives, 0);
    EXPECT_EQ(allocations_in([&] { solver.step(10); }), 0) << options;
    EXPECT_EQ(Arena::taken_bytes(), taken) << options;
    EXPECT_EQ(kernels::onednn_primitives_made(context), primitives) << options;
    std::printf(
        "per step: %.1f allocations of ours, %.1f bytes of tensors, %.1f primitives; oneDNN allocates %.1f times\n",
        double(allocations) / 10, double(Arena::taken_bytes() - taken) / 10,
        double(kernels::onednn_primitives_made(context) - primitives) / 10, double(of_library) / 10);
  }
}

/// Whichever candidates a CPU's level and an autotuner would choose.
TEST(Allocation, NoneInAConvolutionByAnyCandidate) {
  using namespace kernels;
  using namespace kernels::testing;
  const auto shape = [](int64_t c, int64_t k, int64_t kernel, int64_t groups, Layout layout) {
    const ConvAxis axis{9, kernel, 1, kernel / 2};
    return ConvShape{
        .n = 2, .c = c, .k = k, .groups = groups, .h = axis, .w = axis, .x_layout = layout, .y_layout = layout};
  };
  int accepted = 0;
  for (const Layout layout : {Layout::kPlain, Layout::kBlocked16})
    for (const ConvShape& s : {shape(32, 48, 1, 1, layout), shape(32, 32, 3, 1, layout), shape(32, 32, 3, 32, layout),
                               shape(6, 4, 3, 2, layout), shape(3, 16, 3, 1, layout)})
      for (const ConvCandidate& candidate : conv_candidates())
        for (const auto activation : {Activation(), Activation::relu()}) {
          Context context(2);
          const ConvRequest request{.shape = s,
                                    .bias = true,
                                    .post = {.activation = activation},
                                    .backward_data = true,
                                    .backward_weights = true};
          std::string why;
          const auto conv = make_conv(candidate, request, context, why);
          if (!conv) continue;
          ++accepted;
          const auto random = [&](const TensorSpec& spec) {
            return Operand(context, spec, random_values(spec.shape.count(), 1));
          };
          const Operand x = random(s.x()), y = random(s.y()), dx = random(s.x()), dy = random(s.y());
          const Operand bias = random({{s.k}}), dbias = random({{s.k}});
          const StoredWeight w(context, conv->weight_format(), random_values(s.weight().count(), 2)),
              dw(context, conv->weight_format(), random_values(s.weight().count(), 3));
          const Fenced scratch(context, std::max(conv->forward_scratch(), conv->backward_scratch()));
          const ConvOperands io{.x = x.data(),
                                .dy = dy.data(),
                                .w = w.data(),
                                .bias = bias.data(),
                                .y = y.data(),
                                .dx = dx.data(),
                                .d = {.w = dw.data(), .bias = dbias.data()}};
          const auto pass = [&] {
            conv->forward(context, io, scratch.data());
            conv->backward_data(context, io, scratch.data());
            conv->backward_weights(context, io, scratch.data());
          };
          pass();
          EXPECT_EQ(allocations_in(pass), 0) << candidate.name << " " << describe(request, ConvDirection::kForward);
        }
  EXPECT_GT(accepted, 50);
}

TEST(Allocation, NoneInAnIteration) {
  EXPECT_GT(allocations_in([] { std::vector<int> some(100); }), 0) << "counting works";
  for (const char* options :
       {"momentum: 0.9 weight_decay: 0.1", "type: \"Adam\" iter_size: 3 clip_gradients: 1 average_loss: 5",
        "type: \"AdaDelta\" momentum: 0.9 lr_policy: \"step\" gamma: 0.5 stepsize: 7"}) {
    Folder folder;
    Context context(1);
    Solver solver = make_solver(tiny_solver(folder, std::string(options) + " max_iter: 100"), {}, context);
    solver.step(10);
    const uint64_t taken = Arena::taken_bytes();
    EXPECT_GT(taken, 0u);
    EXPECT_EQ(allocations_in([&] { solver.step(50); }), 0) << options;
    EXPECT_EQ(Arena::taken_bytes(), taken) << options;
  }
}

}  // namespace
}  // namespace cortado
