// Every file of goldens/ is one case. Its first line is "after PASS PHASE", optionally followed by "frozen", by the
// only requested blob (or -), and by "8bits" or a precision, which selects the simulated device. A net follows, a line
// "----", and the graph as text after that pass; for the pass "plan", the plan as text, without the names of kernels.
// CORTADO_UPDATE_GOLDENS=1 writes the actual text instead of comparing.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "core/device/device_memory.h"
#include "core/files/file.h"
#include "graph/passes/passes.h"
#include "graph/plan.h"
#include "tests/harness/places.h"

namespace cortado {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> golden_files() {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(in_source("tests/graph/goldens")))
    if (entry.path().extension() == ".golden") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

/// The first line of a case.
struct Head {
  std::string after, pass, phase, frozen, only, precision;
};

std::string text_after(const std::string& net, const std::string& name, const Head& head) {
  const bool on_device = !head.precision.empty() && head.precision != "8bits";
  ContextOptions place;
  if (on_device) place = {.device = {DeviceKind::kSimulated, 0}, .precision = precision_named(head.precision)};
  Context context(place);
  graph::BuildOptions options;
  options.state.set_phase(head.phase == "TRAIN" ? caffe::TRAIN : caffe::TEST);
  options.backward = head.phase == "TRAIN";
  options.frozen = head.frozen == "frozen";
  options.verify = true;
  options.only_kept = !head.only.empty() && head.only != "-";
  if (options.only_kept) options.keep = {head.only};
  options.eight_bits = head.precision == "8bits";
  if (on_device) options = graph::options_for(options, context);
  graph::Graph graph = graph::build(std::make_shared<NetFile>(read_net_from_text(net, name)), options);
  if (head.pass == "build") return graph::to_text(graph);
  const bool whole = head.pass == "plan";
  graph::run_passes(graph, whole ? "" : head.pass);
  if (!whole) return graph::to_text(graph);
  const std::string plan = graph::to_text(graph::make_plan(std::move(graph), context));
  return std::regex_replace(plan, std::regex("  \\[.*\\]"), "");
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, graph_is_as_written) {
  const std::string content = read_file(GetParam());
  std::istringstream words(content.substr(0, content.find('\n')));
  Head head;
  words >> head.after >> head.pass >> head.phase >> head.frozen >> head.only >> head.precision;
  ASSERT_EQ(head.after, "after");
  const size_t net_begin = content.find('\n') + 1, net_end = content.find("----\n");
  ASSERT_NE(net_end, std::string::npos);
  const std::string net = content.substr(net_begin, net_end - net_begin);
  const std::string name = fs::path(GetParam()).filename().string();
  const std::string got = text_after(net, name, head);
  if (std::getenv("CORTADO_UPDATE_GOLDENS")) {
    std::ofstream(GetParam()) << content.substr(0, net_end) << "----\n" << got;
    return;
  }
  EXPECT_EQ(got, content.substr(net_end + 5));
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(golden_files()),
                         [](const auto& info) { return fs::path(info.param).stem().string(); });

}  // namespace
}  // namespace cortado
