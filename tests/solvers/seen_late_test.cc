// A device gets an iteration before the host has read the results of the previous one. The tests check that it does,
// and that the results are unaffected: the same run, forced to read every iteration at once, has the same lines,
// numbers, files and diagnostics.

#include <cmath>
#include <cstdlib>
#include <regex>

#include "core/device/sync_counter.h"
#include "tests/solvers/training.h"

namespace cortado {
namespace {

std::vector<Device> devices() {
  std::vector<Device> list = {{DeviceKind::kSimulated, 0}};
  if (const char* gpu = std::getenv("CORTADO_TEST_GPU")) list.push_back({DeviceKind::kCuda, std::atoi(gpu)});
  return list;
}

/// A request without an action: the loop takes it, and therefore reads the results of all enqueued iterations.
constexpr int kLook = 1 << 8;

/// The arguments of an observer after an iteration, and the state of the host then.
struct Report {
  int64_t iter;
  double loss, smoothed;
  float rate;
  uint64_t pass;  ///< the latest one that was enqueued on the device
  int64_t full_waits;

  bool tells_as(const Report& other) const {
    return iter == other.iter && loss == other.loss && smoothed == other.smoothed && rate == other.rate;
  }
};

struct Trained {
  std::vector<Report> reports;
  std::vector<std::string> lines;  ///< without speeds and folders
  ExitCode code = ExitCode::kOk;
  std::string message;
  std::vector<float> weights;  ///< when it ended
};

std::vector<float> weights_of(Net& net) {
  std::vector<float> all;
  const caffe::NetParameter file = net.to_proto();
  for (const caffe::LayerParameter& layer : file.layer())
    for (const caffe::BlobProto& blob : layer.blobs()) all.insert(all.end(), blob.data().begin(), blob.data().end());
  return all;
}

/// `looks`: at each iteration at once.
Trained run_on(const Device& device, Precision precision, bool captures, bool looks, const Folder& folder,
               const std::string& options, const std::string& net = kNet) {
  Context context({.device = device, .precision = precision, .captures = captures});
  Trained run;
  const auto lines = logged([&] {
    Solver solver = make_solver(tiny_solver(folder, options, net), {}, context);
    Requests requests{looks ? kLook : kRequestNothing};
    AfterIteration after([&](const Progress& progress) {
      run.reports.push_back({progress.iter, progress.loss, progress.smoothed_loss, progress.rate, context.pass,
                             context.handle<SyncCounter>().full});
      if (looks) requests.fetch_or(kLook);
    });
    solver.add_observer(&after);
    run.code = exit_code_of([&] { solver.run(requests); }, &run.message);
    run.weights = weights_of(solver.net());
  });
  const std::string own = folder / "";
  for (std::string line : lines) {
    for (size_t at; (at = line.find(own)) != std::string::npos;) line.erase(at, own.size());
    run.lines.push_back(std::regex_replace(line, std::regex(R"(\([-0-9.e+]+ iter/s, [-0-9.e+]+s/)"), "(speed/"));
  }
  return run;
}

/// That a run which is seen late is, by all that can be seen, the run that looks at once; the late one.
Trained expect_the_same(const Device& device, Precision precision, bool captures, const std::string& options,
                        const std::string& file, const std::string& net = kNet) {
  const Folder at_once, late;
  const Trained expected = run_on(device, precision, captures, /*looks=*/true, at_once, options, net);
  const Trained got = run_on(device, precision, captures, /*looks=*/false, late, options, net);
  EXPECT_EQ(got.lines, expected.lines);
  EXPECT_EQ(got.code, expected.code);
  EXPECT_EQ(got.message, expected.message);
  EXPECT_TRUE(got.weights == expected.weights);
  EXPECT_EQ(got.reports.size(), expected.reports.size());
  for (size_t i = 0; i < got.reports.size() && i < expected.reports.size(); ++i)
    EXPECT_TRUE(got.reports[i].tells_as(expected.reports[i])) << "after iteration " << i;
  EXPECT_EQ(file_exists(late / file + ".caffemodel"), file_exists(at_once / file + ".caffemodel"));
  if (!file_exists(late / file + ".caffemodel")) return got;
  EXPECT_TRUE(read_file(late / file + ".caffemodel") == read_file(at_once / file + ".caffemodel"));
  EXPECT_TRUE(bytes_of(read_state(late / file + ".solverstate")) ==
              bytes_of(read_state(at_once / file + ".solverstate")));
  return got;
}

TEST(DeviceTraining, IsSeenLateAndNothingShowsIt) {
  const std::string cases[] = {
      "momentum: 0.9 display: 4 average_loss: 3 lr_policy: \"multistep\" gamma: 0.5 stepvalue: 3 stepvalue: 7",
      "momentum: 0.9 iter_size: 2 test_iter: 2 test_interval: 5 snapshot: 6 average_loss: 2",
      "momentum: 0.9 ema_decay: 0.9 display: 5 debug_info: true",
      "momentum: 0.9 lr_policy: \"plateau\" gamma: 0.5 plateau_winsize: 1 display: 3"};
  for (const Device& device : devices())
    for (const std::string& options : cases)
      for (const Precision precision : {Precision::kFp32, Precision::kFp16})
        for (const bool captures : {false, true}) {
          SCOPED_TRACE(device.str() + " " + name_of(precision) + (captures ? " " : " eager ") + options);
          expect_the_same(device, precision, captures, options, "tiny_iter_12");
        }
}

TEST(DeviceTraining, TheHostWaitsForAnIterationThatIsLookedAt) {
  struct Case {
    const char* options;
    std::vector<int64_t> at_once;  ///< iterations, counted from 1, that were the latest when they were seen
  };
  const Case cases[] = {{"", {12}},
                        {"display: 5", {1, 6, 11, 12}},
                        {"snapshot: 4", {4, 8, 12}},
                        {"test_iter: 1 test_interval: 6", {6, 12}},
                        {"lr_policy: \"plateau\" gamma: 0.5 plateau_winsize: 4 max_iter: 3", {1, 2, 3}}};
  for (const Device& device : devices())
    for (const Case& c : cases) {
      SCOPED_TRACE(device.str() + " " + c.options);
      const Folder folder;
      const Trained trained = run_on(device, Precision::kFp32, true, /*looks=*/false, folder, c.options);
      std::vector<int64_t> at_once;
      for (const Report& report : trained.reports)
        if (report.pass + 1 == uint64_t(report.iter))
          at_once.push_back(report.iter);
        else
          EXPECT_EQ(report.pass, uint64_t(report.iter)) << "one more was enqueued";
      EXPECT_EQ(at_once, c.at_once);
    }
}

TEST(DeviceTraining, TheDeviceIsNeverIdleWhereNothingIsLookedAt) {
  for (const Device& device : devices())
    for (const std::string options : {"", "iter_size: 2", "clip_gradients: 1 ema_decay: 0.9"}) {
      SCOPED_TRACE(device.str() + " " + options);
      const Folder folder;
      const Trained trained = run_on(device, Precision::kFp16, true, /*looks=*/false, folder, options);
      ASSERT_EQ(trained.reports.size(), 12u);
      EXPECT_EQ(trained.reports.back().full_waits, trained.reports.front().full_waits);
    }
}

/// The iteration that the message names.
int64_t diverged_at(const std::string& message) {
  std::smatch found;
  return std::regex_search(message, found, std::regex("diverged at iteration ([0-9]+)")) ? std::stoll(found[1]) : -1;
}

/// kNet with targets so large that the loss is more than a float holds for some batches, and not for the next ones.
std::string with_large_targets() {
  std::string net = kNet;
  const std::string targets = "data_filler { type: \"gaussian\" } }";
  return net.replace(net.find(targets), targets.size(), "data_filler { type: \"gaussian\" std: 7.5e18 } }");
}

TEST(DeviceTraining, AfterADivergenceNothingIsUpdatedThatWasToldSince) {
  const std::string rate = "base_lr: 1e-20 max_iter: 60 ";
  const std::string cases[] = {rate, rate + "iter_size: 2", rate + "average_loss: 3 ema_decay: 0.9 type: \"Adam\"",
                               rate + "momentum: 0.9 snapshot: 4"};
  for (const Device& device : devices())
    for (const std::string& options : cases)
      for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
        SCOPED_TRACE(device.str() + " " + name_of(precision) + " " + options);
        const Trained trained = expect_the_same(device, precision, true, options, "tiny_iter_4", with_large_targets());
        ASSERT_EQ(trained.code, ExitCode::kDiverged) << "the training did not diverge";
        const int64_t bad = diverged_at(trained.message);
        ASSERT_GT(bad, 0) << trained.message;
        EXPECT_NE(bad % 4, 3) << "one more was enqueued, or the case does not cover it";
        EXPECT_EQ(trained.reports.size(), size_t(bad));
        const Folder shorter;
        const std::string until = std::regex_replace(options, std::regex("max_iter: 60"),
                                                     "snapshot_after_train: false max_iter: " + std::to_string(bad));
        const Trained before = run_on(device, precision, true, false, shorter, until, with_large_targets());
        EXPECT_TRUE(before.code == ExitCode::kOk || before.code == ExitCode::kDiverged) << before.message;
        EXPECT_TRUE(before.weights == trained.weights) << "the weights before iteration " << bad;
      }
}

TEST(DeviceTraining, WhatIsNotFiniteIsFoundThoughLaterValuesAre) {
  for (const Device& device : devices()) {
    const Folder folder;
    const Trained trained =
        run_on(device, Precision::kFp32, true, false, folder, "base_lr: 1e-20 max_iter: 60", with_large_targets());
    EXPECT_NE(trained.message.find("the loss is inf; first in layer 'loss' (EuclideanLoss): top 'loss'"),
              std::string::npos)
        << trained.message;
  }
}

TEST(DeviceTraining, ASkippedUpdateIsNoEndWhereTheLossIsScaled) {
  std::string net = kNet;
  net.replace(net.find("top: \"loss\""), 11, "top: \"loss\" loss_weight: 1e4");
  for (const Device& device : devices()) {
    const Trained trained =
        expect_the_same(device, Precision::kFp16, true, "max_iter: 30 base_lr: 1e-6", "tiny_iter_30", net);
    EXPECT_EQ(trained.code, ExitCode::kOk) << trained.message;
    EXPECT_EQ(trained.reports.size(), 30u);
  }
}

}  // namespace
}  // namespace cortado
