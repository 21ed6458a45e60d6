// Brandes and Köpf's method. Four alignments, each towards one corner: a point is aligned with the median of its
// neighbours in the previous rank, unless that crosses an existing alignment. Chains of aligned points become one
// column, and columns are compacted. The position of a point is the mean of the middle two of its four positions.
#include <algorithm>
#include <limits>
#include <set>

#include "tools/picture/ranks.h"

namespace cortado::tools {

namespace {

using Order = std::vector<std::vector<int>>;

/// Pairs of joined points whose link would cross a link between two link points. Those links have priority to be
/// straight.
std::set<std::pair<int, int>> marked_links(const Ranks& ranks) {
  std::set<std::pair<int, int>> marked;
  std::vector<int> position(ranks.points.size());
  for (const std::vector<int>& rank : ranks.order)
    for (size_t i = 0; i < rank.size(); ++i) position[size_t(rank[i])] = int(i);
  const auto inner_above = [&ranks](int id) {
    const RankPoint& point = ranks.points[size_t(id)];
    if (point.node >= 0 || point.above.empty()) return -1;
    return ranks.points[size_t(point.above[0])].node < 0 ? point.above[0] : -1;
  };
  for (size_t r = 1; r < ranks.order.size(); ++r) {
    const std::vector<int>& rank = ranks.order[r];
    int left = 0;
    size_t scanned = 0;
    for (size_t i = 0; i < rank.size(); ++i) {
      const int inner = inner_above(rank[i]);
      if (inner < 0 && i + 1 < rank.size()) continue;
      const int right = inner < 0 ? std::numeric_limits<int>::max() : position[size_t(inner)];
      for (; scanned <= i; ++scanned)
        for (const int above : ranks.points[size_t(rank[scanned])].above)
          if (inner_above(rank[scanned]) < 0 && (position[size_t(above)] < left || position[size_t(above)] > right))
            marked.insert({above, rank[scanned]});
      left = right;
    }
  }
  return marked;
}

/// One of the four alignments: visits ranks in `order`, and in each rank points from its front.
class Alignment {
 public:
  Alignment(const Ranks& ranks, const Spacing& spacing, Order order, bool upward)
      : ranks_(ranks), spacing_(spacing), order_(std::move(order)), upward_(upward) {
    const size_t count = ranks.points.size();
    position_.resize(count);
    for (const std::vector<int>& rank : order_)
      for (size_t i = 0; i < rank.size(); ++i) position_[size_t(rank[i])] = int(i);
    for (size_t i = 0; i < count; ++i) root_.push_back(int(i));
    next_ = root_;
  }

  std::vector<double> places(const std::set<std::pair<int, int>>& marked) {
    align(marked);
    return push_together();
  }

 private:
  const std::vector<int>& before(int id) const {
    const RankPoint& point = ranks_.points[size_t(id)];
    return upward_ ? point.below : point.above;
  }

  void align(const std::set<std::pair<int, int>>& marked) {
    for (const std::vector<int>& rank : order_) {
      int last = -1;
      for (const int id : rank) {
        std::vector<int> joined = before(id);
        std::sort(joined.begin(), joined.end(),
                  [this](int a, int b) { return position_[size_t(a)] < position_[size_t(b)]; });
        for (size_t k = joined.empty() ? 0 : (joined.size() - 1) / 2; k < joined.size() && k <= joined.size() / 2;
             ++k) {
          const int other = joined[k];
          const auto link = upward_ ? std::pair(id, other) : std::pair(other, id);
          if (next_[size_t(id)] != id || position_[size_t(other)] <= last || marked.contains(link)) continue;
          next_[size_t(other)] = id;
          next_[size_t(id)] = root_[size_t(id)] = root_[size_t(other)];
          last = position_[size_t(other)];
        }
      }
    }
  }

  double distance(int left, int right) const {
    const RankPoint &a = ranks_.points[size_t(left)], &b = ranks_.points[size_t(right)];
    return (a.width + b.width) / 2 + (a.node >= 0 && b.node >= 0 ? spacing_.nodes : spacing_.routes);
  }

