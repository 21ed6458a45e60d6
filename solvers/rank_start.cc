#include "solvers/rank_start.h"

#include <cmath>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/files/crc.h"
#include "core/log.h"
#include "core/threads/threads.h"
#include "solvers/field_checks.h"
#include "solvers/rank_message.h"
#include "solvers/run_conditions.h"

namespace cortado {

namespace {

std::byte* bytes_of(void* data) { return static_cast<std::byte*>(data); }

uint64_t digest_of(Context& context, std::span<const std::byte> memory) {
  const HostView view(context, reinterpret_cast<const float*>(memory.data()), int64_t(memory.size() / sizeof(float)));
  return crc_of({reinterpret_cast<const char*>(view.data()), memory.size()});
}

}  // namespace

void check_shards(int ranks, int64_t shards) {
  if (ranks > shards)
    throw Error(ExitCode::kUsage,
                std::to_string(ranks) + " ranks for " + std::to_string(shards) + (shards == 1 ? " shard" : " shards"),
                "use fewer ranks, or set shards: " + std::to_string(ranks) + " in the solver");
}

void settle_shards(SolverConfig& config, const caffe::TrainingState* snapshot, const ranks::Engine* engine,
                   const Context& context) {
  const int ranks = engine ? engine->ranks() : 1, given = config.iteration.shards, steps = config.iteration.local_steps;
  const int before = snapshot ? std::max(1, snapshot->shards()) : 0;
  const int shards = given > 0 ? given : before > 0 ? before : ranks;
  if (before > 0 && shards != before)
    log_warning() << "shards: " << shards << ", but the snapshot's training had " << before
                  << ": its iterations had other batches";
  check_shards(ranks, shards);
  config.at_its_field([&] {
    const std::string text = "local_steps: " + std::to_string(steps);
    refuse_if(steps > 1 && shards <= 1, "local_steps", text + " has no effect with one shard",
              "set shards: 4, use --ranks=4, or remove local_steps");
    refuse_if(steps > 1 && !context.shares_host_memory(), "local_steps",
              text + ": iterations of local steps run on the CPU alone",
              "shards without local_steps exchange gradients");
  });
  if (shards > 1) config.set_shards(shards);
}

void scale_rate(SolverConfig& config, const std::string& how) {
  const double shards = config.iteration.shards, factor = how == "sqrt" ? std::sqrt(shards) : shards;
  if (how == "none" || shards <= 1) return;
  const float before = config.base_lr(), rate = float(before * factor);
  config.set_base_lr(rate);
  log_info() << "base_lr: " << before << " becomes " << rate << " (--scale-lr=" << how << ")";
}

void tell_conditions(ranks::Engine& engine, Net& net, int64_t shards) {
  caffe::TrainingState conditions;
  conditions.set_seed(net.context().seed);
  conditions.set_shards(int(shards));
  save_conditions(net, conditions);
  broadcast_message(engine, conditions);
}

void await_conditions(ranks::Engine& engine, SolverConfig& config, Context& context) {
  caffe::TrainingState conditions;
  broadcast_message(engine, conditions);
  config.set_shards(conditions.shards());
  context.seed = conditions.seed();
  context.pieces = conditions.pieces();
  if (const std::string other = difference_of_libraries(conditions, context); !other.empty())
    throw Error(ExitCode::kDevice, "rank " + std::to_string(engine.rank()) + " would compute otherwise: " + other,
                "use the same program and CPU level on all ranks, for example --cpu-level=v3 for AVX2");
  take_kernels(conditions, context);
}

void share_state(ranks::Engine& engine, TrainState& state, Iteration& iteration) {
  caffe::SolverState head;
  if (engine.rank() == kFirstRank) {
    state.save(head);
    iteration.save(*head.mutable_training());
  }
  broadcast_message(engine, head);
  broadcast_floats(engine, state.net.context(), state.net.weight_memory());
  iteration.share_histories();
  state.carried.distribute();
  if (engine.rank() == kFirstRank) return;
  state.net.weights_changed();
  state.load_head(head);
  iteration.load(head.training());
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
