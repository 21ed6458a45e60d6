#include "solvers/shard_outcome.h"

namespace cortado {

ShardOutcome gather_outcome(const RankShare& share, const std::vector<double>& losses, int requests) {
  const int ranks = share.ranks();
  std::vector<double> words;  // of each rank: its requests, then the losses of its shards
  std::vector<size_t> at = {0};
  for (int rank = 0; rank < ranks; ++rank) {
    const ranks::ShardRange range = ranks::range_of(rank, ranks, share.shards);
    if (range == share.range) {
      words.push_back(requests);
      words.insert(words.end(), losses.begin(), losses.end());
    } else {
      words.resize(words.size() + 1 + size_t(range.count));
    }
    at.push_back(words.size() * sizeof(double));
  }
  if (share.engine) share.engine->all_gather(reinterpret_cast<std::byte*>(words.data()), at);
  ShardOutcome outcome;
  for (int rank = 0; rank < ranks; ++rank) {
    const double* of_rank = words.data() + at[size_t(rank)] / sizeof(double);
    const double* end = words.data() + at[size_t(rank) + 1] / sizeof(double);
    outcome.requests |= int(*of_rank);
    for (const double* loss = of_rank + 1; loss < end; ++loss) outcome.loss += *loss;
  }
  outcome.loss /= double(share.shards);
  return outcome;
}

}  // namespace cortado
