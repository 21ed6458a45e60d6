#include "kernels/cuda/cudnn_engines.h"

#include <algorithm>
#include <array>
#include <optional>

#include "kernels/cuda_options.h"

namespace cortado::kernels::cudnn {

struct Problem {
  Problem(Context& context, const Graph& operations);

  void tell_ranking(Descriptor& heuristic) const {
    if (described) heuristic.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *described);
  }
  void tell_plan(Descriptor& plan) const {
    if (described)
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *described);
    else
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle);
  }

  cudnnHandle_t handle = nullptr;  ///< of the context's GPU; null for a described GPU
  std::optional<Descriptor> described;
  Graph operations;  ///< operations to which the graph refers
  Descriptor graph{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
};

Problem::Problem(Context& context, const Graph& operations) : operations(operations) {
  const std::string& properties = context.handle<CudaOptions>().described_gpu;
  if (properties.empty()) {
    handle = cudnn::handle(context);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
  } else {
    described.emplace(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    described->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, int64_t(properties.size()) + 1,
                   properties.c_str());
    described->finalize();
  }
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const Descriptor& operation : operations.operations()) raw.push_back(operation.get());
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, int64_t(raw.size()), raw.data());
  graph.finalize();
}

namespace {

/// The descriptors of `type` that `owner` lists under `name`, at most `most`; empty if there are none.
std::vector<Descriptor> listed(const Descriptor& owner, cudnnBackendAttributeName_t name,
                               cudnnBackendDescriptorType_t type, int64_t most) {
  std::vector<Descriptor> list;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < most; ++i) raw.push_back(list.emplace_back(type).get());
  int64_t count = 0;
  if (cudnnBackendGetAttribute(owner.get(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, &count, raw.data()) !=
      CUDNN_STATUS_SUCCESS)
    return {};
  list.erase(list.begin() + std::min(count, most), list.end());
  return list;
}

/// The number of entries; 0 if there are none.
int64_t count_of(const Descriptor& owner, cudnnBackendAttributeName_t name) {
  int64_t count = 0;
  const cudnnStatus_t status =
      cudnnBackendGetAttribute(owner.get(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr);
  return status == CUDNN_STATUS_SUCCESS ? count : 0;
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

bool is_compiled(const Descriptor& engine) {
  std::array<cudnnBackendBehaviorNote_t, CUDNN_BEHAVIOR_NOTE_TYPE_COUNT> notes{};
  int64_t count = 0;
  check(cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                                 int64_t(notes.size()), &count, notes.data()),
        "cudnnBackendGetAttribute");
  const auto end = notes.begin() + std::min<int64_t>(count, int64_t(notes.size()));
  return std::find(notes.begin(), end, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) != end;
}

/// Accumulation is in 32 bits for all operand types.
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

/// The library's ranking in one mode: engines with their settings, best first; may be empty.
std::vector<Descriptor> ranking(const Problem& problem, cudnnBackendHeurMode_t mode) {
  Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  problem.tell_ranking(heuristic);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, problem.graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  if (cudnnBackendFinalize(heuristic.get()) != CUDNN_STATUS_SUCCESS) return {};
  return listed(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
                count_of(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS));
}

/// "e37k2=5,9=1".
std::string name_of_config(const Descriptor& config) {
  std::vector<std::pair<int64_t, int64_t>> settings;
  for (const Descriptor& choice : listed(config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                         CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS)) {
    cudnnBackendKnobType_t knob{};
    int64_t count = 0;
    check(cudnnBackendGetAttribute(choice.get(), CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &count,
                                   &knob),
          "cudnnBackendGetAttribute");
    settings.emplace_back(int64_t(knob), choice.number(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
  }
  std::sort(settings.begin(), settings.end());
  std::string name = "e" + std::to_string(engine_of(config).number(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  for (size_t i = 0; i < settings.size(); ++i)
    name += (i == 0 ? "k" : ",") + std::to_string(settings[i].first) + "=" + std::to_string(settings[i].second);
  return name;
}

}  // namespace

Plan::Plan(Descriptor plan)
    : plan_(std::move(plan)), workspace_(plan_.number(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)) {}

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

Engine::Engine(std::shared_ptr<const Problem> problem, Descriptor config)
    : problem_(std::move(problem)),
      config_(std::move(config)),
      name_(name_of_config(config_)),
      compiles_(is_compiled(engine_of(config_))) {}

std::unique_ptr<Plan> Engine::plan(std::string& why) const {
  return attempt(why, [&] {
    Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    problem_->tell_plan(plan);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config_);
    plan.finalize();
    return std::make_unique<Plan>(std::move(plan));
  });
}

std::vector<Engine> rank_engines(Context& context, const Graph& graph, const EngineLimits& limits) {
  const auto problem = std::make_shared<const Problem>(context, graph);
  std::vector<Engine> engines;
  // Fallback engines that were already ranked with settings are skipped. With default settings engine 1 computes weight
  // gradients of 32-bit floats with reduced precision on an H100, without reporting it.
  const bool whole_floats = limits.floats && !limits.tensor_cores_on_floats;
  const auto is_new = [&](const Engine& engine) {
    if (whole_floats && engine.name() == "e1") return false;
    return std::none_of(engines.begin(), engines.end(), [&](const Engine& e) {
      return e.name() == engine.name() || e.name().starts_with(engine.name() + "k");
    });
  };
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    if (mode == CUDNN_HEUR_MODE_FALLBACK && !limits.fallback) break;
    for (const Descriptor& config : ranking(*problem, mode)) {
      if (!engine_fits(config, limits)) continue;
      if (Engine engine(problem, config); is_new(engine)) engines.push_back(std::move(engine));
    }
  }
  return engines;
}

}  // namespace cortado::kernels::cudnn
