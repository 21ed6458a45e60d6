#include "tools/picture/ranks.h"

#include <algorithm>

#include "core/error.h"

namespace cortado::tools {

namespace {

constexpr size_t kMaxRankPoints = 200'000;

/// Number of crossings of links between two ranks. `upper`: the positions of the upper ends in the order of the lower
/// ones. Counts inversions by merging.
int64_t inversions(std::vector<int>& upper, std::vector<int>& scratch, size_t begin, size_t end) {
  if (end - begin < 2) return 0;
  const size_t middle = (begin + end) / 2;
  int64_t count = inversions(upper, scratch, begin, middle) + inversions(upper, scratch, middle, end);
  size_t left = begin, right = middle, out = begin;
  while (left < middle || right < end) {
    if (right == end || (left < middle && upper[left] <= upper[right])) {
      scratch[out++] = upper[left++];
    } else {
      count += int64_t(middle - left);
      scratch[out++] = upper[right++];
    }
  }
  std::copy(scratch.begin() + int64_t(begin), scratch.begin() + int64_t(end), upper.begin() + int64_t(begin));
  return count;
}

class Orderer {
 public:
  explicit Orderer(Ranks& ranks) : ranks_(ranks), position_(ranks.points.size()) { note_positions(); }

  void run() {
    std::vector<std::vector<int>> best = ranks_.order;
    int64_t fewest = crossings();
    constexpr int kSweeps = 24;
    for (int sweep = 0; sweep < kSweeps && fewest > 0; ++sweep) {
      const bool down = sweep % 2 == 0;
      for (size_t i = 1; i < ranks_.order.size(); ++i)
        sort_rank(ranks_.order[down ? i : ranks_.order.size() - 1 - i], down);
      exchange_neighbours();
      if (const int64_t now = crossings(); now < fewest) {
        fewest = now;
        best = ranks_.order;
      }
    }
    ranks_.order = std::move(best);
  }

 private:
  RankPoint& point(int id) { return ranks_.points[size_t(id)]; }

  void note_positions() {
    for (const std::vector<int>& rank : ranks_.order)
      for (size_t i = 0; i < rank.size(); ++i) position_[size_t(rank[i])] = int(i);
  }

  int64_t crossings() {
    int64_t count = 0;
    for (const std::vector<int>& rank : ranks_.order) {
      std::vector<int> upper;
      for (const int id : rank) {
        const size_t first = upper.size();
        for (const int above : point(id).above) upper.push_back(position_[size_t(above)]);
        std::sort(upper.begin() + int64_t(first), upper.end());
      }
      std::vector<int> scratch(upper.size());
      count += inversions(upper, scratch, 0, upper.size());
    }
    return count;
  }

  /// Sorts by the mean position of each point's neighbours. A point without neighbours keeps its place.
  void sort_rank(std::vector<int>& rank, bool down) {
    std::vector<std::pair<double, int>> keyed;
    for (const int id : rank) {
      const std::vector<int>& joined = down ? point(id).above : point(id).below;
      double sum = 0;
      for (const int other : joined) sum += position_[size_t(other)];
      keyed.emplace_back(joined.empty() ? double(position_[size_t(id)]) : sum / double(joined.size()), id);
    }
    std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t i = 0; i < rank.size(); ++i) position_[size_t(rank[i] = keyed[i].second)] = int(i);
  }

  /// Crossings of the links of two neighbours, with `left` to the left of `right`.
  int64_t between(const std::vector<int>& left, const std::vector<int>& right) const {
    int64_t count = 0;
    for (const int l : left)
      for (const int r : right) count += position_[size_t(l)] > position_[size_t(r)];
    return count;
  }

  void exchange_neighbours() {
    for (std::vector<int>& rank : ranks_.order)
      for (size_t i = 0; i + 1 < rank.size(); ++i) {
        const RankPoint &left = point(rank[i]), &right = point(rank[i + 1]);
        const int64_t now = between(left.above, right.above) + between(left.below, right.below);
        if (now <= between(right.above, left.above) + between(right.below, left.below)) continue;
        std::swap(rank[i], rank[i + 1]);
        std::swap(position_[size_t(rank[i])], position_[size_t(rank[i + 1])]);
      }
  }

  Ranks& ranks_;
  std::vector<int> position_;
};

}  // namespace

std::vector<int> ranks_of(size_t nodes, const std::vector<Link>& links) {
  std::vector<int> rank(nodes, 0), lowest(nodes, -1);
  std::vector<bool> entered(nodes, false);
  std::vector<std::vector<int>> from(nodes);
  for (const Link& link : links) from[size_t(link.from)].push_back(link.to);
  for (size_t node = 0; node < nodes; ++node)
    for (const int to : from[node]) {
      rank[size_t(to)] = std::max(rank[size_t(to)], rank[node] + 1);
      entered[size_t(to)] = true;
    }
  for (size_t node = 0; node < nodes; ++node) {
    if (entered[node] || from[node].empty()) continue;
    int nearest = rank[size_t(from[node][0])];
    for (const int to : from[node]) nearest = std::min(nearest, rank[size_t(to)]);
    rank[node] = nearest - 1;
  }
  return rank;
}

Ranks make_ranks(const std::vector<Extent>& nodes, const std::vector<Link>& links) {
  Ranks out;
  const std::vector<int> rank = ranks_of(nodes.size(), links);
  const auto add = [&out](int node, int at, double width) {
    if (out.points.size() == kMaxRankPoints)
      throw Error(ExitCode::kNet, "the net is too large for a picture", "write a .dot file, which has no limit");
    if (size_t(at) >= out.order.size()) out.order.resize(size_t(at) + 1);
    out.order[size_t(at)].push_back(int(out.points.size()));
    out.points.push_back({node, at, width, {}, {}});
    return int(out.points.size()) - 1;
  };
  for (size_t node = 0; node < nodes.size(); ++node) add(int(node), rank[node], nodes[node].across);
  for (const Link& link : links) {
    std::vector<int> chain = {link.from};
    for (int at = rank[size_t(link.from)] + 1; at < rank[size_t(link.to)]; ++at) chain.push_back(add(-1, at, 0));
    chain.push_back(link.to);
    for (size_t i = 0; i + 1 < chain.size(); ++i) {
      out.points[size_t(chain[i])].below.push_back(chain[i + 1]);
      out.points[size_t(chain[i + 1])].above.push_back(chain[i]);
    }
    out.chains.push_back(std::move(chain));
  }
  return out;
}

void order_ranks(Ranks& ranks) { Orderer(ranks).run(); }

}  // namespace cortado::tools
