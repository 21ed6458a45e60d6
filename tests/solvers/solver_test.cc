#include "solvers/solver.h"

#include <algorithm>
#include <cmath>
#include <regex>

#include "tests/solvers/training.h"

namespace cortado {
namespace {

/// Whether `lines` contain matches of all `patterns` in this order; other lines may come between.
testing::AssertionResult in_order(const std::vector<std::string>& lines, const std::vector<std::string>& patterns) {
  size_t at = 0;
  for (const std::string& line : lines)
    if (at < patterns.size() && std::regex_match(line, std::regex(patterns[at]))) ++at;
  if (at == patterns.size()) return testing::AssertionSuccess();
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return testing::AssertionFailure() << "no line for: " << patterns[at] << "\n" << all;
}

TEST(Solver, LogsWhatParsersOfCaffeLogsRead) {
  Folder folder;
  const std::string n = R"([-0-9.e+]+)";
  const auto lines = logged([&] {
    train(tiny_solver(folder,
                      "test_iter: 2 test_interval: 6 display: 4 test_compute_loss: true lr_policy: \"multistep\" "
                      "gamma: 0.1 stepvalue: 2"));
  });
  EXPECT_TRUE(in_order(
      lines, {"Solving tiny", "Learning Rate Policy: multistep", "Iteration 0, Testing net \\(#0\\)", "Test loss: " + n,
              "    Test net output #0: loss = " + n + " \\(\\* 1 = " + n + " loss\\)",
              "Iteration 0 \\(0 iter/s, " + n + "s/4 iters\\), loss = " + n,
              "    Train net output #0: loss = " + n + " \\(\\* 1 = " + n + " loss\\)", "Iteration 0, lr = 0\\.02",
              "MultiStep Status: Iteration 2, step = 1",
              "Iteration 4 \\(" + n + " iter/s, " + n + "s/4 iters\\), loss = " + n, "Iteration 4, lr = 0\\.002",
              "Iteration 6, Testing net \\(#0\\)", "Snapshotting to binary proto file .*tiny_iter_12\\.caffemodel",
              "Iteration 12, loss = " + n, "Iteration 12, Testing net \\(#0\\)", "Optimization Done\\."}));
  for (size_t i = 0; i + 1 < lines.size(); ++i)
    if (lines[i].starts_with("Snapshotting to binary")) {
      EXPECT_TRUE(lines[i + 1].starts_with("Snapshotting solver state to binary proto file ")) << lines[i + 1];
    }
}

/// Fused, masked by the pooling, in place, updated within backward: none of it may show in the numbers or in the
/// weights.
TEST(Solver, DebugInfoChangesNoBitAndSeesNoNan) {
  const std::string net = R"(
    name: "debugged"
    layer { name: "data" type: "DummyData" top: "data" top: "target" dummy_data_param {
            shape { dim: 4 dim: 3 dim: 12 dim: 12 } shape { dim: 4 dim: 2 }
                data_filler { type: "gaussian" } data_filler { type: "gaussian" } } }
    layer { name: "c1" type: "Convolution" bottom: "data" top: "c1"
        convolution_param { num_output: 20 kernel_size: 3 weight_filler { type: "xavier" } } }
    layer { name: "r1" type: "ReLU" bottom: "c1" top: "c1" }
    layer { name: "p1" type: "Pooling" bottom: "c1" top: "p1" pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
    layer { name: "c2" type: "Convolution" bottom: "p1" top: "c2"
        convolution_param { num_output: 20 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
    layer { name: "bn" type: "BatchNorm" bottom: "c2" top: "c2" }
    layer { name: "sum" type: "Eltwise" bottom: "c2" bottom: "p1" top: "sum" }
    layer { name: "r2" type: "ReLU" bottom: "sum" top: "sum" }
    layer { name: "fc" type: "InnerProduct" bottom: "sum" top: "fc"
        inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "fc" bottom: "target" top: "loss" })";
  for (const int threads : {1, 2})
    for (const std::string more : {"", "iter_size: 2 ", "clip_gradients: 0.5 "}) {
      SCOPED_TRACE(more + std::to_string(threads) + " threads");
      const std::string options = more + "momentum: 0.9 weight_decay: 0.001 base_lr: 0.0001 display: 2";
      Folder plain, debugged;
      train(tiny_solver(plain, options, net), "", -1, threads);
      const auto lines =
          logged([&] { train(tiny_solver(debugged, options + " debug_info: true", net), "", -1, threads); });
      EXPECT_TRUE(read_file(plain / "tiny_iter_12.caffemodel") == read_file(debugged / "tiny_iter_12.caffemodel"));
      for (const std::string& line : lines) EXPECT_EQ(line.find("nan"), std::string::npos) << line;
      EXPECT_TRUE(in_order(
          lines,
          {"    \\[Forward\\] Layer data, top blob data data: .*", "    \\[Forward\\] Layer c1, top blob c1 data: .*",
           "    \\[Forward\\] Layer r1, top blob c1 data: .*", "    \\[Backward\\] Layer loss, bottom blob fc diff: .*",
           "    \\[Backward\\] Layer p1, bottom blob c1 diff: .*", "    \\[Backward\\] Layer c1, param blob 1 diff: .*",
           "    \\[Backward\\] All net params \\(data, diff\\): L1 norm = .*", "Iteration 0 .*"}));
      const auto is_norm = [](const std::string& line) { return line.find("All net params") != std::string::npos; };
      EXPECT_EQ(std::count_if(lines.begin(), lines.end(), is_norm), more == "iter_size: 2 " ? 12 : 6);
    }
}

TEST(Solver, NeverPrintsMinusNan) {
  std::ostringstream out;
  out << Shown{-std::nan("")} << ' ' << Shown{0.123456789} << ' ' << Shown{1e10} << ' ' << Shown{-INFINITY};
  EXPECT_EQ(out.str(), "nan 0.123457 1e+10 -inf");
}

TEST(Solver, Learns) {
  Folder folder;
  Context context(1);
  const std::string net =
      std::regex_replace(std::string(kNet), std::regex("data_filler \\{ type: \"gaussian\" \\} \\}"),
                         "data_filler { type: \"constant\" value: 1 } }");
  Solver solver = make_solver(tiny_solver(folder, "max_iter: 300 base_lr: 0.1", net), {}, context);
  solver.step(1);
  const double first = solver.loss();
  solver.step(299);
  EXPECT_LT(solver.loss(), 0.5 * first);
}

/// A test during training uses the current weights, and has the same result as a net made from the snapshot.
TEST(Solver, TestsWhatItsSnapshotHolds) {
  Folder folder;
  std::string net = kNet;
  net = std::regex_replace(net, std::regex("data_filler \\{ type: \"gaussian\" \\}"),
                           "data_filler { type: \"constant\" value: 0.7 }");
  const SolverFile file = tiny_solver(folder, "test_iter: 2 test_interval: 5 snapshot: 5 max_iter: 5", net);
  Context context(1);
  Solver solver = make_solver(file, {}, context);
  Requests requests{kRequestNothing};
  solver.run(requests);
  const double inside = solver.testers()[0].scores()[0].value;
  graph::BuildOptions options;
  options.state.set_phase(caffe::TEST);
  options.backward = false;
  Context fresh_context(1, 99);
  auto fresh = make_net(std::make_shared<NetFile>(NetFile{file.solver.net_param(), file.positions.below("net_param")}),
                        options, fresh_context);
  fresh->load_weights(read_weights(folder / "tiny_iter_5.caffemodel"), "snapshot");
  fresh->forward();
  EXPECT_FLOAT_EQ(float(fresh->loss()), float(inside));
  EXPECT_GT(inside, 0);
}

TEST(Solver, AccumulatesOverIterSize) {
  Folder folder;
  const std::string net = std::regex_replace(std::string(kNet), std::regex("data_filler \\{ type: \"gaussian\" \\}"),
                                             "data_filler { type: \"constant\" value: 0.7 }");
  const std::string still = std::regex_replace(net, std::regex("0\\.3 \\} \\}\n  layer \\{ name: \"learned\""),
                                               "0 } }\n  layer { name: \"learned\"");
  std::vector<std::string> weights;
  for (const char* size : {"iter_size: 1", "iter_size: 4"}) {  // the same batch four times is the batch itself
    train(tiny_solver(folder, size, still));
    weights.push_back(read_file(folder / "tiny_iter_12.caffemodel"));
  }
  EXPECT_EQ(weights[0], weights[1]);
}

TEST(Solver, ClipsTheNormOfAllGradients) {
  Folder folder;
  Context context(1);
  Solver solver = make_solver(tiny_solver(folder, "clip_gradients: 0.01 base_lr: 1"), {}, context);
  std::vector<std::vector<float>> before;
  for (const Param& param : solver.net().params()) before.emplace_back(param.w, param.w + param.count);
  solver.step(1);
  double moved = 0;
  for (size_t p = 0; p < before.size(); ++p) {
    const Param& param = solver.net().params()[p];
    for (int64_t i = 0; i < param.count; ++i) moved += std::pow((param.w[i] - before[p][size_t(i)]) / param.lr_mult, 2);
  }
  EXPECT_NEAR(std::sqrt(moved), 0.01, 1e-5);
}

/// snapshot_diff keeps the gradients apart, so the update comes after backward.
TEST(Solver, UpdatesWithinBackwardAsItDoesAfterIt) {
  for (const char* rule : {"momentum: 0.9 weight_decay: 0.1",
                           "type: \"Adam\" momentum: 0.9 lr_policy: \"multistep\" "
                           "gamma: 0.5 stepvalue: 3 stepvalue: 7"}) {
    std::vector<std::string> weights;
    for (const char* order : {" ", " snapshot_diff: true"}) {
      Folder folder;
      Context context(1);
      Solver solver = make_solver(tiny_solver(folder, std::string(rule) + order), {}, context);
      EXPECT_EQ(solver.net().plan().gradient_bytes() == 0, order[1] == 0);
      solver.step(12);
      weights.push_back(solver.net().to_proto().SerializeAsString());
    }
    EXPECT_EQ(weights[0], weights[1]) << rule;
  }
}

TEST(Solver, RecomputingLearnsTheSame) {
  std::string net = kNet;
  net.insert(net.find("  layer { name: \"loss\""), R"(
    layer { name: "norm" type: "BatchNorm" bottom: "learned" top: "norm" }
    layer { name: "last" type: "InnerProduct" bottom: "norm" top: "last"
            inner_product_param { num_output: 3 weight_filler { type: "gaussian" std: 0.3 } } })");
  net.replace(net.find("bottom: \"learned\" bottom: \"target\""), 17, "bottom: \"last\"");
  std::vector<std::string> weights;
  for (const bool recompute : {false, true}) {
    Folder folder;
    Context context(1);
    SolverOptions options;
    options.recompute = recompute;
    Solver solver = make_solver(tiny_solver(folder, "momentum: 0.9", net), options, context);
    const auto& backward = solver.net().plan().backward;
    EXPECT_EQ(std::count_if(backward.begin(), backward.end(),
                            [](const graph::Step& step) { return step.call == graph::Call::kRecompute; }),
              recompute ? 1 : 0);
    solver.step(12);
    weights.push_back(solver.net().to_proto().SerializeAsString());
  }
  EXPECT_EQ(weights[0], weights[1]);
}

TEST(Solver, ALossThatIsNotFiniteLeavesTheWeights) {
  Folder folder;
  Context context(1);
  Solver solver = make_solver(tiny_solver(folder, "base_lr: 1e20"), {}, context);
  std::string before;
  for (int k = 0; k < 50; ++k) {
    before = solver.net().to_proto().SerializeAsString();
    if (exit_code_of([&] { solver.step(1); }, nullptr) == ExitCode::kDiverged) break;
  }
  EXPECT_FALSE(std::isfinite(solver.loss()));
  EXPECT_EQ(solver.net().to_proto().SerializeAsString(), before);
}

TEST(Solver, TheLossAfterTheLastUpdateCounts) {
  for (const std::string display : {"display: 0", "display: 1", "display: 3"}) {
    Folder folder;
    std::string message;
    const ExitCode code =
        exit_code_of([&] { train(tiny_solver(folder, "base_lr: 1e25 max_iter: 1 " + display)); }, &message);
    EXPECT_EQ(code, ExitCode::kDiverged) << display;
    EXPECT_NE(message.find("diverged at iteration 1: the loss is"), std::string::npos) << message;
  }
}

TEST(Solver, StopsWhenTheLossIsNotFinite) {
  Folder folder;
  std::string message;
  const ExitCode code =
      exit_code_of([&] { train(tiny_solver(folder, "base_lr: 1e20 snapshot: 1 max_iter: 50")); }, &message);
  EXPECT_EQ(code, ExitCode::kDiverged);
  EXPECT_NE(message.find("iteration"), std::string::npos) << message;
  const std::optional<Snapshot> good = find_snapshot("auto", folder / "tiny");
  ASSERT_TRUE(good);
  for (const LayerWeights& layer : good->weights)
    for (const BlobFile& blob : layer.blobs)
      for (const float value : blob.data) ASSERT_TRUE(std::isfinite(value));
}

TEST(Solver, SnapshotsOnRequestAndGoesOn) {
  Folder folder;
  Context context(1);
  Solver solver = make_solver(tiny_solver(folder), {}, context);
  Requests requests{kRequestNothing};
  AfterIteration ask([&](const Progress& progress) {
    if (progress.iter == 3) requests.fetch_or(kRequestSnapshot);
  });
  solver.add_observer(&ask);
  EXPECT_EQ(solver.run(requests), Outcome::kFinished);
  EXPECT_TRUE(file_exists(folder / "tiny_iter_3.solverstate"));
  EXPECT_TRUE(file_exists(folder / "tiny_iter_12.solverstate"));
}

TEST(Solver, TakesTheNetBesideItsFile) {
  Folder folder;
  write_file_atomically(folder / "net.prototxt", kNet);
  const SolverFile file = read_solver_from_text("net: \"net.prototxt\" base_lr: 0.1 lr_policy: \"fixed\" max_iter: 2",
                                                folder / "solver.prototxt");
  EXPECT_EQ(train(file), Outcome::kFinished);
  EXPECT_TRUE(file_exists(folder / "solver_iter_2.caffemodel")) << "the default prefix is the solver's path";
  const SolverFile lost = read_solver_from_text("net: \"lost.prototxt\" base_lr: 0.1 lr_policy: \"fixed\" max_iter: 2",
                                                folder / "solver.prototxt");
  std::string message;
  EXPECT_EQ(exit_code_of([&] { train(lost); }, &message), ExitCode::kIo);
  EXPECT_NE(message.find("solver.prototxt:1:6"), std::string::npos) << message;
}

}  // namespace
}  // namespace cortado
