#include "solvers/rank_test.h"

#include "core/text/text.h"
#include "layers/roles.h"
#include "solvers/rank_message.h"

namespace cortado {

namespace {

enum Kind : int64_t { kGoOn, kSnapshot, kRound, kNetIsOver, kIsOver };

}  // namespace

/// A message from the first rank: the test continues, work to do, or the result.
struct RankTest::Word {
  int64_t kind = kGoOn;
  int64_t net = 0, whole = 0;  ///< of kRound, kNetIsOver
  TestRound round = {};
  int64_t stop = 0, stops_early = 0;  ///< this and the members below: of kIsOver
  int64_t current_step = 0, last_event = 0;
  double least = 0;  ///< for lr_policy plateau
};

void RankTest::tell(Word& word) {
  if (state_.share.engine) state_.share.engine->broadcast(reinterpret_cast<std::byte*>(&word), sizeof word, kFirstRank);
}

/// Not needed if the ranks share the batches, because each round continues the test.
void RankTest::go_on() {
  if (evaluation_.is_dealt_out()) return;
  Word word;
  tell(word);
}

void RankTest::end(bool stop) {
  LearningRate& rate = state_.schedule.rate();
  Word word{
      .kind = kIsOver, .stop = stop, .stops_early = evaluation_.stops_early(), .current_step = rate.current_step()};
  if (rate.is_plateau()) {
    word.last_event = rate.plateau().last_event();
    word.least = rate.plateau().least();
  }
  tell(word);
  share_kept();
}

/// If the first rank tests alone, a test may change the state of layers that is stored among the weights. Sends it to
/// all ranks.
void RankTest::share_kept() {
  if (!state_.share.engine || evaluation_.is_dealt_out()) return;
  for (const KeptWeight& kept : state_.net.kept_weights())
    broadcast_floats(*state_.share.engine, state_.net.context(), kept.values, kept.count);
  state_.net.weights_changed();
}

void RankTest::begin_snapshot() {
  Word word{.kind = kSnapshot};
  tell(word);
}

void RankTest::begin(int net, const TestRound& round) {
  Word word{.kind = kRound, .net = net, .round = round};
  tell(word);
}

void RankTest::end(int net, bool whole) {
  Word word{.kind = kNetIsOver, .net = net, .whole = whole};
  tell(word);
}

/// Collective: the byte offsets of each rank's results, and the end. Requests are sent to the first rank.
std::vector<size_t> RankTest::gather_sizes(size_t own) {
  struct Head {
    int64_t bytes, requests;
  };
  ranks::Engine& engine = *state_.share.engine;
  std::vector<Head> heads(size_t(engine.ranks()));
  std::vector<size_t> at, places = {0};
  for (size_t rank = 0; rank <= heads.size(); ++rank) at.push_back(rank * sizeof(Head));
  const bool first = engine.rank() == kFirstRank;
  heads[size_t(engine.rank())] = {int64_t(own), first ? kRequestNothing : requests_.exchange(kRequestNothing)};
  engine.all_gather(reinterpret_cast<std::byte*>(heads.data()), at);
  for (const Head& head : heads) {
    places.push_back(places.back() + size_t(head.bytes));
    if (first) requests_.fetch_or(int(head.requests));
  }
  return places;
}

std::vector<std::vector<double>> RankTest::gather(std::span<const double> own) {
  ranks::Engine& engine = *state_.share.engine;
  const std::vector<size_t> places = gather_sizes(own.size_bytes());
  std::vector<size_t> send_at(places.size(), own.size_bytes()), receive_at(places.size(), 0);
  send_at[kFirstRank] = 0;
  const bool first = engine.rank() == kFirstRank;
  if (first) receive_at = places;
  std::vector<double> all(receive_at.back() / sizeof(double));
  engine.all_to_all(reinterpret_cast<const std::byte*>(own.data()), send_at, reinterpret_cast<std::byte*>(all.data()),
                    receive_at);
  std::vector<std::vector<double>> of_ranks;
  for (size_t rank = 0; first && rank + 1 < places.size(); ++rank)
    of_ranks.emplace_back(all.begin() + std::ptrdiff_t(places[rank] / sizeof(double)),
                          all.begin() + std::ptrdiff_t(places[rank + 1] / sizeof(double)));
  return of_ranks;
}

void RankTest::obey(const Word& word, const std::function<void()>& snapshot) {
  if (word.kind == kSnapshot) snapshot();
  if (word.kind != kRound && word.kind != kNetIsOver) return;
  Tester& tester = evaluation_.testers()[size_t(word.net)];
  if (word.kind == kNetIsOver) return tester.end(word.whole != 0);
  if (word.round.first == 0) tester.begin();
  gather(tester.run_own(word.round));
}

bool RankTest::follow(const std::function<void()>& snapshot) {
  const ShownAverage shown(state_.average ? &*state_.average : nullptr, true);
  Word word;
  for (tell(word); word.kind != kIsOver; tell(word)) obey(word, snapshot);
  share_kept();
  LearningRate& rate = state_.schedule.rate();
  rate.set_current_step(int(word.current_step));
  if (rate.is_plateau()) rate.plateau().restore(word.least, word.last_event);
  evaluation_.set_stops_early(word.stops_early != 0);
  return word.stop != 0;
}

std::string why_not_dealt_out(const graph::Graph& test) {
  for (const graph::Node& node : test.nodes)
    if (const auto* memory = node.layer->roles().memory; memory && memory->is_stateful())
      return layer_text(node.name, node.type) + " needs all batches in order";
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
