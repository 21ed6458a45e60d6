#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace cortado::tools {

/// The items of highest rank, sorted; of equal ranks, the earlier ones first.
template <typename Item>
class Foremost {
 public:
  explicit Foremost(size_t most) : most_(most) {}

  /// Whether add() would keep an item of this rank.
  bool wants(double rank) const { return items_.size() < most_ || rank > items_.back().first; }
  void add(double rank, Item item) {
    const auto at = std::find_if(items_.begin(), items_.end(), [&](const auto& other) { return other.first < rank; });
    items_.emplace(at, rank, std::move(item));
    if (items_.size() > most_) items_.pop_back();
  }
  const std::vector<std::pair<double, Item>>& items() const { return items_; }

 private:
  size_t most_;
  std::vector<std::pair<double, Item>> items_;
};

}  // namespace cortado::tools
