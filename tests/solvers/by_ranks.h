#pragma once

// What the tests of trainings by several ranks share.

#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "tests/harness/thread_ranks.h"
#include "tests/solvers/training.h"

namespace cortado {

/// Training and test over a dataset of 8x8 images (make_dataset()); `batch`: of the training net, `norm`: layers after
/// the convolution.
inline std::string data_net(const std::string& dataset, int batch, const std::string& norm) {
  const std::string source = "source: \"" + dataset + "\" backend: LMDB ";
  return R"(layer { name: "train" type: "Data" top: "data" top: "label" include { phase: TRAIN }
                    transform_param { mirror: true crop_size: 6 scale: 0.01 }
                    data_param { shuffle: true batch_size: )" +
         std::to_string(batch) + " " + source + R"(} }
            layer { name: "test" type: "Data" top: "data" top: "label" include { phase: TEST }
                    transform_param { crop_size: 6 scale: 0.01 } data_param { batch_size: 4 )" +
         source + R"(} }
            layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
                    convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: "xavier" } } })" +
         norm + R"(
            layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
            layer { name: "score" type: "InnerProduct" bottom: "conv" top: "score"
                    inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
            layer { name: "accuracy" type: "Accuracy" bottom: "score" bottom: "label" top: "accuracy"
                    include { phase: TEST } }
            layer { name: "loss" type: "SoftmaxWithLoss" bottom: "score" bottom: "label" top: "loss" })";
}

/// Of one rank: what it may be asked, and who watches it besides.
using ToRank = std::function<void(int rank, Requests& requests, Solver& solver)>;

/// Trains by several ranks, which are threads; `prepare` sees each solver before it runs. What each rank threw, or
/// null.
inline std::vector<std::exception_ptr> train_by_ranks(int ranks, const std::function<SolverFile()>& file,
                                                      const std::string& snapshot, const ToRank& prepare) {
  return ThreadRanks(ranks).run([&](ranks::Engine& engine) {
    Context context(1);
    SolverOptions options;
    options.snapshot = snapshot;
    options.engine = &engine;
    Solver solver = make_solver(file(), options, context);
    Requests requests{kRequestNothing};
    prepare(engine.rank(), requests, solver);
    solver.run(requests);
  });
}

/// The same; only the last rank is asked to stop, during an iteration. All ranks stop after the next one.
inline std::vector<std::exception_ptr> train_by(int ranks, const std::function<SolverFile()>& file,
                                                const std::string& snapshot = {}, int64_t stop_at = -1) {
  std::vector<std::unique_ptr<AfterIteration>> stoppers(static_cast<size_t>(ranks));
  return train_by_ranks(ranks, file, snapshot, [&](int rank, Requests& requests, Solver& solver) {
    auto& stopper = stoppers[size_t(rank)];
    stopper = std::make_unique<AfterIteration>([&requests, rank, ranks, stop_at](const Progress& progress) {
      if (progress.iter == stop_at - 1 && rank + 1 == ranks) requests.fetch_or(kRequestStop);
    });
    solver.add_observer(stopper.get());
  });
}

/// The simulated device, or the GPU that CORTADO_TEST_GPU names.
inline Device device_of_tests() {
  const char* gpu = std::getenv("CORTADO_TEST_GPU");
  return gpu ? Device{DeviceKind::kCuda, std::atoi(gpu)} : Device{DeviceKind::kSimulated, 0};
}

inline void expect_no_errors(const std::vector<std::exception_ptr>& errors) {
  for (const std::exception_ptr& error : errors) {
    if (!error) continue;
    EXPECT_NO_THROW(std::rethrow_exception(error));
  }
}

struct RankRun {
  Precision precision = Precision::kFp32;
  std::string snapshot = {};
  int64_t stop_at = -1;  ///< the last rank alone is asked to stop, from this iteration on
  bool captures = true;
  Device device = {};
};

inline void train_rank(ranks::Engine* engine, SolverFile file, const RankRun& run) {
  Context context({.device = run.device, .precision = run.precision, .captures = run.captures});
  SolverOptions options;
  options.snapshot = run.snapshot;
  options.engine = engine;
  Solver solver = make_solver(std::move(file), options, context);
  Requests requests{kRequestNothing};
  const bool is_last = !engine || engine->rank() + 1 == engine->ranks();
  AfterIteration stopper([&](const Progress& progress) {
    if (run.stop_at >= 0 && progress.iter >= run.stop_at && is_last) requests.fetch_or(kRequestStop);
  });
  solver.add_observer(&stopper);
  solver.run(requests);
}

/// Trains by several ranks, which are threads, or with 0 ranks without an engine.
inline void train_as(int ranks, const std::function<SolverFile()>& file, const RankRun& run) {
  if (ranks == 0) return train_rank(nullptr, file(), run);
  expect_no_errors(ThreadRanks(ranks).run([&](ranks::Engine& engine) { train_rank(&engine, file(), run); }));
}

/// Trains to iteration 12 by 4 ranks, 3, a process without an engine and 2 ranks, one after the other. Devices stop up
/// to three iterations after the request.
inline void train_in_turn(const Folder& folder, const std::function<SolverFile()>& file, RankRun run) {
  int64_t stop_at = 1;
  for (const int ranks : {4, 3, 0, 2}) {
    EXPECT_FALSE(file_exists(folder / "tiny_iter_12.solverstate")) << "nothing is left for " << ranks << " ranks";
    run.stop_at = ranks == 2 ? -1 : stop_at;
    train_as(ranks, file, run);
    run.snapshot = "auto";
    stop_at += ranks;
  }
}

}  // namespace cortado
