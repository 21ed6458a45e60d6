// A run that is stopped and resumed writes the very bytes that an uninterrupted one does.

#include "tests/solvers/carrying_layers.h"
#include "tests/solvers/training.h"

namespace cortado {
namespace {

struct Rule {
  const char* type;
  const char* options;
};

constexpr Rule kRules[] = {{"SGD", "momentum: 0.9 weight_decay: 0.01"},
                           {"Nesterov", "momentum: 0.9 regularization_type: \"L1\" weight_decay: 0.01"},
                           {"AdaGrad", "delta: 0.001"},
                           {"RMSProp", "rms_decay: 0.9 delta: 0.001 clip_gradients: 0.5"},
                           {"AdaDelta", "momentum: 0.9 delta: 0.001"},
                           {"Adam", "momentum: 0.9 delta: 0.001"},
                           {"AdamW", "momentum: 0.9 weight_decay: 0.1"},
                           {"LAMB", "momentum: 0.9 weight_decay: 0.1"},
                           {"LARS", "momentum: 0.9 larc_eta: 0.5 clip_gradients: 0.5"},
                           {"Lion", "momentum: 0.9 momentum2: 0.99"},
                           {"SAG", "momentum: 0.9 momentum_policy: \"poly\""},
                           {"SGD", "momentum: 0.9 larc: true larc_eta: 0.5 larc_turbo: true"}};

std::string options_of(const Rule& rule) {
  return std::string("type: \"") + rule.type + "\" " + rule.options +
         " iter_size: 2 average_loss: 4 lr_policy: \"multistep\" gamma: 0.5 stepvalue: 3 stepvalue: 4 stepvalue: 8 "
         "test_iter: 3 test_interval: 3 display: 2 ";
}

TEST(Resume, IsExactForEveryRuleAndMoment) {
  for (const Rule& rule : kRules) {
    Folder whole_folder;
    EXPECT_EQ(train(tiny_solver(whole_folder, options_of(rule))), Outcome::kFinished);
    const std::string weights = read_file(whole_folder / "tiny_iter_12.caffemodel");
    const std::string state = bytes_of(read_state(whole_folder / "tiny_iter_12.solverstate"));
    for (const int stop_at : {1, 2, 3, 5, 6, 11}) {
      SCOPED_TRACE(std::string(rule.type) + " stopped at " + std::to_string(stop_at));
      Folder folder;
      EXPECT_EQ(train(tiny_solver(folder, options_of(rule)), "", stop_at), Outcome::kStopped);
      EXPECT_FALSE(file_exists(folder / "tiny_iter_12.caffemodel"));
      EXPECT_EQ(train(tiny_solver(folder, options_of(rule)), "auto"), Outcome::kFinished);
      EXPECT_TRUE(read_file(folder / "tiny_iter_12.caffemodel") == weights);
      EXPECT_TRUE(bytes_of(read_state(folder / "tiny_iter_12.solverstate")) == state);
    }
  }
}

/// Each stops within a warm-up, before and after a drop, between restarts.
TEST(Resume, IsExactForEverySchedule) {
  const char* schedules[] = {
      "lr_policy: \"cosine\" warmup_iter: 3 warmup_start_lr: 0.001 min_lr: 0.0001",
      "lr_policy: \"cosine\" cosine_cycle: 2 cosine_cycle_mult: 2",
      "lr_policy: \"onecycle\" momentum_policy: \"opt\"",
      "lr_policy: \"plateau\" gamma: 0.5 plateau_winsize: 2 plateau_winsize: 3 average_loss: 3",
      "lr_policy: \"plateau\" gamma: 0.5 plateau_winsize: 3 plateau_winsize: 2 plateau_metric: \"loss\" test_iter: 2 "
      "test_interval: 2",
      "lr_policy: \"multifixed\" stagelr: 0.01 stageiter: 4 stagelr: 0.002 stageiter: 12",
      "lr_policy: \"poly\" power: 2 rampup_interval: 4 weight_decay: 0.01 weight_decay_policy: \"poly\"",
      "ema_decay: 0.9 test_iter: 2 test_interval: 3",
      "early_stop { patience: 9 min_delta: 0.01 } test_iter: 2 test_interval: 2 ema_decay: 0.5 ema_warmup: false"};
  for (const char* schedule : schedules) {
    const std::string options = std::string(schedule) + " momentum: 0.9 ";
    Folder whole_folder;
    EXPECT_EQ(train(tiny_solver(whole_folder, options)), Outcome::kFinished);
    const caffe::SolverState whole = read_state(whole_folder / "tiny_iter_12.solverstate");
    for (const int stop_at : {1, 2, 4, 5, 7, 10}) {
      SCOPED_TRACE(options + " stopped at " + std::to_string(stop_at));
      Folder folder;
      EXPECT_EQ(train(tiny_solver(folder, options), "", stop_at), Outcome::kStopped);
      EXPECT_EQ(train(tiny_solver(folder, options), "auto"), Outcome::kFinished);
      EXPECT_TRUE(read_file(folder / "tiny_iter_12.caffemodel") == read_file(whole_folder / "tiny_iter_12.caffemodel"));
      EXPECT_TRUE(bytes_of(read_state(folder / "tiny_iter_12.solverstate")) == bytes_of(whole));
    }
  }
}

/// Asks for `request` before batch `batch` of the test at iteration `iter`.
struct DuringTest : TrainObserver {
  Requests& requests;
  int request, iter, batch;
  DuringTest(Requests& requests, int request, int iter, int batch)
      : requests(requests), request(request), iter(iter), batch(batch) {}
  void on_test_batch(const Progress& progress, int, int done, int) override {
    if (progress.iter == iter && done == batch) requests.fetch_or(request);
  }
};

TEST(Resume, IsExactFromTheMiddleOfATest) {
  // With an average of the weights, the weights are elsewhere during a test.
  const std::string plain = options_of(kRules[0]), averaged = plain + "ema_decay: 0.8 early_stop { patience: 99 } ";
  for (const auto& [options, request] : {std::pair{plain, kRequestStop}, std::pair{plain, kRequestSnapshot},
                                         std::pair{averaged, kRequestStop}, std::pair{averaged, kRequestSnapshot}}) {
    Folder folder;
    Context context(1);
    Requests requests{kRequestNothing};
    {
      Solver solver = make_solver(tiny_solver(folder, options), {}, context);
      DuringTest observer(requests, request, 6, 1);
      solver.add_observer(&observer);
      EXPECT_EQ(solver.run(requests), request == kRequestStop ? Outcome::kStopped : Outcome::kFinished);
    }
    Folder whole_folder;
    train(tiny_solver(whole_folder, options));
    const std::string state = bytes_of(read_state(whole_folder / "tiny_iter_12.solverstate"));
    std::filesystem::remove(folder / "tiny_iter_12.solverstate");
    EXPECT_EQ(read_state(folder / "tiny_iter_6.solverstate").iter(), 6);
    train(tiny_solver(folder, options), "auto");
    EXPECT_TRUE(bytes_of(read_state(folder / "tiny_iter_12.solverstate")) == state);
  }
}

/// Layers whose state goes on from batch to batch, in the training net and in the test net.
TEST(Resume, IsExactWithWhatLayersCarryOverBatches) {
  for (const CarryingLayer& layer : kCarryingLayers) {
    SCOPED_TRACE(layer.type);
    const std::string net = net_of(layer);
    const std::string options = "momentum: 0.9 test_iter: 2 test_interval: 3 ";
    Folder whole, folder;
    train(tiny_solver(whole, options, net));
    train(tiny_solver(folder, options, net), "", 5);
    const caffe::TrainingState state = read_state(folder / "tiny_iter_5.solverstate").training();
    ASSERT_EQ(state.layer_size(), 2);
    EXPECT_EQ(state.layer(0).layer(), "memory");
    train(tiny_solver(folder, options, net), "auto");
    EXPECT_TRUE(read_file(folder / "tiny_iter_12.caffemodel") == read_file(whole / "tiny_iter_12.caffemodel"));
    EXPECT_TRUE(bytes_of(read_state(folder / "tiny_iter_12.solverstate")) ==
                bytes_of(read_state(whole / "tiny_iter_12.solverstate")));
  }
}

/// A net whose batches have other numbers of steps, chosen by the signs of random values.
std::string net_of_some_steps(const CarryingLayer& layer) {
  std::string net = net_of(layer);
  const std::string data =
      "layer { name: 'chosen' type: 'DummyData' top: 'noise' dummy_data_param { shape { dim: 4 } "
      "data_filler { type: 'gaussian' } } } layer { name: 'step' type: 'Threshold' bottom: "
      "'noise' top: 'keep' } layer { name: 'filter' type: 'Filter' bottom: 'x' bottom: 'cont' "
      "bottom: 'target' bottom: 'keep' top: 'some_x' top: 'some_cont' top: 'some_target' } ";
  net.insert(net.find("layer { name: 'memory'"), data);
  const size_t memory = net.find("layer { name: 'memory'");
  for (const char* name : {"'x'", "'cont'", "'target'"})
    for (size_t at; (at = net.find(std::string("bottom: ") + name, memory)) != net.npos;)
      net.replace(at, std::string("bottom: '").size(), "bottom: 'some_");
  return net;
}

TEST(Resume, IsExactWithWhatLayersCarryOverBatchesOfOtherSteps) {
  for (const CarryingLayer& layer : kCarryingLayers) {
    SCOPED_TRACE(layer.type);
    Folder whole, folder;
    const std::string net = net_of_some_steps(layer);
    train(tiny_solver(whole, "momentum: 0.9 ", net));
    train(tiny_solver(folder, "momentum: 0.9 ", net), "", 5);
    EXPECT_EQ(read_state(folder / "tiny_iter_5.solverstate").training().layer_size(), 1);
    train(tiny_solver(folder, "momentum: 0.9 ", net), "auto");
    EXPECT_TRUE(read_file(folder / "tiny_iter_12.caffemodel") == read_file(whole / "tiny_iter_12.caffemodel"));
    EXPECT_TRUE(bytes_of(read_state(folder / "tiny_iter_12.solverstate")) ==
                bytes_of(read_state(whole / "tiny_iter_12.solverstate")));
  }
}

TEST(Resume, GoesOnPastTheOldEnd) {
  Folder folder, whole_folder;
  train(tiny_solver(folder));
  train(tiny_solver(folder, "max_iter: 20"), folder / "tiny_iter_12.solverstate");
  train(tiny_solver(whole_folder, "max_iter: 20"));
  EXPECT_EQ(read_file(folder / "tiny_iter_20.caffemodel"), read_file(whole_folder / "tiny_iter_20.caffemodel"));
}

TEST(Resume, TakesTheSeedOfTheSnapshot) {
  Folder folder, whole_folder;
  train(tiny_solver(folder, "random_seed: -1"), "", 5);
  train(tiny_solver(folder, "random_seed: -1"), "auto");
  const uint64_t seed = read_state(folder / "tiny_iter_12.solverstate").training().seed();
  train(tiny_solver(whole_folder, "random_seed: " + std::to_string(seed)));
  EXPECT_EQ(read_file(folder / "tiny_iter_12.caffemodel"), read_file(whole_folder / "tiny_iter_12.caffemodel"));
}

TEST(Resume, AutoStartsAfreshWhereThereIsNothing) {
  Folder folder;
  EXPECT_EQ(train(tiny_solver(folder), "auto"), Outcome::kFinished);
}

/// Caffe's own states know neither where the data was nor the random numbers, but they do bring weights and history.
TEST(Resume, TakesCaffesStates) {
  Folder folder;
  train(tiny_solver(folder, "type: \"Adam\""), "", 5);
  caffe::SolverState state = read_state(folder / "tiny_iter_5.solverstate");
  state.clear_training();
  state.set_learned_net("/elsewhere/tiny_iter_5.caffemodel");
  write_file_atomically(folder / "caffe.solverstate", state.SerializeAsString());
  Context context(1);
  SolverOptions options;
  options.snapshot = folder / "caffe.solverstate";
  Solver solver = make_solver(tiny_solver(folder, "type: \"Adam\""), options, context);
  EXPECT_EQ(solver.iter(), 5);
  solver.snapshot();
  const caffe::SolverState again = read_state(folder / "tiny_iter_5.solverstate");
  ASSERT_EQ(again.history_size(), state.history_size());
  for (int i = 0; i < state.history_size(); ++i)
    EXPECT_EQ(again.history(i).SerializeAsString(), state.history(i).SerializeAsString());
}

}  // namespace
}  // namespace cortado
