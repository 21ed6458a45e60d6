// Every file of goldens/ is one case: "after PASS PHASE", perhaps "frozen" and then perhaps the only blob wanted; a net; a
// line "----"; and the graph as text after that pass.
// CORTADO_UPDATE_GOLDENS=1 writes what comes out instead of comparing it.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/file.h"
#include "graph/passes/passes.h"
#include "graph/plan.h"

namespace cortado {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> golden_files() {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(std::string(CORTADO_SOURCE_DIR) + "/tests/graph/goldens"))
    if (entry.path().extension() == ".golden") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

std::string text_after(const std::string& net, const std::string& name, const std::string& pass, const std::string& phase, bool frozen,
                       const std::string& only) {
  graph::BuildOptions options;
  options.state.set_phase(phase == "TRAIN" ? caffe::TRAIN : caffe::TEST);
  options.backward = phase == "TRAIN";
  options.frozen = frozen;
  options.only_kept = !only.empty();
  if (options.only_kept) options.keep = {only};
  graph::Graph graph = graph::build(std::make_shared<NetFile>(read_net_from_text(net, name)), options);
  if (pass != "build") graph::run_passes(graph, pass);
  return graph::to_text(graph);
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, graph_is_as_written) {
  const std::string content = read_file(GetParam());
  std::istringstream head(content.substr(0, content.find('\n')));
  std::string after, pass, phase, frozen, only;
  head >> after >> pass >> phase >> frozen >> only;
  ASSERT_EQ(after, "after");
  const size_t net_begin = content.find('\n') + 1, net_end = content.find("----\n");
  ASSERT_NE(net_end, std::string::npos);
  const std::string net = content.substr(net_begin, net_end - net_begin);
  const std::string name = fs::path(GetParam()).filename().string();
  const std::string got = text_after(net, name, pass, phase, frozen == "frozen", only);
  if (std::getenv("CORTADO_UPDATE_GOLDENS")) {
    std::ofstream(GetParam()) << content.substr(0, net_end) << "----\n" << got;
    return;
  }
  EXPECT_EQ(got, content.substr(net_end + 5));
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(golden_files()), [](const auto& info) {
  return fs::path(info.param).stem().string();
});

}  // namespace
}  // namespace cortado
