#include "solvers/test_share.h"

#include "core/text/text.h"
#include "layers/roles.h"
#include "solvers/rank_message.h"

namespace cortado {

std::string why_not_dealt_out(const graph::Graph& test) {
  for (const graph::Node& node : test.nodes)
    if (const auto* memory = node.layer->roles().memory; memory && memory->remembers_batches())
      return layer_text(node.name, node.type) + " wants all batches, one after the other";
  return "";
}

void share_tests(ranks::Engine& engine, SolverNets& nets, Evaluation& evaluation) {
  for (const auto& test : nets.tests) {
    const std::span<std::byte> own = test->weight_memory();
    if (own.empty()) continue;
    broadcast_floats(engine, test->context(), own);
    test->weights_changed();
  }
  caffe::TrainingState tests;
  if (engine.rank() == kFirstRank) evaluation.save(tests);
  broadcast_message(engine, tests);
  if (engine.rank() != kFirstRank) evaluation.load(tests);
}

}  // namespace cortado
