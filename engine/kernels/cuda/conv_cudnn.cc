// Convolution by cuDNN engines, plain or channels-last, in every float type. Weights are 32-bit floats in Caffe's
// order. If an engine needs another format, they are converted in scratch on each call, a small part of the work. If
// the request is frozen, weights come in the engine's format: in frozen nets, and in 16-bit training, where updates
// write them. Accumulation is in 32 bits; products of 32-bit floats are exact unless tf32 is allowed.
//
// Post-ops (another operand z, a bias, an activation) and sums for batch normalization are fused into the engine's
// graph, or run in a separate kernel; the faster one is found by measurement. Each engine in cuDNN's ranking is a
// candidate, identified by its number and settings, so that a recorded choice does not depend on the rest of the
// ranking.

#include <algorithm>

#include "core/device/device_memory.h"
#include "kernels/conv.h"
#include "kernels/cuda/cudnn_engines.h"
#include "kernels/cuda_options.h"
#include "kernels/device/filter_format.h"
#include "kernels/device/filters.h"
#include "kernels/kernel_cache.h"
#include "kernels/scratch.h"

namespace cortado::kernels {
namespace {

using namespace cudnn;

enum Id : int64_t { kX = 1, kW, kY, kZ, kBias, kProduct, kSum, kBiased, kSums, kSquares };

GraphTensor tensor(int64_t id, const std::vector<int64_t>& shape, bool last, cudnnDataType_t type, bool inner = false) {
  std::vector<int64_t> strides(4, 1);
  for (size_t axis = 3; axis-- > 0;) strides[axis] = strides[axis + 1] * shape[axis + 1];
  if (last) strides = {shape[1] * shape[2] * shape[3], 1, shape[1] * shape[3], shape[1]};
  return {id, shape, strides, type, inner};
}

/// Whether forward does more than the convolution.
bool has_more(const ConvRequest& request) { return request.bias || !request.post.empty() || request.sums; }

constexpr int64_t kAlignedFloats = 4;  ///< the sums of squares follow the sums at a multiple of this, for alignment

/// cuDNN stores the gradient of 16-bit filters in their type. It sums over all positions of all images and overflows
/// binary16 long before the gradients of data do, so it is stored times this factor.
float gradient_factor(DType dtype) { return dtype == DType::kF16 ? 1.0f / 256 : 1.0f; }

/// The tensors and the window of a convolution's graph.
struct Operation {
  explicit Operation(const ConvShape& s) {
    const bool last = s.x_layout == Layout::kChannelsLast;
    const cudnnDataType_t type = type_of(s.dtype);
    dw_factor = gradient_factor(s.dtype);
    window = {{s.h.pad, s.w.pad}, {s.h.stride, s.w.stride}, {s.h.dilation, s.w.dilation}};
    x = tensor(kX, {s.n, s.c, s.h.in, s.w.in}, last, type);
    w = tensor(kW, {s.k, s.c / s.groups, s.h.kernel, s.w.kernel}, last, type);
    y = tensor(kY, {s.n, s.k, s.h.out(), s.w.out()}, last, type);
  }

  Graph alone(ConvDirection direction) const {
    constexpr Graph::Conv kDirections[] = {Graph::Conv::kForward, Graph::Conv::kData, Graph::Conv::kWeights};
    Graph graph;
    graph.convolve(kDirections[int(direction)], window, x, w, y,
                   direction == ConvDirection::kBackwardWeights ? dw_factor : 1);
    return graph;
  }

  /// y = conv(x, w), and its channels' sums.
  Graph with_sums() const {
    const int64_t k = y.shape[1];
    const auto of_channels = [&](int64_t id) { return GraphTensor{id, {1, k, 1, 1}, {k, 1, k, k}, CUDNN_DATA_FLOAT}; };
    Graph graph = alone(ConvDirection::kForward);
    graph.sum_channels(y, of_channels(kSums), of_channels(kSquares));
    return graph;
  }

