#include "kernels/cuda/cudnn_graph.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace cortado::kernels::cudnn {

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t made = nullptr;
  check(cudnnBackendCreateDescriptor(type, &made), "cudnnBackendCreateDescriptor");
  descriptor_ = std::shared_ptr<void>(made, [](void* descriptor) { cudnnBackendDestroyDescriptor(descriptor); });
}

void Descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                     const void* values) {
  check(cudnnBackendSetAttribute(get(), name, type, count, values), "cudnnBackendSetAttribute");
}

void Descriptor::set(cudnnBackendAttributeName_t name, const Descriptor& value) {
  const cudnnBackendDescriptor_t raw = value.get();
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
}

void Descriptor::finalize() { check(cudnnBackendFinalize(get()), "cudnnBackendFinalize"); }

namespace {

int64_t int_of(const Descriptor& descriptor, cudnnBackendAttributeName_t name) {
  int64_t value = 0, count = 0;
  check(cudnnBackendGetAttribute(descriptor.get(), name, CUDNN_TYPE_INT64, 1, &count, &value),
        "cudnnBackendGetAttribute");
  return value;
}

Descriptor engine_of(const Descriptor& config) {
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.get();
  int64_t count = 0;
  check(cudnnBackendGetAttribute(config.get(), CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
                                 &raw),
        "cudnnBackendGetAttribute");
  return engine;
}

std::vector<cudnnBackendNumericalNote_t> notes_of(const Descriptor& engine) {
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes{};
  int64_t count = 0;
  check(cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                 int64_t(notes.size()), &count, notes.data()),
        "cudnnBackendGetAttribute");
  return {notes.begin(), notes.begin() + std::min<int64_t>(count, int64_t(notes.size()))};
}

/// Sums are made in 32 bits, whatever the operands are.
bool engine_fits(const Descriptor& config, const EngineLimits& limits) {
  const bool whole_floats = limits.floats && !limits.tensor_cores_on_floats;
  for (const cudnnBackendNumericalNote_t note : notes_of(engine_of(config))) {
    if (note == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION) return false;
    if (note == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC && !limits.nondeterministic) return false;
    if (note == CUDNN_NUMERICAL_NOTE_WINOGRAD && !limits.winograd) return false;
    if (note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS && whole_floats) return false;
    if (note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE && whole_floats) return false;
  }
  return true;
}

/// The library's ranking in one mode: engines with their settings, the best first. Empty where it has none.
std::vector<Descriptor> ranking(const Descriptor& graph, const Target& target, cudnnBackendHeurMode_t mode) {
  Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  target.tell_ranking(heuristic);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  if (cudnnBackendFinalize(heuristic.get()) != CUDNN_STATUS_SUCCESS) return {};
  int64_t count = 0;
  if (cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count,
                               nullptr) != CUDNN_STATUS_SUCCESS)
    return {};
  std::vector<Descriptor> configs;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < count; ++i) {
    configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(configs.back().get());
  }
  if (count > 0)
    check(cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count,
                                   &count, raw.data()),
          "cudnnBackendGetAttribute");
  configs.resize(size_t(count), configs.empty() ? Descriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR) : configs.front());
  return configs;
}

Descriptor made_plan(const Target& target, const Descriptor& config) {
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  target.tell_plan(plan);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
  plan.finalize();
  return plan;
}

Descriptor window_descriptor(const GraphWindow& window) {
  Descriptor conv(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  conv.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  conv.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  conv.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, int64_t(window.pad.size()));
  conv.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, window.pad);
  conv.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, window.pad);
  conv.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, window.stride);
  conv.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, window.dilation);
  conv.finalize();
  return conv;
}

/// How the backend calls a convolution's parts in one direction.
struct ConvNames {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t window, x, w, y, alpha, beta;
};

ConvNames names_of(Graph::Conv direction) {
  switch (direction) {
    case Graph::Conv::kForward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case Graph::Conv::kData:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    default:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }
}

}  // namespace

Target::Target(Context& context) {
  const std::string& properties = context.handle<CudaOptions>().described_gpu;
  if (properties.empty()) {
    handle_ = handle(context);
    return;
  }
  described_.emplace(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  described_->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, int64_t(properties.size()) + 1,
                  properties.c_str());
  described_->finalize();
}

void Target::tell_graph(Descriptor& graph) const {
  if (!described_) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle_);
}

void Target::tell_ranking(Descriptor& heuristic) const {
  if (described_) heuristic.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *described_);
}

void Target::tell_plan(Descriptor& plan) const {
  if (described_)
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *described_);
  else
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle_);
}

Plan::Plan(const Target& target, const Descriptor& config)
    : plan_(made_plan(target, config)),
      workspace_(int_of(plan_, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)),
      engine_(int_of(engine_of(config), CUDNN_ATTR_ENGINE_GLOBAL_INDEX)) {}

