#pragma once

// What the tests of solvers share: a folder of their own, and a small net whose every part draws random numbers.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "core/files/file.h"
#include "solvers/solver.h"
#include "solvers/update_rule.h"

namespace cortado {

/// A folder that is gone after the test.
class Folder {
 public:
  Folder() {
    static int made = 0;
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    path_ = testing::TempDir() + "cortado_" + std::to_string(::getpid()) + "_" + name + std::to_string(made++);
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// Random data, random targets, dropout, one layer that does not learn and one with rates of its own; accuracy-like
/// output "mean" and the loss.
inline const char* const kNet = R"(
  name: "tiny"
  layer { name: "data" type: "DummyData" top: "data" top: "target"
          dummy_data_param { shape { dim: 4 dim: 6 } shape { dim: 4 dim: 3 }
                             data_filler { type: "gaussian" } data_filler { type: "gaussian" } } }
  layer { name: "frozen" type: "InnerProduct" bottom: "data" top: "frozen" param { lr_mult: 0 } param { lr_mult: 0 }
          inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
  layer { name: "slope" type: "PReLU" bottom: "frozen" top: "slope" }
  layer { name: "drop" type: "Dropout" bottom: "slope" top: "drop" dropout_param { dropout_ratio: 0.3 } }
  layer { name: "learned" type: "InnerProduct" bottom: "drop" top: "learned"
          param { lr_mult: 1 decay_mult: 1 } param { lr_mult: 2 decay_mult: 0 }
          inner_product_param { num_output: 3 weight_filler { type: "gaussian" std: 0.3 } } }
  layer { name: "loss" type: "EuclideanLoss" bottom: "learned" bottom: "target" top: "loss" }
)";

/// Every pass computes the same gradients: y = w, and its target is -3. The slope of the loss at w = 0 is 3.
inline const char* const kConstantNet = R"(
  layer { name: "data" type: "DummyData" top: "x" top: "t"
          dummy_data_param { shape { dim: 1 dim: 1 } shape { dim: 1 dim: 1 }
                             data_filler { type: "constant" value: 1 } data_filler { type: "constant" value: -3 } } }
  layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y"
          inner_product_param { num_output: 1 bias_term: false weight_filler { type: "constant" value: 0 } } }
  layer { name: "loss" type: "EuclideanLoss" bottom: "y" bottom: "t" top: "loss" }
)";

/// Calls compare(options) for each update rule, alone and with what an update does to gradients before it.
inline void for_each_update(const std::function<void(const std::string& options)>& compare) {
  for (const std::string& rule : all_update_rules())
    for (const char* more : {"", "clip_gradients: 0.5", "clip_gradients: 4 iter_size: 2", "weight_decay: 0.1"}) {
      const std::string options = "type: \"" + rule + "\" base_lr: 0.5 max_iter: 3 " + more + " ";
      SCOPED_TRACE(options);
      compare(options);
    }
}

/// `options`, and those of `defaults` ("name: value") whose name `options` lacks.
inline std::string with_defaults(std::string options, const std::vector<std::string>& defaults) {
  for (const std::string& field : defaults)
    if ((" " + options).find(" " + field.substr(0, field.find(':') + 1)) == std::string::npos) options += " " + field;
  return options;
}

/// A solver of kNet in the file `path`.
inline SolverFile solver_at(const std::string& path, const std::string& options, const std::string& net = kNet) {
  return read_solver_from_text(with_defaults(options, {"base_lr: 0.02", "lr_policy: \"fixed\"", "max_iter: 12",
                                                       "random_seed: 5", "net_param: {" + net + "}"}),
                               path);
}

/// One that writes to `folder`, as "tiny" by default.
inline SolverFile tiny_solver(const Folder& folder, const std::string& options = {}, const std::string& net = kNet) {
  return solver_at(folder / "solver.prototxt", with_defaults(options, {"snapshot_prefix: \"" + folder / "tiny" + "\""}),
                   net);
}

/// Calls a function after each iteration.
struct AfterIteration : TrainObserver {
  std::function<void(const Progress&)> act;
  explicit AfterIteration(std::function<void(const Progress&)> act) : act(std::move(act)) {}
  void on_iteration(const Progress& progress) override { act(progress); }
};

/// Trains until `stop_at` iterations are done (or to the end), perhaps from a snapshot.
inline Outcome train(SolverFile file, const std::string& snapshot = {}, int64_t stop_at = -1, int threads = 1) {
  Context context(threads);
  SolverOptions options;
  options.snapshot = snapshot;
  Solver solver = make_solver(std::move(file), options, context);
  Requests requests{kRequestNothing};
  AfterIteration stopper([&](const Progress& progress) {
    if (progress.iter == stop_at) requests.fetch_or(kRequestStop);
  });
  solver.add_observer(&stopper);
  return solver.run(requests);
}

inline caffe::SolverState read_state(const std::string& path) {
  caffe::SolverState state;
  EXPECT_TRUE(state.ParseFromString(read_file(path))) << path;
  return state;
}

/// Everything in a state but what may differ: the path of the weights, which run wrote it and when.
inline std::string bytes_of(caffe::SolverState state) {
  state.clear_learned_net();
  state.mutable_training()->clear_self_digest();
  state.mutable_training()->clear_run();
  state.mutable_training()->clear_written();
  return state.SerializeAsString();
}

/// The lines that `act` logs, without their prefix.
inline std::vector<std::string> logged(const std::function<void()>& act) {
  testing::internal::CaptureStderr();
  act();
  std::istringstream text(testing::internal::GetCapturedStderr());
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    const size_t end = line.find("] ");
    lines.push_back(end == std::string::npos ? line : line.substr(end + 2));
  }
  return lines;
}

/// The exit code that `act` fails with, and kOk when it does not.
inline ExitCode exit_code_of(const std::function<void()>& act, std::string* message = nullptr) {
  try {
    act();
  } catch (const Error& error) {
    if (message) *message = error.what();
    return error.code();
  }
  return ExitCode::kOk;
}

}  // namespace cortado
