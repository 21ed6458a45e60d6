// Convolution by cuDNN's engines, plain or channels-last, in every float type. Weights are 32-bit floats in Caffe's
// order outside: what an engine wants otherwise is copied through scratch at each call, a small part of the work. Sums
// are made in 32 bits; products of 32-bit floats keep all their bits unless tf32 is allowed.
//
// A bias and a ReLU run inside the convolution where an engine can, else behind it. There is a candidate for each of
// the first ranks of cuDNN's own order, so that measuring can overrule it and a choice can be told by its name.

#include <algorithm>

#include "core/device_memory.h"
#include "kernels/choices.h"
#include "kernels/conv.h"
#include "kernels/cuda/cudnn_graph.h"
#include "kernels/device/filters.h"
#include "kernels/scratch.h"

namespace cortado::kernels {
namespace {

using namespace cudnn;

enum Id : int64_t { kX = 1, kW, kY, kBias, kProduct, kBiased };

GraphTensor tensor(int64_t id, const std::vector<int64_t>& shape, bool last, cudnnDataType_t type, bool inner = false) {
  std::vector<int64_t> strides(4, 1);
  for (size_t axis = 3; axis-- > 0;) strides[axis] = strides[axis + 1] * shape[axis + 1];
  if (last) strides = {shape[1] * shape[2] * shape[3], 1, shape[1] * shape[3], shape[1]};
  return {id, shape, strides, type, inner};
}

/// What all three directions share: the graph's tensors, the plan and the filters' copy.
class Cudnn : public ConvKernel {
 public:
  Cudnn(const ConvRequest& request, ConvDirection direction, Context& context)
      : request_(request),
        direction_(direction),
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
               .winograd = request.winograd && !context.handle<Choices>().excludes("winograd"),
               .workspace = options.workspace};
  }

  virtual bool prepare(Context& context, int rank, std::string& why) = 0;

  std::string name() const override { return "cudnn engine " + std::to_string(plan_->engine()); }
  WeightFormat weight_format() const override { return WeightFormat(request_.shape.weight()); }
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
  void* filled(Context& context, const float* w, void* scratch) const {
    if (!copies_) return const_cast<float*>(w);
    void* copy = scratch_part(scratch, filters_at_);
    fill_filters(context, filters_, w, copy);
    return copy;
  }

  ConvRequest request_;
  ConvDirection direction_;
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

  bool prepare(Context& context, int rank, std::string& why) override {
    const bool fuses = request_.bias && !request_.sum && request_.ceiling == INFINITY;
    if (fuses && prepare_fused(context, rank)) return true;
    Graph graph;
    graph.convolve(Graph::Conv::kForward, window_, x_, w_, y_);
    if (!adopt(context, graph, rank, filters_.differs(), why)) return false;
    if (request_.sum) product_at_ = scratch_.add(request_.shape.y().bytes());
    return true;
  }

  void run(Context& context, const ConvOperands& io, void* scratch) override {
    void* w = filled(context, io.w, scratch);
    void* product = request_.sum ? scratch_part(scratch, product_at_) : io.y;
    if (fused_)
      return run_plan(context, {kX, kW, kY, kBias}, {memory_of(io.x), w, io.y, bias(context, io.bias, scratch)},
                      scratch);
    run_plan(context, {kX, kW, kY}, {memory_of(io.x), w, product}, scratch);
    if (request_.bias || request_.relu || request_.sum)
      finish_convolution(context, request_.shape.y(), product, io.bias, request_.relu, request_.sum, io.y,
                         request_.ceiling);
  }

