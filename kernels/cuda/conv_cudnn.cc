// Convolution by cuDNN's engines, plain or channels-last, in every float type. In nets that train, weights are 32-bit
// floats in Caffe's order outside: what an engine wants otherwise is copied through scratch at each call, a small part
// of the work. In frozen nets they come as the engine wants them. Sums are made in 32 bits; products of 32-bit floats
// keep all their bits unless tf32 is allowed.
//
// What follows, another operand (z), a bias and a ReLU, runs inside the convolution where an engine can, else in one
// kernel behind it. There is a candidate for each of the first ranks of cuDNN's own order, so that measuring can
// overrule it and a choice can be told by its name; and one that puts nothing inside, for where fusing costs more than
// it saves.

#include <algorithm>

#include "core/device_memory.h"
#include "kernels/conv.h"
#include "kernels/cuda/cudnn_graph.h"
#include "kernels/device/filter_format.h"
#include "kernels/device/filters.h"
#include "kernels/kernel_cache.h"
#include "kernels/scratch.h"

namespace cortado::kernels {
namespace {

using namespace cudnn;

enum Id : int64_t { kX = 1, kW, kY, kZ, kBias, kProduct, kSum, kBiased };

GraphTensor tensor(int64_t id, const std::vector<int64_t>& shape, bool last, cudnnDataType_t type, bool inner = false) {
  std::vector<int64_t> strides(4, 1);
  for (size_t axis = 3; axis-- > 0;) strides[axis] = strides[axis + 1] * shape[axis + 1];
  if (last) strides = {shape[1] * shape[2] * shape[3], 1, shape[1] * shape[3], shape[1]};
  return {id, shape, strides, type, inner};
}

/// What a candidate takes: which of the library's engines for the graph, and whether that holds what follows a forward
/// convolution where it can.
struct Way {
  int rank = 0;
  bool fuses = true;
};

/// What all three directions share: the graph's tensors, the plan and the filters' copy.
class Cudnn : public ConvKernel {
 public:
  /// `format`: how the filters come.
  Cudnn(const ConvRequest& request, ConvDirection direction, const WeightFormat& format, Context& context)
      : request_(request),
        direction_(direction),
        format_(format),
        filters_{request.shape.k, request.shape.c / request.shape.groups,
                 request.shape.h.kernel * request.shape.w.kernel, request.shape.x_layout == Layout::kChannelsLast,
                 request.shape.dtype} {
    const ConvShape& s = request.shape;
    const cudnnDataType_t type = type_of(s.dtype);
    window_ = {{s.h.pad, s.w.pad}, {s.h.stride, s.w.stride}, {s.h.dilation, s.w.dilation}};
    x_ = tensor(kX, {s.n, s.c, s.h.in, s.w.in}, filters_.last, type);
    w_ = tensor(kW, {s.k, s.c / s.groups, s.h.kernel, s.w.kernel}, filters_.last, type);
    y_ = tensor(kY, {s.n, s.k, s.h.out(), s.w.out()}, filters_.last, type);
    const CudaOptions& options = context.handle<CudaOptions>();
    limits_ = {.tensor_cores_on_floats = context.precision == Precision::kTf32,
               .floats = s.dtype == DType::kF32,
               .nondeterministic = options.fast,
               .winograd = request.winograd && !context.handle<KernelCache>().excludes(ConvAlgorithm::kWinograd),
               .workspace = options.workspace};
  }

  virtual bool prepare(Context& context, const Way& way, std::string& why) = 0;

  std::string name() const override { return "cudnn engine " + std::to_string(plan_->engine()); }
  WeightFormat weight_format() const override { return format_; }
  SumPlace sum_place() const override { return SumPlace::kApart; }
  int64_t scratch() const override { return scratch_.bytes(); }

 protected:
  /// Takes the plan of `graph` and reserves scratch for it and for the filters.
  bool adopt(Context& context, Graph& graph, int rank, bool copy_filters, std::string& why) {
    plan_ = graph.plan(context, rank, limits_, why);
    if (!plan_) return false;
    copies_ = copy_filters;
    if (copies_) filters_at_ = scratch_.add(filters_.bytes());
    workspace_at_ = scratch_.add(plan_->workspace());
    return true;
  }
  void run_plan(Context& context, const std::vector<int64_t>& ids, const std::vector<void*>& memory, void* scratch) {
    try {
      plan_->run(context, ids, memory, scratch_part(scratch, workspace_at_));
    } catch (const Error& error) {
      throw Error(error.code(), error.mistakes().front().message + " (" + describe(request_, direction_) + ")");
    }
  }
  /// The filters as the engine reads them.
  void* filled(Context& context, const void* w, void* scratch) const {
    if (!copies_) return const_cast<void*>(w);
    void* copy = scratch_part(scratch, filters_at_);
    fill_filters(context, filters_, static_cast<const float*>(w), copy);
    return copy;
  }
  /// Whether they do not come as the engine reads them.
  bool must_copy() const { return format_.is_plain() && filters_.differs(); }