  /// y = activation(conv(x, w) + z + bias), with at least one of the three; or with_sums().
  Graph with_more(const ConvRequest& request) const {
    if (request.sums) return with_sums();
    const int64_t k = y.shape[1];
    const bool activates = bool(request.post.activation), sums = request.post.sum;
    const GraphTensor z{kZ, y.shape, y.strides, y.type}, bias{kBias, {1, k, 1, 1}, {k, 1, 1, 1}, y.type};
    const GraphTensor product = inner(kProduct);
    const GraphTensor sum = !sums ? product : request.bias || activates ? inner(kSum) : y;
    const GraphTensor biased = !request.bias ? sum : activates ? inner(kBiased) : y;
    Graph graph;
    graph.convolve(Graph::Conv::kForward, window, x, w, product);
    if (sums) graph.add(product, z, sum);
    if (request.bias) graph.add(sum, bias, biased);
    if (activates) graph.activate(biased, y, request.post.activation);
    return graph;
  }

  GraphTensor inner(int64_t id) const { return {id, y.shape, y.strides, CUDNN_DATA_FLOAT, true}; }

  GraphWindow window;
  GraphTensor x, w, y;
  float dw_factor;
};

EngineLimits limits_of(const ConvRequest& request, Context& context) {
  const CudaOptions& options = context.handle<CudaOptions>();
  return {.tensor_cores_on_floats = context.precision == Precision::kTf32,
          .floats = request.shape.dtype == DType::kF32,
          .nondeterministic = options.fast,
          .winograd = request.winograd && !context.handle<KernelCache>().excludes(ConvAlgorithm::kWinograd),
          .workspace = options.workspace};
}

/// A plan of an engine, with the candidate's name.
struct Ready {
  std::string name;
  std::shared_ptr<Plan> plan;
};

/// The base of all directions.
class Cudnn : public ConvKernel {
 public:
  /// `format`: the format of the filters passed in.
  Cudnn(const ConvRequest& request, ConvDirection direction, const WeightFormat& format, Ready engine)
      : request_(request),
        direction_(direction),
        format_(format),
        filters_{request.shape.k, request.shape.c / request.shape.groups,
                 request.shape.h.kernel * request.shape.w.kernel, request.shape.x_layout == Layout::kChannelsLast,
                 request.shape.dtype},
        engine_(std::move(engine)) {}

  std::string name() const override { return engine_.name; }
  WeightFormat weight_format() const override { return format_; }
  SumPlace sum_place() const override { return SumPlace::kApart; }
  int64_t scratch() const override { return scratch_.bytes(); }

 protected:
  /// Reserves scratch for the plan at its start, and, if `copied`, for the filters.
  void reserve(bool copied) {
    workspace_at_ = scratch_.add(engine_.plan->workspace());
    copies_ = copied;
    if (copies_) filters_at_ = scratch_.add(filters_.bytes());
  }
  void run_plan(Context& context, const std::vector<int64_t>& ids, const std::vector<void*>& memory, void* scratch) {
    try {
      engine_.plan->run(context, ids, memory, scratch_part(scratch, workspace_at_));
    } catch (const Error& error) {
      throw Error(error.code(), error.mistakes().front().message + " (" + describe(request_, direction_) + ")");
    }
  }
  /// The filters in the engine's format.
  void* filled(Context& context, const void* w, void* scratch) const {
    if (!copies_) return const_cast<void*>(w);
    void* copy = scratch_part(scratch, filters_at_);
    fill_filters(context, filters_, static_cast<const float*>(w), copy);
    return copy;
  }
  /// Whether the filters must be converted for the engine.
  bool must_copy() const { return format_.is_plain() && filters_.differs(); }

  ConvRequest request_;
  ConvDirection direction_;
  WeightFormat format_;
  FilterCopy filters_;
  Ready engine_;
  ScratchLayout scratch_;
  bool copies_ = false;  ///< the engine's filters are in scratch
  int64_t filters_at_ = 0, workspace_at_ = 0;
};

void* memory_of(const void* operand) { return const_cast<void*>(operand); }

class Forward final : public Cudnn {
 public:
  /// `fused`: the engine's graph includes the post-ops.
  Forward(const ConvRequest& request, const WeightFormat& format, Ready engine, bool fused)
      : Cudnn(request, ConvDirection::kForward, format, std::move(engine)), fused_(fused) {
    reserve(must_copy());
    if (copies_bias()) bias_at_ = scratch_.add(bias_.bytes());
    if (request.sums && !fused) sums_at_ = scratch_.add(result_sums_scratch(request.shape.y()));
  }

