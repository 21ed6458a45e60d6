#pragma once

// Engines: what cuDNN's backend offers to run a graph of operations, ranked by the library, and one of them made ready.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/cudnn_graph.h"

namespace cortado::kernels::cudnn {

/// What an engine may be.
struct EngineLimits {
  bool tensor_cores_on_floats = false;  ///< 32-bit operands may be rounded for them
  bool floats = true;                   ///< the operands are 32-bit floats, so that the above matters
  bool nondeterministic = false;
  bool winograd = true;
  bool fallback = true;   ///< also what the library offers behind all that it ranks
  int64_t workspace = 0;  ///< most bytes of scratch
};

/// An engine made ready for one graph.
class Plan {
 public:
  explicit Plan(Descriptor plan);

  int64_t workspace() const { return workspace_; }
  /// `memory` are the pointers of the tensors `ids`, in the same order at each call.
  void run(Context& context, const std::vector<int64_t>& ids, const std::vector<void*>& memory, void* workspace);

 private:
  Descriptor plan_;
  int64_t workspace_ = 0;
  std::shared_ptr<Descriptor> pack_;  ///< of the pointers of the last call
  std::vector<void*> packed_;
};

/// Where plans run, and the graph that they are for.
struct Problem;

/// An engine and its settings, as the library ranked it for a graph.
class Engine {
 public:
  Engine(std::shared_ptr<const Problem> problem, Descriptor config);

  /// "e37k2=5,9=1": the engine's number among all of the library's, and its settings by their numbers. One library
  /// version means the same by it, whatever else it ranks.
  const std::string& name() const { return name_; }
  /// Whether plan() compiles it, which takes seconds, and a driver to be loaded by; others are in the library.
  bool compiles() const { return compiles_; }
  /// Made ready; null, with the reason in `why`, where the library cannot.
  std::unique_ptr<Plan> plan(std::string& why) const;

 private:
  std::shared_ptr<const Problem> problem_;
  Descriptor config_;
  std::string name_;
  bool compiles_;
};

/// The library's ranking of all its engines within `limits`, the best first, each once; one query, of some
/// milliseconds. The limit of a workspace is not looked at: plans alone know it. The GPU is the context's, or the one
/// that it describes (CudaOptions). Empty where there are none.
std::vector<Engine> rank_engines(Context& context, const Graph& graph, const EngineLimits& limits);

}  // namespace cortado::kernels::cudnn
