#include "layers/common/losses/malis.h"

#include <algorithm>

namespace cortado {

namespace {

double pairs_of(double n) { return n * (n - 1) / 2; }

}  // namespace

void MalisLoss::reserve(int64_t vertices, int64_t edges) {
  queue_.reserve(size_t(vertices * edges));
  for (std::vector<int32_t>* list : {&parent_, &first_, &next_, &sorted_}) list->reserve(size_t(vertices));
  for (std::vector<int64_t>* list : {&size_, &vertices_}) list->reserve(size_t(vertices));
}

/// All edges, the strongest first.
void MalisLoss::list_edges(const MalisGrid& grid, const float* affinities) {
  queue_.clear();
  int64_t i = 0;
  for (const std::array<int64_t, 3>& edge : grid.edges) {
    const auto inside = [&](size_t axis, int64_t at) {
      return at + edge[axis] >= 0 && at + edge[axis] < grid.extents[axis];
    };
    for (int64_t z = 0; z < grid.extents[0]; ++z)
      for (int64_t y = 0; y < grid.extents[1]; ++y)
        for (int64_t x = 0; x < grid.extents[2]; ++x, ++i)
          if (inside(0, z) && inside(1, y) && inside(2, x)) queue_.push_back(i);
  }
  std::sort(queue_.begin(), queue_.end(), [affinities](int64_t a, int64_t b) {
    return affinities[a] > affinities[b] || (affinities[a] == affinities[b] && a < b);
  });
}

double MalisLoss::count_pairs(const int32_t* segments, int64_t vertices, MalisPairs pairs) {
  sorted_.clear();
  for (int64_t i = 0; i < vertices; ++i)
    if (segments[i] != 0) sorted_.push_back(segments[i]);
  std::sort(sorted_.begin(), sorted_.end());
  double same = 0;
  for (auto begin = sorted_.begin(); begin != sorted_.end();) {
    const auto end = std::upper_bound(begin, sorted_.end(), *begin);
    same += pairs_of(double(end - begin));
    begin = end;
  }
  return pairs == MalisPairs::kSame ? same : pairs_of(double(sorted_.size())) - same;
}

int32_t MalisLoss::root_of(int32_t vertex) {
  while (parent_[size_t(vertex)] != vertex) {
    int32_t& parent = parent_[size_t(vertex)];
    parent = parent_[size_t(parent)];
    vertex = parent;
  }
  return vertex;
}

/// Merges the trees of two roots and their lists of segments.
MalisLoss::Joined MalisLoss::join(int32_t a, int32_t b, const int32_t* segments) {
  if (size_[size_t(a)] < size_[size_t(b)]) std::swap(a, b);
  const int64_t all = size_[size_t(a)] * size_[size_t(b)];
  int64_t same = 0;
  int32_t one = first_[size_t(a)], other = first_[size_t(b)], *end = &first_[size_t(a)];
  while (one >= 0 && other >= 0) {
    int32_t& from = segments[one] <= segments[other] ? one : other;
    if (segments[one] == segments[other]) {
      same += vertices_[size_t(one)] * vertices_[size_t(other)];
      vertices_[size_t(one)] += vertices_[size_t(other)];
      other = next_[size_t(other)];
    }
    *end = from;
    end = &next_[size_t(from)];
    from = *end;
  }
  *end = one >= 0 ? one : other;
  parent_[size_t(b)] = a;
  size_[size_t(a)] += size_[size_t(b)];
  return {same, all - same};
}

double MalisLoss::run(const MalisGrid& grid, const float* affinities, const int32_t* segments, MalisPairs pairs,
                      double* gradient) {
  const int64_t vertices = grid.vertices();
  const double count = count_pairs(segments, vertices, pairs);
  if (count == 0) return 0;
  list_edges(grid, affinities);
  parent_.resize(size_t(vertices)), first_.resize(size_t(vertices)), next_.assign(size_t(vertices), -1);
  size_.resize(size_t(vertices)), vertices_.assign(size_t(vertices), 1);
  for (int32_t i = 0; i < vertices; ++i) {
    parent_[size_t(i)] = i;
    size_[size_t(i)] = segments[i] != 0;
    first_[size_t(i)] = segments[i] != 0 ? i : -1;
  }
  double loss = 0;
  for (const int64_t edge : queue_) {
    const std::array<int64_t, 3>& step = grid.edges[size_t(edge / vertices)];
    const int64_t from = edge % vertices, to = from + (step[0] * grid.extents[1] + step[1]) * grid.extents[2] + step[2];
    const int32_t a = root_of(int32_t(from)), b = root_of(int32_t(to));
    if (a == b) continue;
    const Joined joined = join(a, b, segments);
    const bool same = pairs == MalisPairs::kSame;
    const double weight = double(same ? joined.same : joined.different) / count;
    const double distance = double(affinities[edge]) - (same ? 1 : 0);
    loss += weight * distance * distance;
    gradient[edge] += 2 * weight * distance;
  }
  return loss;
}

}  // namespace cortado