  ConvRequest request_;
  ConvDirection direction_;
  WeightFormat format_;
  FilterCopy filters_;
  GraphWindow window_;
  GraphTensor x_, w_, y_;
  EngineLimits limits_;
  std::unique_ptr<Plan> plan_;
  ScratchLayout scratch_;
  bool copies_ = false;  ///< the engine's filters lie in scratch
  int64_t filters_at_ = 0, workspace_at_ = 0;
};

void* memory_of(const void* operand) { return const_cast<void*>(operand); }

class Forward final : public Cudnn {
 public:
  using Cudnn::Cudnn;

  std::string name() const override { return Cudnn::name() + (fused_ ? " fused" : ""); }

  bool prepare(Context& context, const Way& way, std::string& why) override {
    limits_.fallback = false;
    if (way.fuses && request_.bias && prepare_fused(context, way.rank)) return true;
    limits_.fallback = true;
    Graph graph;
    graph.convolve(Graph::Conv::kForward, window_, x_, w_, y_);
    return adopt(context, graph, way.rank, must_copy(), why);
  }

  void run(Context& context, const ConvOperands& io, void* scratch) override {
    void* w = filled(context, io.w, scratch);
    if (fused_) return run_fused(context, io, w, scratch);
    run_plan(context, {kX, kW, kY}, {memory_of(io.x), w, io.y}, scratch);
    if (!follows()) return;
    const ConvolutionEnd end{.z = request_.post.sum ? io.z : nullptr,
                             .bias = io.bias,
                             .bias_type = format_.dtype(),
                             .activation = request_.post.activation};
    finish_convolution(context, request_.shape.y(), io.y, end, io.y);
  }

 private:
  bool follows() const { return request_.bias || !request_.post.empty(); }

  /// cuDNN 9.19 has engines for a bias, with and without z before it and a ReLU behind it, and none for z or a ReLU
  /// alone. A ceiling it ranks in depthwise convolutions only: what it falls back on elsewhere knows no tensor cores.
  bool prepare_fused(Context& context, int rank) {
    std::string why;  // behind the convolution will do
    return attempt(why, [&] {
      Graph graph;
      append_all(graph);
      fused_ = adopt(context, graph, rank, must_copy(), why);
      if (fused_ && copies_bias()) bias_at_ = scratch_.add(bias_.bytes());
      return fused_;
    });
  }

  /// y = activation(conv(x, w) + z + bias), perhaps without z and without the activation.
  void append_all(Graph& graph) const {
    const int64_t k = request_.shape.k;
    const GraphTensor z{kZ, y_.shape, y_.strides, y_.type}, bias{kBias, {1, k, 1, 1}, {k, 1, 1, 1}, y_.type};
    const GraphTensor product = inner(kProduct), sum = request_.post.sum ? inner(kSum) : product;
    const GraphTensor biased = request_.post.activation ? inner(kBiased) : y_;
    graph.convolve(Graph::Conv::kForward, window_, x_, w_, product);
    if (request_.post.sum) graph.add(product, z, sum);
    graph.add(sum, bias, biased);
    if (request_.post.activation) graph.activate(biased, y_, request_.post.activation);
  }

  void run_fused(Context& context, const ConvOperands& io, void* w, void* scratch) {
    std::vector<int64_t> ids = {kX, kW, kY, kBias};
    std::vector<void*> memory = {memory_of(io.x), w, io.y, bias(context, io.bias, scratch)};
    if (request_.post.sum) ids.push_back(kZ), memory.push_back(memory_of(io.z));
    run_plan(context, ids, memory, scratch);
  }

  bool copies_bias() const { return format_.dtype() == DType::kF32 && bias_.differs(); }
  /// In the type of y: engines that add one want no other.
  void* bias(Context& context, const void* given, void* scratch) const {
    if (!copies_bias()) return memory_of(given);
    void* copy = scratch_part(scratch, bias_at_);
    fill_filters(context, bias_, static_cast<const float*>(given), copy);
    return copy;
  }
  GraphTensor inner(int64_t id) const { return {id, y_.shape, y_.strides, CUDNN_DATA_FLOAT, true}; }

