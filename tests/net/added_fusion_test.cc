// A fusion that is not part of the program: two files add it (added_fusion_maker.cc, added_fusion_reader.cc).
// Neighbours agree on it, with verification, where the value between them allows.

#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "net/net.h"

namespace cortado {
namespace {

const std::string kNet = R"(
  layer { name: "in" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 dim: 1 dim: 2 } } }
  layer { name: "square" type: "TestSquare" bottom: "data" top: "square" }
  layer { name: "total" type: "TestTotal" bottom: "square" top: "total" })";

std::vector<float> totals(const std::string& net, const graph::BuildOptions& given = {}) {
  Context context(1);
  graph::BuildOptions options = given;
  options.backward = false;
  options.verify = true;
  const auto made = make_net(std::make_shared<NetFile>(read_net_from_text(net, "net")), options, context);
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 0, 1, 0, 1, 0, 1};
  made->write_blob("data", x.data());
  made->forward();
  return made->read_blob("total");
}

TEST(AddedFusion, IsAgreedOn) { EXPECT_EQ(totals(kNet), (std::vector<float>{1006, 1026, 1062})); }

TEST(AddedFusion, MayBeSwitchedOff) {
  graph::BuildOptions options;
  options.switch_off = {"test_totals"};
  EXPECT_EQ(totals(kNet, options), (std::vector<float>{6, 26, 62}));
}

TEST(AddedFusion, RequiresASingleReader) {
  EXPECT_EQ(totals(kNet + "layer { name: 'more' type: 'Power' bottom: 'square' top: 'more' }"),
            (std::vector<float>{6, 26, 62}));
}

TEST(AddedFusion, MissingOnOneSideIsAFault) {
  graph::BuildOptions options;
  options.backward = false;
  graph::Graph graph = graph::build(std::make_shared<NetFile>(read_net_from_text(kNet, "net")), options);
  graph::run_passes(graph);
  const std::set<graph::Invariant> all = {graph::Invariant::kStorage};
  EXPECT_TRUE(graph::find_faults(graph, all).empty());
  graph.nodes[1].fusions.clear();
  const std::vector<std::string> faults = graph::find_faults(graph, all);
  EXPECT_TRUE(std::ranges::any_of(faults, [](const std::string& fault) {
    return fault.find("takes test_totals, which the maker") != std::string::npos;
  }));
}

}  // namespace
}  // namespace cortado