  /// Moves columns to the front as far as those before them allow, then back towards the next ones.
  std::vector<double> push_together() const {
    struct Gap {
      int column;
      double distance;
    };
    const size_t count = root_.size();
    std::vector<std::vector<Gap>> front(count), behind(count);
    std::vector<int> waiting(count, 0), columns;
    for (const std::vector<int>& rank : order_)
      for (size_t i = 1; i < rank.size(); ++i) {
        const int left = root_[size_t(rank[i - 1])], right = root_[size_t(rank[i])];
        const double apart = distance(rank[i - 1], rank[i]);
        behind[size_t(left)].push_back({right, apart});
        front[size_t(right)].push_back({left, apart});
        ++waiting[size_t(right)];
      }
    for (size_t i = 0; i < count; ++i)
      if (root_[i] == int(i) && waiting[i] == 0) columns.push_back(int(i));
    std::vector<double> place(count, 0);
    for (size_t at = 0; at < columns.size(); ++at) {
      const size_t column = size_t(columns[at]);
      for (const Gap& gap : front[column])
        place[column] = std::max(place[column], place[size_t(gap.column)] + gap.distance);
      for (const Gap& gap : behind[column])
        if (--waiting[size_t(gap.column)] == 0) columns.push_back(gap.column);
    }
    for (size_t at = columns.size(); at-- > 0;) {
      const size_t column = size_t(columns[at]);
      double most = std::numeric_limits<double>::infinity();
      for (const Gap& gap : behind[column]) most = std::min(most, place[size_t(gap.column)] - gap.distance);
      if (most < std::numeric_limits<double>::infinity()) place[column] = std::max(place[column], most);
    }
    std::vector<double> places(count);
    for (size_t i = 0; i < count; ++i) places[i] = place[size_t(root_[i])];
    return places;
  }

  const Ranks& ranks_;
  const Spacing& spacing_;
  Order order_;
  bool upward_;
  std::vector<int> position_, root_, next_;
};

struct Bounds {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  double width() const { return most - least; }
};

Bounds bounds_of(const Ranks& ranks, const std::vector<double>& places) {
  Bounds bounds;
  for (size_t i = 0; i < places.size(); ++i) {
    bounds.least = std::min(bounds.least, places[i] - ranks.points[i].width / 2);
    bounds.most = std::max(bounds.most, places[i] + ranks.points[i].width / 2);
  }
  return bounds;
}

}  // namespace

std::vector<double> place_points(const Ranks& ranks, const Spacing& spacing) {
  const std::set<std::pair<int, int>> marked = marked_links(ranks);
  std::vector<std::vector<double>> four;
  for (const bool upward : {false, true})
    for (const bool leftward : {false, true}) {
      Order order = ranks.order;
      if (upward) std::reverse(order.begin(), order.end());
      if (leftward)
        for (std::vector<int>& rank : order) std::reverse(rank.begin(), rank.end());
      four.push_back(Alignment(ranks, spacing, std::move(order), upward).places(marked));
      if (leftward)
        for (double& place : four.back()) place = -place;
    }
  std::vector<Bounds> bounds;
  for (const std::vector<double>& places : four) bounds.push_back(bounds_of(ranks, places));
  size_t narrowest = 0;
  for (size_t i = 1; i < four.size(); ++i)
    if (bounds[i].width() < bounds[narrowest].width()) narrowest = i;
  std::vector<double> out(ranks.points.size());
  for (size_t point = 0; point < out.size(); ++point) {
    std::vector<double> places;
    for (size_t i = 0; i < four.size(); ++i)
      places.push_back(four[i][point] + (i % 2 == 0 ? bounds[narrowest].least - bounds[i].least
                                                    : bounds[narrowest].most - bounds[i].most));
    std::sort(places.begin(), places.end());
    out[point] = (places[1] + places[2]) / 2;
  }
  return out;
}

}  // namespace cortado::tools