  FilterCopy bias_{request_.shape.k, 1, 1, false, request_.shape.dtype};
  bool fused_ = false;  ///< what follows is in the plan
  int64_t bias_at_ = 0;
};

class BackwardData final : public Cudnn {
 public:
  using Cudnn::Cudnn;

  bool prepare(Context& context, const Way& way, std::string& why) override {
    Graph graph;
    graph.convolve(Graph::Conv::kData, window_, x_, w_, y_);
    return adopt(context, graph, way.rank, must_copy(), why);
  }
  void run(Context& context, const ConvOperands& io, void* scratch) override {
    run_plan(context, {kX, kW, kY}, {io.dx, filled(context, io.w, scratch), memory_of(io.dy)}, scratch);
  }
};

class BackwardWeights final : public Cudnn {
 public:
  using Cudnn::Cudnn;

  bool prepare(Context& context, const Way& way, std::string& why) override {
    Graph graph;
    graph.convolve(Graph::Conv::kWeights, window_, x_, w_, y_);
    if (request_.bias) sums_at_ = scratch_.add(bias_gradient_scratch(request_.shape.y()));
    return adopt(context, graph, way.rank, filters_.differs() || request_.adds, why);
  }
  void run(Context& context, const ConvOperands& io, void* scratch) override {
    const ConvGradients& d = io.d;
    if (d.bias) bias_gradient(context, request_.shape.y(), io.dy, d.bias, d.add_bias, scratch_part(scratch, sums_at_));
    if (!d.w) return;
    const bool direct = !filters_.differs() && !d.add_w;
    void* dw = direct ? static_cast<void*>(d.w) : scratch_part(scratch, filters_at_);
    run_plan(context, {kX, kW, kY}, {memory_of(io.x), dw, memory_of(io.dy)}, scratch);
    if (!direct) read_filters(context, filters_, dw, d.w, d.add_w);
  }

 private:
  int64_t sums_at_ = 0;
};

template <typename Kernel>
std::unique_ptr<ConvKernel> prepared(const ConvRequest& request, ConvDirection direction, const WeightFormat& filters,
                                     const Way& way, Context& context, std::string& why) {
  auto kernel = std::make_unique<Kernel>(request, direction, filters, context);
  if (!kernel->prepare(context, way, why)) return nullptr;
  return kernel;
}

template <Way kWay>
std::unique_ptr<ConvKernel> make(const ConvRequest& request, ConvDirection direction, Context& context,
                                 std::string& why) {
  const ConvShape& s = request.shape;
  if (!runs_here(context, why)) return nullptr;
  if (s.x_layout != s.y_layout || s.x_layout == Layout::kBlocked16) return why = "x and y lie otherwise", nullptr;
  if (!s.outer.empty()) return why = "more than two spatial axes", nullptr;
  if (s.x().shape.count() == 0) return why = "no elements", nullptr;
  const bool can_fuse = direction == ConvDirection::kForward && request.bias;
  if (!kWay.fuses && !can_fuse) return why = "nothing follows", nullptr;
  const auto filters = device_format(request, why);
  if (!filters) return nullptr;
  return attempt(why, [&]() -> std::unique_ptr<ConvKernel> {
    switch (direction) {
      case ConvDirection::kForward:
        return prepared<Forward>(request, direction, *filters, kWay, context, why);
      case ConvDirection::kBackwardData:
        return prepared<BackwardData>(request, direction, *filters, kWay, context, why);
      case ConvDirection::kBackwardWeights:
        return prepared<BackwardWeights>(request, direction, *filters, kWay, context, why);
    }
    return nullptr;
  });
}

/// cuDNN's order is what is known without measuring. A device multiplies 1e14 times a second at best, or so.
template <Way kWay>
double cost(const ConvRequest& request, ConvDirection, CpuLevel) {
  return double(request.shape.macs()) / 1e14 * (1 + 0.05 * kWay.rank) * (kWay.fuses ? 1 : 1.3);
}

template <Way kWay>
ConvCandidate candidate(const char* name) {
  return {name, make<kWay>, cost<kWay>};
}

}  // namespace

std::vector<ConvCandidate> cudnn_conv_candidates() {
  return {candidate<Way{0}>("cudnn"),
          candidate<Way{1}>("cudnn-1"),
          candidate<Way{2}>("cudnn-2"),
          candidate<Way{3}>("cudnn-3"),
          candidate<Way{4}>("cudnn-4"),
          candidate<Way{5}>("cudnn-5"),
          candidate<Way{0, false}>("cudnn-apart")};
}

}  // namespace cortado::kernels
