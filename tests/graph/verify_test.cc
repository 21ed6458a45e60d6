// Checks of graphs and plans: all available nets pass them in every mode, and deliberate faults are found, with the
// name of the pass that introduced them.

#include "graph/verify/verify.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/device/device_memory.h"
#include "graph/passes/passes.h"
#include "tests/harness/places.h"

namespace cortado {
namespace {

namespace fs = std::filesystem;

/// One way of running a net.
struct Mode {
  std::string name;
  caffe::Phase phase = caffe::TRAIN;
  bool frozen = false, recompute = false, transient = true, every_layer = false;
  std::string precision = {};  ///< on the simulated device
};

const std::vector<Mode> kModes = {
    {.name = "train"},
    {.name = "train with all gradients kept", .transient = false},
    {.name = "train with recomputation", .recompute = true},
    {.name = "train with a node for each layer", .every_layer = true},
    {.name = "train on a device in bf16", .precision = "bf16"},
    {.name = "train on a device in fp16 with recomputation", .recompute = true, .precision = "fp16"},
    {.name = "test", .phase = caffe::TEST},
    {.name = "frozen", .phase = caffe::TEST, .frozen = true},
    {.name = "frozen on a device in bf16", .phase = caffe::TEST, .frozen = true, .precision = "bf16"}};

graph::BuildOptions options_of(const Mode& mode) {
  graph::BuildOptions options;
  options.state.set_phase(mode.phase);
  options.backward = mode.phase == caffe::TRAIN;
  options.frozen = mode.frozen;
  options.recompute = mode.recompute;
  options.transient_gradients = mode.transient && options.backward;
  options.fuse = !mode.every_layer;
  options.verify = true;
  return options;
}

/// The plan of the net in the file; make_plan() and run_passes() throw if it is invalid.
graph::Plan plan_of(const std::string& path, const Mode& mode) {
  const bool on_device = !mode.precision.empty();
  ContextOptions place;
  if (on_device) place = {.device = {DeviceKind::kSimulated, 0}, .precision = precision_named(mode.precision)};
  Context context(place);
  graph::BuildOptions options = options_of(mode);
  if (on_device) options = graph::options_for(options, context);
  graph::Graph graph = graph::build(std::make_shared<NetFile>(read_net(path)), options);
  graph::run_passes(graph);
  return graph::make_plan(std::move(graph), context);
}

class Verify : public testing::TestWithParam<std::string> {};

TEST_P(Verify, nets_are_valid_in_every_mode) {
  const fs::path before = fs::current_path();
  fs::current_path(fs::path(GetParam()).parent_path());  // paths of datasets are relative to it
  for (const Mode& mode : kModes) EXPECT_NO_THROW(plan_of(GetParam(), mode)) << mode.name;
  fs::current_path(before);
}

std::vector<std::string> nets() {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(in_source("tests/parity/cases")))
    if (const fs::path net = entry.path() / "net.prototxt"; fs::exists(net)) paths.push_back(net);
  for (const auto& entry : fs::directory_iterator(in_source("models")))
    if (const fs::path net = entry.path() / "deploy.prototxt"; fs::exists(net)) paths.push_back(net);
  return paths;
}

INSTANTIATE_TEST_SUITE_P(Nets, Verify, testing::ValuesIn(nets()),
                         [](const auto& info) { return fs::path(info.param).parent_path().stem().string(); });

// Deliberate faults

const std::string kNet = R"(
  layer { name: "in" type: "Input" top: "data" top: "label" input_param {
      shape { dim: 2 dim: 16 dim: 8 dim: 8 } shape { dim: 2 } } }
  layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
      convolution_param { num_output: 16 kernel_size: 3 pad: 1 } }
  layer { name: "tanh" type: "TanH" bottom: "conv" top: "tanh" }
  layer { name: "conv2" type: "Convolution" bottom: "tanh" top: "conv2"
      convolution_param { num_output: 16 kernel_size: 3 pad: 1 } }
  layer { name: "sum" type: "Eltwise" bottom: "tanh" bottom: "conv2" top: "sum" }
  layer { name: "mvn" type: "MVN" bottom: "sum" top: "mvn" }
  layer { name: "fc" type: "InnerProduct" bottom: "mvn" top: "fc" inner_product_param { num_output: 3 } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" })";

graph::Graph built() {
  return graph::build(std::make_shared<NetFile>(read_net_from_text(kNet, "net")), options_of({}));
}

graph::Node& node_named(graph::Graph& graph, const std::string& name) {
  for (graph::Node& node : graph.nodes)
    if (node.name.starts_with(name)) return node;
  throw std::runtime_error("no node " + name);
}

/// Runs the passes up to `after` and then `saboteur`; returns the message of the checks.
std::string said_after(const std::string& after, void (*saboteur)(graph::Graph&)) {
  std::vector<graph::Pass> passes;
  for (const graph::Pass& pass : graph::all_passes()) {
    passes.push_back(pass);
    if (pass.name == after) break;
  }
  passes.push_back({"saboteur", "", saboteur});
  graph::Graph graph = built();
  try {
    graph::run_passes(graph, passes, "");
  } catch (const std::logic_error& e) {  // throw_internal()
    return e.what();
  }
  return "nothing";
}

void expect_found(const std::string& said, const std::string& fault) {
  EXPECT_NE(said.find("pass 'saboteur'"), std::string::npos) << said;
  EXPECT_NE(said.find(fault), std::string::npos) << said;
}

TEST(Saboteur, WritesAValueTwice) {
  expect_found(said_after("infer_shapes",
                          [](graph::Graph& graph) { node_named(graph, "mvn").y[0] = node_named(graph, "sum").y[0]; }),
               "which is written already");
}

TEST(Saboteur, NamesWhatDoesNotExist) {
  using Ids = std::vector<int> graph::Node::*;
  const auto said = [](Ids ids, int id) {
    graph::Graph graph = built();
    (node_named(graph, "fc").*ids)[0] = id;
    std::string all;
    for (const std::string& fault : graph::find_faults(graph, {})) all += fault + "\n";
    return all;
  };
  for (const int id : {-1, 1000}) {
    const std::string end = " " + std::to_string(id) + ", which does not exist";
    EXPECT_NE(said(&graph::Node::x, id).find("operand" + end), std::string::npos);
    EXPECT_NE(said(&graph::Node::y, id).find("result" + end), std::string::npos);
    EXPECT_NE(said(&graph::Node::sources, id).find("source" + end), std::string::npos);
  }
}

TEST(Saboteur, ReadsBeforeTheWrite) {
  expect_found(said_after("infer_shapes",
                          [](graph::Graph& graph) {
                            std::swap(graph.nodes[1], graph.nodes[2]);
                            graph::index_readers(graph);
                          }),
               "before it is written");
}

TEST(Saboteur, ForgetsReaders) {
  expect_found(said_after("infer_shapes",
                          [](graph::Graph& graph) { node_named(graph, "mvn").x[0] = node_named(graph, "tanh").y[0]; }),
               "lists other readers than the nodes do");
}

TEST(Saboteur, NamesAnotherProducer) {
  expect_found(
      said_after("infer_shapes", [](graph::Graph& graph) { graph.value(node_named(graph, "mvn").y[0]).producer = 0; }),
      "has another producer than the nodes do");
}

TEST(Saboteur, LosesTheFirstLayer) {
  graph::Graph graph = built();
  node_named(graph, "in").sources.clear();
  std::string all;
  for (const std::string& fault : graph::find_faults(graph, {})) all += fault + "\n";
  EXPECT_NE(all.find("layer 'in' runs in 0 nodes"), std::string::npos) << all;
}

TEST(Saboteur, LosesALayer) {
  expect_found(said_after("share_weights",
                          [](graph::Graph& graph) {
                            node_named(graph, "fc").x = node_named(graph, "mvn").x;
                            std::erase_if(graph.nodes, [](const graph::Node& node) { return node.name == "mvn"; });
                            graph::index_readers(graph);
                          }),
               "layer 'mvn' runs in 0 nodes");
}

TEST(Saboteur, TakesGradientsFromTwoPlaces) {
  expect_found(said_after("insert_splits",
                          [](graph::Graph& graph) {
                            graph::Node& split = node_named(graph, "tanh_");
                            node_named(graph, "sum").x[0] = split.y[0];
                            node_named(graph, "conv2").x[0] = split.y[0];
                            graph::index_readers(graph);
                          }),
               "gets its gradient from 2 places");
}

TEST(Saboteur, StoresALayoutThatTheLayerCannotRead) {
  expect_found(
      said_after("choose_layouts",
                 [](graph::Graph& graph) { graph.value(node_named(graph, "mvn").x[0]).layout = Layout::kBlocked16; }),
      "where it needs plain");
}

TEST(Saboteur, AsksForABackwardThatDoesNotRun) {
  expect_found(
      said_after("mark_backward", [](graph::Graph& graph) { node_named(graph, "tanh").runs_backward = false; }),
      "asked for gradients but runs no backward");
}

graph::Plan planned() {
  Context context(1);
  graph::Graph graph = built();
  graph::run_passes(graph);
  return graph::make_plan(std::move(graph), context);
}

/// The step of the node whose name starts with `name`.
graph::Step& step_of(graph::Plan& plan, std::vector<graph::Step>& steps, const std::string& name) {
  for (graph::Step& step : steps)
    if (plan.graph.node(step.node).name.starts_with(name)) return step;
  throw std::runtime_error("no step " + name);
}

std::string faults_of(const graph::Plan& plan) {
  std::string text;
  for (const std::string& fault : find_faults(plan)) text += fault + "\n";
  return text;
}

TEST(Saboteur, PutsALiveValueWhereAnotherIsWritten) {
  graph::Plan plan = planned();
  EXPECT_EQ(faults_of(plan), "");
  graph::Step &conv2 = step_of(plan, plan.forward, "conv2"), &sum = step_of(plan, plan.forward, "sum");
  conv2.y[0].offset = conv2.x[0].offset;  // over its own operand
  sum.x[1].offset = conv2.y[0].offset;
  EXPECT_NE(faults_of(plan).find("forward of 'conv2': x "), std::string::npos) << faults_of(plan);
}

TEST(Saboteur, PutsAGradientWhereBackwardStillReads) {
  graph::Plan plan = planned();
  graph::Step& fc = step_of(plan, plan.backward, "fc");
  ASSERT_GE(fc.dx[0].offset, 0);
  fc.dx[0].offset = fc.x[0].offset;
  EXPECT_NE(faults_of(plan).find("backward of 'fc': "), std::string::npos) << faults_of(plan);
}

TEST(Saboteur, LetsScratchOverwriteAnOperand) {
  graph::Plan plan = planned();
  graph::Step& mvn = step_of(plan, plan.forward, "mvn");
  plan.needs[size_t(mvn.node)].forward_scratch = 64;
  mvn.scratch = mvn.x[0].offset;
  EXPECT_NE(faults_of(plan).find("forward of 'mvn': x "), std::string::npos) << faults_of(plan);
}

TEST(Saboteur, SavesOverAnOperand) {
  graph::Plan plan = planned();
  graph::Step& loss = step_of(plan, plan.forward, "loss");
  loss.saved.assign(1, loss.x[0].offset);
  plan.needs[size_t(loss.node)].saved.assign(1, 8);
  EXPECT_NE(faults_of(plan).find("forward of 'loss': x 'fc' is not in memory once something is saved"),
            std::string::npos)
      << faults_of(plan);
}

// Reports of passes

TEST(Passes, ReportThatTheyAreSwitchedOff) {
  graph::Graph graph = built();
  const auto optional =
      std::ranges::find_if(graph::all_passes(), [](const graph::Pass& pass) { return pass.optional; });
  ASSERT_NE(optional, graph::all_passes().end());
  graph.options.switch_off = {optional->name};
  const std::vector<graph::PassReport> reports = graph::run_passes(graph);
  ASSERT_EQ(reports.size(), graph::all_passes().size());
  for (const graph::PassReport& report : reports)
    EXPECT_EQ(report.change == "switched off", report.name == optional->name) << report.name;
}

TEST(Passes, ReportFusionsAndBackward) {
  graph::Graph graph = graph::build(std::make_shared<NetFile>(read_net_from_text(R"(
        layer { name: "in" type: "Input" top: "x" top: "t" input_param {
            shape { dim: 2 dim: 3 dim: 8 dim: 8 } shape { dim: 2 dim: 5 } } }
        layer { name: "conv" type: "Convolution" bottom: "x" top: "conv"
            convolution_param { num_output: 16 kernel_size: 3 } }
        layer { name: "relu" type: "ReLU" bottom: "conv" top: "relu" }
        layer { name: "pool" type: "Pooling" bottom: "relu" top: "pool" pooling_param { kernel_size: 2 stride: 2 } }
        layer { name: "fc" type: "InnerProduct" bottom: "pool" top: "fc" inner_product_param { num_output: 5 } }
        layer { name: "loss" type: "EuclideanLoss" bottom: "fc" bottom: "t" top: "loss" })",
                                                                                 "net")),
                                    options_of({}));
  std::map<std::string, std::string> changes;
  for (const graph::PassReport& report : graph::run_passes(graph)) changes[report.name] = report.change;
  EXPECT_NE(changes["mark_backward"].find("nodes with backward 0 -> 5"), std::string::npos) << changes["mark_backward"];
  EXPECT_NE(changes["agree_fusions"].find("move_relu_masks 0 -> 1"), std::string::npos) << changes["agree_fusions"];
}

TEST(Passes, ReportTheirChanges) {
  graph::Graph graph = built();
  const std::vector<graph::PassReport> reports = graph::run_passes(graph);
  ASSERT_EQ(reports.size(), graph::all_passes().size());
  const auto change = [&](const std::string& name) {
    for (const graph::PassReport& report : reports)
      if (report.name == name) return report.change;
    return std::string("no such pass");
  };
  EXPECT_EQ(change("eliminate_dead_nodes"), "none");
  EXPECT_EQ(change("infer_shapes"), "shapes known 0 -> 9; weights 0 -> 6");
  EXPECT_NE(change("insert_splits").find("nodes 8 -> 9"), std::string::npos) << change("insert_splits");
}

}  // namespace
}  // namespace cortado
