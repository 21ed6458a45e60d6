// Which pairs of Concat and ShuffleChannel are merged into one node.

#include <gtest/gtest.h>

#include "graph/passes/passes.h"

namespace cortado {
namespace {

std::string text_of(const Shape& shape) {
  std::string text = "shape {";
  for (const int64_t dim : shape.dims()) text += " dim: " + std::to_string(dim);
  return text + " } ";
}

/// Whether the two layers are one node after the pass.
bool joined(const std::vector<Shape>& parts, const std::string& options = "", int64_t group = 2,
            const std::string& more = "") {
  std::string tops, bottoms, shapes;
  for (size_t i = 0; i < parts.size(); ++i) {
    tops += " top: 'x" + std::to_string(i) + "'";
    bottoms += " bottom: 'x" + std::to_string(i) + "'";
    shapes += text_of(parts[i]);
  }
  const std::string net = "layer { name: 'in' type: 'Input'" + tops + " input_param { " + shapes + " } }" +
                          "layer { name: 'concat' type: 'Concat'" + bottoms + " top: 'y' concat_param { " + options +
                          " } } layer { name: 'shuffle' type: 'ShuffleChannel' bottom: 'y' top: 'z' "
                          "shuffle_channel_param { group: " +
                          std::to_string(group) + " } }" + more;
  graph::BuildOptions build;
  build.verify = true;
  graph::Graph graph = graph::build(std::make_shared<NetFile>(read_net_from_text(net, "net")), build);
  graph::run_passes(graph, "fuse_concat_shuffle");
  for (const graph::Node& node : graph.nodes)
    if (node.type == "Concat+ShuffleChannel") return node.name == "concat+shuffle" && node.x.size() == parts.size();
  return false;
}

TEST(InterleaveConcats, JoinsEqualPartsAndTheirShuffle) {
  EXPECT_TRUE(joined({{2, 6, 2, 2}, {2, 6, 2, 2}}));
  EXPECT_TRUE(joined({{2, 6, 2, 2}, {2, 6, 2, 2}}, "axis: -3"));
  EXPECT_TRUE(joined({{2, 6, 2, 2}, {2, 6, 2, 2}}, "concat_dim: 1"));
  EXPECT_TRUE(joined({{2, 6}, {2, 6}, {2, 6}}, "", 3));
}

TEST(InterleaveConcats, LeavesOtherShufflesUnchanged) {
  EXPECT_FALSE(joined({{2, 6, 2, 2}, {2, 6, 2, 2}}, "", 3));
  EXPECT_FALSE(joined({{2, 6, 2, 2}, {2, 4, 2, 2}}));
  EXPECT_FALSE(joined({{2, 6, 2, 2}, {2, 6, 2, 2}}, "axis: 0"));
  EXPECT_FALSE(joined({{2, 6, 2, 2}}, "", 1));
  EXPECT_FALSE(joined({{2, 16, 2, 2}, {2, 16, 2, 2}})) << "blocked layouts are kept";
  EXPECT_FALSE(joined({{2, 6, 2, 2}, {2, 6, 2, 2}}, "", 2, "layer { name: 'also' type: 'TanH' bottom: 'y' top: 't' }"))
      << "another layer reads the Concat";
}

}  // namespace
}  // namespace cortado
