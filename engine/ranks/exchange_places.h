#pragma once

// Offsets of the bytes that ranks exchange to sum a part: first each rank gets its slice of all blocks of the others,
// then all ranks get the sums of the slices.

#include <cstddef>
#include <vector>

#include "ranks/shard_tree.h"
#include "ranks/slices.h"

namespace cortado::ranks {

class ExchangePlaces {
 public:
  ExchangePlaces(int rank, int ranks, int64_t shards);

  /// Sets the lists, in the form of Engine's functions, for one part.
  void set(const FloatRange& part);
  std::vector<size_t> send, receive;  ///< of all_to_all()
  std::vector<size_t> gather;         ///< of all_gather()

  int ranks() const { return ranks_; }
  FloatRange slice(const FloatRange& part, int rank) const { return slice_of(part, rank, ranks_); }
  FloatRange own_slice(const FloatRange& part) const { return slice(part, rank_); }
  const std::vector<Block>& all_blocks() const { return all_blocks_; }  ///< of all ranks, in order of shards

  /// Calls copy(to, block, from) for what all_to_all() sends of a part if a rank has several blocks: for each rank, its
  /// slice of each block of this one, block after block. `to` counts floats from 0.
  template <typename Copy>
  void pack(const FloatRange& part, const Copy& copy) const {
    int64_t to = 0;
    for (int rank = 0; rank < ranks_; ++rank)
      for (size_t block = 0; block < blocks_[size_t(rank_)].size(); ++block) {
        const FloatRange theirs = slice(part, rank);
        copy(to, block, theirs);
        to += theirs.count();
      }
  }

 private:
  int rank_, ranks_;
  std::vector<std::vector<Block>> blocks_;  ///< per rank
  std::vector<Block> all_blocks_;
};

}  // namespace cortado::ranks