  void run(Context& context, const ConvOperands& io, void* scratch) override {
    void* w = filled(context, io.w, scratch);
    if (fused_) return run_fused(context, io, w, scratch);
    run_plan(context, {kX, kW, kY}, {memory_of(io.x), w, io.y}, scratch);
    if (request_.sums) return sum_results(context, request_.shape.y(), io.y, io.sums, scratch_part(scratch, sums_at_));
    if (!has_more(request_)) return;
    const ConvolutionEnd end{.z = request_.post.sum ? io.z : nullptr,
                             .bias = io.bias,
                             .bias_type = format_.dtype(),
                             .activation = request_.post.activation};
    finish_convolution(context, request_.shape.y(), io.y, end, io.y);
  }

 private:
  void run_fused(Context& context, const ConvOperands& io, void* w, void* scratch) {
    std::vector<int64_t> ids = {kX, kW, kY};
    std::vector<void*> memory = {memory_of(io.x), w, io.y};
    if (request_.bias) ids.push_back(kBias), memory.push_back(bias(context, io.bias, scratch));
    if (request_.post.sum) ids.push_back(kZ), memory.push_back(memory_of(io.z));
    if (request_.sums) {
      ids.insert(ids.end(), {kSums, kSquares});
      memory.insert(memory.end(), {io.sums, io.sums + request_.shape.k});
    }
    run_plan(context, ids, memory, scratch);
  }

  bool copies_bias() const { return fused_ && request_.bias && format_.dtype() == DType::kF32 && bias_.differs(); }
  /// The bias in the type of y, the only one that engines support.
  void* bias(Context& context, const void* given, void* scratch) const {
    if (!copies_bias()) return memory_of(given);
    void* copy = scratch_part(scratch, bias_at_);
    fill_filters(context, bias_, static_cast<const float*>(given), copy);
    return copy;
  }

  FilterCopy bias_{request_.shape.k, 1, 1, false, request_.shape.dtype};
  bool fused_;
  int64_t bias_at_ = 0, sums_at_ = 0;
};

class BackwardData final : public Cudnn {
 public:
  BackwardData(const ConvRequest& request, const WeightFormat& format, Ready engine)
      : Cudnn(request, ConvDirection::kBackwardData, format, std::move(engine)) {
    reserve(must_copy());
  }
  void run(Context& context, const ConvOperands& io, void* scratch) override {
    run_plan(context, {kX, kW, kY}, {io.dx, filled(context, io.w, scratch), memory_of(io.dy)}, scratch);
  }
};

class BackwardWeights final : public Cudnn {
 public:
  BackwardWeights(const ConvRequest& request, const WeightFormat& format, Ready engine)
      : Cudnn(request, ConvDirection::kBackwardWeights, format, std::move(engine)) {
    reserve(filters_.differs() || request_.adds);
    if (request_.bias) sums_at_ = scratch_.add(bias_gradient_scratch(request_.shape.y()));
  }
  void run(Context& context, const ConvOperands& io, void* scratch) override {
    const WeightGradients& d = io.d;
    if (d.bias) bias_gradient(context, request_.shape.y(), io.dy, d.bias, d.add_bias, scratch_part(scratch, sums_at_));
    if (!d.w) return;
    const bool direct = !filters_.differs() && !d.add_w;
    void* dw = direct ? static_cast<void*>(d.w) : scratch_part(scratch, filters_at_);
    run_plan(context, {kX, kW, kY}, {memory_of(io.x), dw, memory_of(io.dy)}, scratch);
    if (!direct) read_filters(context, filters_, dw, d.w, d.add_w, 1 / gradient_factor(request_.shape.dtype));
  }

