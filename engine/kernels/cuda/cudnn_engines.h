#pragma once

// Engines: cuDNN's implementations of an operation graph, ranked by the library, and plans to run them.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/cudnn_graph.h"

namespace cortado::kernels::cudnn {

/// Constraints on engines.
struct EngineLimits {
  bool tensor_cores_on_floats = false;  ///< may round 32-bit operands for tensor cores
  bool floats = true;                   ///< whether the operands are 32-bit floats, to which the above applies
  bool nondeterministic = false;
  bool winograd = true;
  bool fallback = true;   ///< include the library's fallback engines after the ranked ones
  int64_t workspace = 0;  ///< maximum scratch bytes
};

/// An executable engine for one graph.
class Plan {
 public:
  explicit Plan(Descriptor plan);

  int64_t workspace() const { return workspace_; }
  /// `memory` has the pointers of the tensors `ids`, in the same order in each call.
  void run(Context& context, const std::vector<int64_t>& ids, const std::vector<void*>& memory, void* workspace);

 private:
  Descriptor plan_;
  int64_t workspace_ = 0;
  std::shared_ptr<Descriptor> pack_;  ///< for the pointers of the last call
  std::vector<void*> packed_;
};

/// The device on which plans run, and the graph.
struct Problem;

/// An engine with its settings, as ranked by the library for a graph.
class Engine {
 public:
  Engine(std::shared_ptr<const Problem> problem, Descriptor config);

  /// "e37k2=5,9=1": the engine's global number and its settings by number. Within a library version the name is stable,
  /// whatever else is ranked.
  const std::string& name() const { return name_; }
  /// Whether plan() compiles it, which takes seconds and needs a driver that can load the result; other engines are
  /// precompiled.
  bool compiles() const { return compiles_; }
  /// Builds the plan; null, with the reason in `why`, if the library fails.
  std::unique_ptr<Plan> plan(std::string& why) const;

 private:
  std::shared_ptr<const Problem> problem_;
  Descriptor config_;
  std::string name_;
  bool compiles_;
};

/// The library's ranking of its engines within `limits`, best first and without duplicates. One query of some
/// milliseconds. The workspace limit is not checked, because only plans know their workspace. The GPU is the context's,
/// or the one described in its CudaOptions. May be empty.
std::vector<Engine> rank_engines(Context& context, const Graph& graph, const EngineLimits& limits);

}  // namespace cortado::kernels::cudnn