 private:
  /// cuDNN 9.19 has engines for a bias, with and without a ReLU behind it, and none for a ReLU alone.
  bool prepare_fused(Context& context, int rank) {
    std::string why;  // behind the convolution will do
    return attempt(why, [&] {
      const int64_t k = request_.shape.k;
      const GraphTensor product = inner(kProduct), bias{kBias, {1, k, 1, 1}, {k, 1, 1, 1}, y_.type};
      const GraphTensor biased = request_.relu ? inner(kBiased) : y_;
      Graph graph;
      graph.convolve(Graph::Conv::kForward, window_, x_, w_, product);
      graph.add(product, bias, biased);
      if (request_.relu) graph.relu(biased, y_);
      fused_ = adopt(context, graph, rank, filters_.differs(), why);
      if (fused_ && bias_.differs()) bias_at_ = scratch_.add(bias_.bytes());
      return fused_;
    });
  }
  /// In the type of y: engines that add one want no other.
  void* bias(Context& context, const float* given, void* scratch) const {
    if (!bias_.differs()) return memory_of(given);
    void* copy = scratch_part(scratch, bias_at_);
    fill_filters(context, bias_, given, copy);
    return copy;
  }
  GraphTensor inner(int64_t id) const { return {id, y_.shape, y_.strides, CUDNN_DATA_FLOAT, true}; }

  FilterCopy bias_{request_.shape.k, 1, 1, false, request_.shape.dtype};
  bool fused_ = false;  ///< bias and ReLU are in the plan, else they follow it
  int64_t product_at_ = 0, bias_at_ = 0;
};

class BackwardData final : public Cudnn {
 public:
  using Cudnn::Cudnn;

  bool prepare(Context& context, int rank, std::string& why) override {
    Graph graph;
    graph.convolve(Graph::Conv::kData, window_, x_, w_, y_);
    return adopt(context, graph, rank, filters_.differs(), why);
  }
  void run(Context& context, const ConvOperands& io, void* scratch) override {
    run_plan(context, {kX, kW, kY}, {io.dx, filled(context, io.w, scratch), memory_of(io.dy)}, scratch);
  }
};

class BackwardWeights final : public Cudnn {
 public:
  using Cudnn::Cudnn;

  bool prepare(Context& context, int rank, std::string& why) override {
    Graph graph;
    graph.convolve(Graph::Conv::kWeights, window_, x_, w_, y_);
    if (request_.bias) sums_at_ = scratch_.add(bias_gradient_scratch(request_.shape.y()));
    return adopt(context, graph, rank, filters_.differs() || request_.adds, why);
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
std::unique_ptr<ConvKernel> prepared(const ConvRequest& request, ConvDirection direction, Context& context, int rank,
                                     std::string& why) {
  auto kernel = std::make_unique<Kernel>(request, direction, context);
  if (!kernel->prepare(context, rank, why)) return nullptr;
  return kernel;
}

template <int kRank>
std::unique_ptr<ConvKernel> make(const ConvRequest& request, ConvDirection direction, Context& context,
                                 std::string& why) {
  const ConvShape& s = request.shape;
  if (!runs_here(context, why)) return nullptr;
  if (s.x_layout != s.y_layout || s.x_layout == Layout::kBlocked16) return why = "x and y lie otherwise", nullptr;
  if (request.w_format && !request.w_format->is_plain()) return why = "the weights lie otherwise", nullptr;
  if (!s.outer.empty()) return why = "more than two spatial axes", nullptr;
  if (s.x().shape.count() == 0) return why = "no elements", nullptr;
  return attempt(why, [&]() -> std::unique_ptr<ConvKernel> {
    switch (direction) {
      case ConvDirection::kForward:
        return prepared<Forward>(request, direction, context, kRank, why);
      case ConvDirection::kBackwardData:
        return prepared<BackwardData>(request, direction, context, kRank, why);
      case ConvDirection::kBackwardWeights:
        return prepared<BackwardWeights>(request, direction, context, kRank, why);
    }
    return nullptr;
  });
}

/// cuDNN's order is what is known without measuring. A device multiplies 1e14 times a second at best, or so.
template <int kRank>
double cost(const ConvRequest& request, ConvDirection) {
  return double(request.shape.macs()) / 1e14 * (1 + 0.05 * kRank);
}

template <int kRank>
ConvCandidate candidate() {
  return {kRank == 0 ? "cudnn" : "cudnn-" + std::to_string(kRank), make<kRank>, cost<kRank>};
}

}  // namespace

std::vector<ConvCandidate> cudnn_conv_candidates() {
  return {candidate<0>(), candidate<1>(), candidate<2>(), candidate<3>(), candidate<4>(), candidate<5>()};
}

}  // namespace cortado::kernels
