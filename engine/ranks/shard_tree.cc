#include "ranks/shard_tree.h"

namespace cortado::ranks {

std::vector<Block> blocks_of(const ShardRange& range) {
  std::vector<Block> blocks;
  for (int64_t shard = range.first; shard < range.first + range.count; ++shard) {
    blocks.push_back({shard, 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].joins(blocks.back())) {
      blocks.pop_back();
      blocks.back().count *= 2;
    }
  }
  return blocks;
}

}  // namespace cortado::ranks
