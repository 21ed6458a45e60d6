#include "solvers/rank_start.h"

#include <cmath>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/files/crc.h"
#include "core/log.h"
#include "core/threads/threads.h"
#include "solvers/check.h"
#include "solvers/rank_message.h"
#include "solvers/run_conditions.h"

namespace cortado {

namespace {

std::byte* bytes_of(void* data) { return static_cast<std::byte*>(data); }

uint64_t digest_of(Context& context, std::span<const std::byte> memory) {
  const HostView view(context, reinterpret_cast<const float*>(memory.data()), int64_t(memory.size() / sizeof(float)));
  return crc_of({reinterpret_cast<const char*>(view.data()), memory.size()});
}

void share_history(ranks::Engine& engine, TrainState& state) {
  if (state.local) return state.local->scatter_histories();
  WeightUpdate& update = state.update;
  if (update.is_sliced()) {
    if (engine.rank() == kFirstRank && update.history_memory().empty()) update.make_whole();
    update.scatter(engine, slices_of_ranks(state.net, engine.ranks()), kFirstRank);
    update.drop_whole();
    return;
  }
  broadcast_floats(engine, state.net.context(), update.history_memory());
}

}  // namespace

void check_shards(int ranks, int64_t shards) {
  if (ranks > shards)
    throw Error(ExitCode::kUsage,
                std::to_string(ranks) + " ranks for " + std::to_string(shards) + (shards == 1 ? " shard" : " shards"),
                "a rank computes whole shards: fewer ranks, or shards: " + std::to_string(ranks) + " in the solver");
}

void check_shards_of_local_steps(const caffe::SolverParameter& solver, int64_t shards, const Context& context) {
  if (solver.local_steps() <= 1) return;
  const std::string text = "local_steps: " + std::to_string(solver.local_steps());
  if (shards <= 1)
    throw FieldError("local_steps", text + " of one shard, whose changes meet no others'",
                     "shards: 4, or --ranks=4; or no local_steps");
  if (!context.shares_host_memory())
    throw FieldError("local_steps", text + ": iterations of local steps run on the CPU alone",
                     "shards without local_steps exchange gradients");
}

void settle_shards(SolverFile& file, const caffe::TrainingState* snapshot, const ranks::Engine* engine,
                   const Context& context) {
  caffe::SolverParameter& solver = file.solver;
  const int ranks = engine ? engine->ranks() : 1;
  const int before = snapshot ? std::max(1, snapshot->shards()) : 0;
  const int shards = solver.shards() > 0 ? solver.shards() : before > 0 ? before : ranks;
  if (before > 0 && shards != before)
    log_warning() << "shards: " << shards << ", but the snapshot's training had " << before
                  << ": its iterations had other batches";
  check_shards(ranks, shards);
  at_its_field(file, [&] { check_shards_of_local_steps(solver, shards, context); });
  if (shards > 1) solver.set_shards(shards);
}

void scale_rate(caffe::SolverParameter& solver, const std::string& how) {
  if (how == "none" || solver.shards() <= 1) return;
  const double factor = how == "sqrt" ? std::sqrt(double(solver.shards())) : double(solver.shards());
  const float before = solver.base_lr();
  solver.set_base_lr(float(before * factor));
  log_info() << "base_lr: " << before << " becomes " << solver.base_lr() << " (--scale-lr=" << how << ")";
}

void tell_conditions(ranks::Engine& engine, Net& net, int64_t shards) {
  caffe::TrainingState conditions;
  conditions.set_seed(net.context().seed);
  conditions.set_shards(int(shards));
  save_conditions(net, conditions);
  broadcast_message(engine, conditions);
}

void await_conditions(ranks::Engine& engine, SolverFile& file, Context& context) {
  caffe::TrainingState conditions;
  broadcast_message(engine, conditions);
  file.solver.set_shards(conditions.shards());
  context.seed = conditions.seed();
  context.threads = conditions.threads();
  use_threads(context.threads);
  if (const std::string other = difference_of_libraries(conditions, context); !other.empty())
    throw Error(ExitCode::kDevice, "rank " + std::to_string(engine.rank()) + " would compute otherwise: " + other,
                "all ranks need the same program and CPU level: --cpu-level=v3 holds them to AVX2");
  take_kernels(conditions, context);
}

void share_state(ranks::Engine& engine, TrainState& state) {
  caffe::SolverState head;
  if (engine.rank() == kFirstRank) state.save(head);
  broadcast_message(engine, head);
  broadcast_floats(engine, state.net.context(), state.net.weight_memory());
  share_history(engine, state);
  if (engine.rank() == kFirstRank) return;
  state.net.weights_changed();
  state.load_head(head);
  if (state.average) state.average->load(head.training(), "the first rank's state");
  state.progress.start_iter = state.progress.iter;
}

void compare_weights(ranks::Engine& engine, Net& net, int64_t iter) {
  std::vector<uint64_t> digests(size_t(engine.ranks()));
  std::vector<size_t> at;
  for (size_t rank = 0; rank <= digests.size(); ++rank) at.push_back(rank * sizeof(uint64_t));
  digests[size_t(engine.rank())] = digest_of(net.context(), net.weight_memory());
  engine.all_gather(bytes_of(digests.data()), at);
  std::string others;
  for (size_t rank = 1; rank < digests.size(); ++rank)
    if (digests[rank] != digests[0]) others += (others.empty() ? "" : ", ") + std::to_string(rank);
  if (!others.empty())
    throw Error(ExitCode::kInternal, "at iteration " + std::to_string(iter) +
                                         " the weights are not the same on all ranks: rank 0's differ from those of " +
                                         others);
}

}  // namespace cortado
