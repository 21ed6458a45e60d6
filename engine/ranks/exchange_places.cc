#include "ranks/exchange_places.h"

namespace cortado::ranks {

ExchangePlaces::ExchangePlaces(int rank, int ranks, int64_t shards) : rank_(rank), ranks_(ranks) {
  for (int r = 0; r < ranks; ++r) {
    blocks_.push_back(blocks_of(range_of(r, ranks, shards)));
    all_blocks_.insert(all_blocks_.end(), blocks_.back().begin(), blocks_.back().end());
  }
  for (std::vector<size_t>* at : {&send, &receive, &gather}) at->resize(size_t(ranks) + 1);
}

void ExchangePlaces::set(const FloatRange& part) {
  const size_t blocks = blocks_[size_t(rank_)].size(), own = size_t(own_slice(part).count()) * sizeof(float);
  for (size_t r = 0; r < size_t(ranks_); ++r) {
    gather[r + 1] = size_t(slice(part, int(r)).end - part.begin) * sizeof(float);
    send[r + 1] = blocks * gather[r + 1];
    receive[r + 1] = receive[r] + blocks_[r].size() * own;
  }
}

}  // namespace cortado::ranks
