#pragma once

// cuDNN 9's backend: operations on tensors are joined into a graph, the library ranks engines for it, and one engine's
// plan is executed. This is the little of it that the candidates need: convolutions, and what is done to each value
// behind one.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cuda/cudnn.h"
#include "kernels/cuda_options.h"
#include "kernels/post_ops.h"

namespace cortado::kernels::cudnn {

/// One of the backend's objects. Failing calls throw Error(kDevice).
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type);

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, const void* values);
  void set(cudnnBackendAttributeName_t name, int64_t value) { set(name, CUDNN_TYPE_INT64, 1, &value); }
  void set(cudnnBackendAttributeName_t name, float value) { set(name, CUDNN_TYPE_FLOAT, 1, &value); }
  void set(cudnnBackendAttributeName_t name, bool value) { set(name, CUDNN_TYPE_BOOLEAN, 1, &value); }
  void set(cudnnBackendAttributeName_t name, cudnnDataType_t value) { set(name, CUDNN_TYPE_DATA_TYPE, 1, &value); }
  void set(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values) {
    set(name, CUDNN_TYPE_INT64, int64_t(values.size()), values.data());
  }
  void set(cudnnBackendAttributeName_t name, const std::vector<void*>& values) {
    set(name, CUDNN_TYPE_VOID_PTR, int64_t(values.size()), values.data());
  }
  void set(cudnnBackendAttributeName_t name, const Descriptor& value);
  void set(cudnnBackendAttributeName_t name, cudnnHandle_t value) { set(name, CUDNN_TYPE_HANDLE, 1, &value); }
  void finalize();

  cudnnBackendDescriptor_t get() const { return descriptor_.get(); }

 private:
  std::shared_ptr<void> descriptor_;
};

/// A tensor of a graph: the same id in two operations is the same values.
struct GraphTensor {
  int64_t id = 0;
  std::vector<int64_t> shape, strides;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  bool inner = false;  ///< between two operations: it has no memory
};

struct GraphWindow {
  std::vector<int64_t> pad, stride, dilation;
};

/// What an engine may be; see engine_fits().
struct EngineLimits {
  bool tensor_cores_on_floats = false;  ///< 32-bit operands may be rounded for them
  bool floats = true;                   ///< the operands are 32-bit floats, so that the above matters
  bool nondeterministic = false;
  bool winograd = true;
  bool fallback = true;  ///< also what the library offers behind all that it ranks
  int64_t workspace = 0;
};

/// Where plans run: the GPU of a context, or one that it only describes (CudaOptions).
class Target {
 public:
  explicit Target(Context& context);

  void tell_graph(Descriptor& graph) const;
  void tell_ranking(Descriptor& heuristic) const;
  void tell_plan(Descriptor& plan) const;

 private:
  cudnnHandle_t handle_ = nullptr;
  std::optional<Descriptor> described_;
};

/// An engine made ready for one graph.
class Plan {
 public:
  Plan(const Target& target, const Descriptor& config);

  int64_t workspace() const { return workspace_; }
  int64_t engine() const { return engine_; }
  /// `memory` are the pointers of the tensors `ids`, in the same order at each call.
  void run(Context& context, const std::vector<int64_t>& ids, const std::vector<void*>& memory, void* workspace);

 private:
  Descriptor plan_;
  int64_t workspace_ = 0, engine_ = 0;
  std::shared_ptr<Descriptor> pack_;  ///< of the pointers of the last call
  std::vector<void*> packed_;
};

class Graph {
 public:
  enum class Conv { kForward, kData, kWeights };

  /// y = x * w, dx = dy * w or dw = x * dy, summed in 32-bit floats. `x`, `w`, `y` may be their gradients.
  void convolve(Conv direction, const GraphWindow& window, const GraphTensor& x, const GraphTensor& w,
                const GraphTensor& y);
  /// y = x + b, where b may be spread over y; y = activation(x).
  void add(const GraphTensor& x, const GraphTensor& b, const GraphTensor& y);
  void activate(const GraphTensor& x, const GraphTensor& y, const Activation& activation);

  /// The plan of the engine that the library ranks `rank`-th among those within `limits`; with rank 0 the first whose
  /// plan can be made. Null, with the reason in `why`, where there is none.
  std::unique_ptr<Plan> plan(Context& context, int rank, const EngineLimits& limits, std::string& why);

 private:
  /// One operation, whose `kind` wants its settings only.
  void pointwise(Descriptor kind, cudnnPointwiseMode_t mode, const GraphTensor& x, const GraphTensor* b,
                 const GraphTensor& y);
  const Descriptor& tensor(const GraphTensor& tensor);

  std::vector<std::pair<int64_t, Descriptor>> tensors_;
  std::vector<Descriptor> operations_, parts_;
};

}  // namespace cortado::kernels::cudnn