 private:
  int64_t sums_at_ = 0;
};

/// The common arguments of the engines of a ranking.
struct Choice {
  ConvRequest request;
  ConvDirection direction;
  bool fused;
  int64_t workspace;  ///< maximum bytes
};

std::unique_ptr<ConvKernel> make_kernel(const Choice& choice, const WeightFormat& format, Ready engine) {
  switch (choice.direction) {
    case ConvDirection::kForward:
      return std::make_unique<Forward>(choice.request, format, std::move(engine), choice.fused);
    case ConvDirection::kBackwardData:
      return std::make_unique<BackwardData>(choice.request, format, std::move(engine));
    case ConvDirection::kBackwardWeights:
      return std::make_unique<BackwardWeights>(choice.request, format, std::move(engine));
  }
  return nullptr;
}

std::unique_ptr<ConvKernel> make_with(const Choice& choice, const std::string& name, const Engine& engine,
                                      std::string& why) {
  const auto format = device_format(choice.request, why);
  if (!format) return nullptr;
  std::shared_ptr<Plan> plan = engine.plan(why);
  if (!plan) return nullptr;
  if (plan->workspace() > choice.workspace)
    return why = "needs a workspace of " + std::to_string(plan->workspace()) + " bytes", nullptr;
  return make_kernel(choice, *format, {name, std::move(plan)});
}

/// Without measurements cuDNN's ranking determines the cost. Assumes about 1e14 multiplications per second; post-ops in
/// a separate kernel move y twice more.
double cost_of(const ConvRequest& request, int rank, bool apart) {
  return double(request.shape.macs()) / 1e14 * (1 + 0.12 * rank) * (apart ? 1.3 : 1);
}

void add_engines(std::vector<ConvCandidate>& list, const Choice& choice, Context& context) {
  const Operation operation(choice.request.shape);
  EngineLimits limits = limits_of(choice.request, context);
  limits.fallback = !choice.fused;  // not for fused graphs: fallback engines do not use tensor cores, so a separate
                                    // convolution is faster
  const bool apart = choice.direction == ConvDirection::kForward && has_more(choice.request) && !choice.fused;
  const bool runs = context.handle<CudaOptions>().described_gpu.empty();
  int rank = 0;
  for (const Engine& engine : rank_engines(
           context, choice.fused ? operation.with_more(choice.request) : operation.alone(choice.direction), limits)) {
    const std::string name = std::string("cudnn-") + (choice.fused ? "fused-" : "") + engine.name();
    const double cost = cost_of(choice.request, rank++, apart);
    list.push_back({.name = name,
                    .make = [choice, name, engine](const ConvRequest&, ConvDirection, Context&,
                                                   std::string& why) { return make_with(choice, name, engine, why); },
                    .cost = [cost](const ConvRequest&, ConvDirection, CpuLevel) { return cost; },
                    .on_trial = runs,
                    .compiles = engine.compiles()});
  }
}

/// The engines for a direction, fused ones first; empty, with the reason in `why`, if cuDNN does not support it.
std::vector<ConvCandidate> engines(const ConvRequest& request, ConvDirection direction, Context& context,
                                   std::string& why) {
  const ConvShape& s = request.shape;
  if (!runs_here(context, why)) return {};
  if (s.x_layout != s.y_layout || s.x_layout == Layout::kBlocked16)
    return why = "unsupported layout of x or y", std::vector<ConvCandidate>{};
  if (!s.outer.empty()) return why = "more than two spatial axes", std::vector<ConvCandidate>{};
  if (s.x().shape.count() == 0) return why = "no elements", std::vector<ConvCandidate>{};
  if (!device_format(request, why)) return {};
  why = "no engine";
  std::vector<ConvCandidate> list;
  const int64_t workspace = context.handle<CudaOptions>().workspace;
  for (const bool fused : {true, false}) {
    if (fused && (direction != ConvDirection::kForward || !has_more(request))) continue;
    if (fused && request.sums && s.k % kAlignedFloats != 0) continue;
    attempt(why, [&] { return add_engines(list, {request, direction, fused, workspace}, context), true; });
  }
  return list;
}

/// Returns the kernel of the first engine that can be built.
std::unique_ptr<ConvKernel> make(const ConvRequest& request, ConvDirection direction, Context& context,
                                 std::string& why) {
  for (const ConvCandidate& engine : engines(request, direction, context, why))
    if (auto kernel = engine.make(request, direction, context, why)) return kernel;
  return nullptr;
}

double cost(const ConvRequest& request, ConvDirection, CpuLevel) { return cost_of(request, 0, false); }

}  // namespace

std::vector<ConvCandidate> cudnn_conv_candidates() {
  return {{.name = "cudnn", .make = make, .cost = cost, .on_trial = true, .engines = engines}};
}

}  // namespace cortado::kernels
