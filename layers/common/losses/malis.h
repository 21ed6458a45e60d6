#pragma once

// MALIS, maximin affinity learning of image segmentation (Turaga, Briggman, Helmstaedter, Denk and Seung 2009).
// Vertices are connected by edges with affinities. The affinity of two vertices is that of the weakest edge on the
// strongest path between them, which is an edge of the maximum spanning tree. Kruskal's algorithm adds the edges of
// this tree from the strongest on; each is the weakest edge for all pairs of vertices that it joins. Pairs of the same
// segment should have an affinity of 1, others of 0:
//     loss = sum over the pairs of one kind of (1 - a)^2 or a^2, divided by their number
// Vertices of segment 0 belong to no pair. Of edges with equal affinities the first is stronger.

#include <array>
#include <cstdint>
#include <vector>

namespace cortado {

/// The grid of vertices, depth x height x width, and the neighbour to which each kind of edge leads.
struct MalisGrid {
  std::array<int64_t, 3> extents;
  std::vector<std::array<int64_t, 3>> edges;

  int64_t vertices() const { return extents[0] * extents[1] * extents[2]; }
};

/// Which pairs of vertices count.
enum class MalisPairs : uint8_t { kSame, kDifferent };

class MalisLoss {
 public:
  /// Reserves memory for this number of vertices and of kinds of edges.
  void reserve(int64_t vertices, int64_t edges);

  /// The loss of affinities, edges x vertices, none of them NaN. Adds its derivative to `gradient`. Edges that leave
  /// the grid do not exist.
  double run(const MalisGrid& grid, const float* affinities, const int32_t* segments, MalisPairs pairs,
             double* gradient);

 private:
  struct Joined {
    int64_t same, different;  ///< pairs
  };

  void list_edges(const MalisGrid& grid, const float* affinities);
  double count_pairs(const int32_t* segments, int64_t vertices, MalisPairs pairs);
  int32_t root_of(int32_t vertex);
  Joined join(int32_t a, int32_t b, const int32_t* segments);

  std::vector<int64_t> queue_;     ///< edges, index in affinities
  std::vector<int32_t> parent_;    ///< of each vertex in its tree
  std::vector<int64_t> size_;      ///< of a root: the vertices of its tree that are in segments
  std::vector<int32_t> first_;     ///< of a root: its list of segments in ascending order, -1: empty
  std::vector<int32_t> next_;      ///< of an entry of a list; vertex i is the entry of its own segment
  std::vector<int64_t> vertices_;  ///< of an entry: the number of vertices
  std::vector<int32_t> sorted_;
};

}  // namespace cortado