void Plan::run(Context& context, const std::vector<int64_t>& ids, const std::vector<void*>& memory, void* workspace) {
  std::vector<void*> pointers = memory;
  pointers.push_back(workspace);
  if (!pack_ || packed_ != pointers) {
    auto pack = std::make_shared<Descriptor>(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack->set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
    pack->set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, memory);
    pack->set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, std::vector<void*>{workspace});
    pack->finalize();
    pack_ = std::move(pack);
    packed_ = std::move(pointers);
  }
  check(cudnnBackendExecute(handle(context), plan_.get(), pack_->get()), "cudnnBackendExecute");
}

const Descriptor& Graph::tensor(const GraphTensor& t) {
  for (const auto& [id, descriptor] : tensors_)
    if (id == t.id) return descriptor;
  constexpr int64_t kAlignment = 16;  // what the fastest engines ask for; every operand has it
  Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, t.id);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, t.type);
  made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, t.shape);
  made.set(CUDNN_ATTR_TENSOR_STRIDES, t.strides);
  made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment);
  made.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, t.inner);
  made.finalize();
  tensors_.emplace_back(t.id, std::move(made));
  return tensors_.back().second;
}

void Graph::convolve(Conv direction, const GraphWindow& window, const GraphTensor& x, const GraphTensor& w,
                     const GraphTensor& y) {
  const ConvNames names = names_of(direction);
  parts_.push_back(window_descriptor(window));
  Descriptor operation(names.operation);
  operation.set(names.window, parts_.back());
  operation.set(names.x, tensor(x));
  operation.set(names.w, tensor(w));
  operation.set(names.y, tensor(y));
  operation.set(names.alpha, 1.0f);
  operation.set(names.beta, 0.0f);
  operation.finalize();
  operations_.push_back(std::move(operation));
}

void Graph::pointwise(Descriptor kind, cudnnPointwiseMode_t mode, const GraphTensor& x, const GraphTensor* b,
                      const GraphTensor& y) {
  kind.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  kind.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
  kind.finalize();
  Descriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kind);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, tensor(x));
  if (b) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, tensor(*b));
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, tensor(y));
  operation.finalize();
  parts_.push_back(std::move(kind));
  operations_.push_back(std::move(operation));
}

void Graph::add(const GraphTensor& x, const GraphTensor& b, const GraphTensor& y) {
  pointwise(Descriptor(CUDNN_BACKEND_POINTWISE_DESCRIPTOR), CUDNN_POINTWISE_ADD, x, &b, y);
}

namespace {

cudnnPointwiseMode_t mode_of(const Activation& activation) {
  switch (activation.kind) {
    case Activation::kNone:
      return CUDNN_POINTWISE_IDENTITY;
    case Activation::kRelu:
    case Activation::kClippedRelu:
      return CUDNN_POINTWISE_RELU_FWD;
    case Activation::kSigmoid:
      return CUDNN_POINTWISE_SIGMOID_FWD;
    case Activation::kSwish:
      return CUDNN_POINTWISE_SWISH_FWD;
    case Activation::kGelu:
      return CUDNN_POINTWISE_GELU_FWD;
  }
  return CUDNN_POINTWISE_IDENTITY;
}

}  // namespace

void Graph::activate(const GraphTensor& x, const GraphTensor& y, const Activation& activation) {
  Descriptor kind(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  const cudnnNanPropagation_t keep = CUDNN_PROPAGATE_NAN;  // a ReLU must not hide what went wrong
  kind.set(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, 1, &keep);
  const double most = activation.ceiling;
  if (activation.kind == Activation::kClippedRelu)
    kind.set(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_DOUBLE, 1, &most);
  pointwise(std::move(kind), mode_of(activation), x, nullptr, y);
}

std::unique_ptr<Plan> Graph::plan(Context& context, int rank, const EngineLimits& limits, std::string& why) {
  std::vector<cudnnBackendDescriptor_t> operations;
  for (const Descriptor& operation : operations_) operations.push_back(operation.get());
  const Target target(context);
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  target.tell_graph(graph);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, int64_t(operations.size()),
            operations.data());
  graph.finalize();

  why = "no engine";
  int seen = 0;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    if (mode == CUDNN_HEUR_MODE_FALLBACK && !limits.fallback) break;
    for (const Descriptor& config : ranking(graph, target, mode)) {
      if (!engine_fits(config, limits)) continue;
      if (rank > 0 && seen++ < rank) continue;
      auto plan = attempt(why, [&] { return std::make_unique<Plan>(target, config); });
      if (plan && plan->workspace() <= limits.workspace) return plan;
      if (plan) why = "wants a workspace of " + std::to_string(plan->workspace()) + " bytes";
      if (rank > 0) return nullptr;
    }
  }
  return nullptr;
}

}  // namespace cortado::kernels::cudnn
