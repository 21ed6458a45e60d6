// Training on a device: the same weights as on the CPU, exact resumes, and what happens where numbers run out of range.
// On the simulated device, and on a GPU where CORTADO_TEST_GPU names one.

#include "solvers/device_training.h"

#include <cmath>
#include <cstdlib>

#include "proto/weights/weights_file.h"
#include "tests/solvers/carrying_layers.h"
#include "tests/solvers/training.h"

namespace cortado {
namespace {

std::vector<Device> devices() {
  std::vector<Device> list = {{DeviceKind::kSimulated, 0}};
  if (const char* gpu = std::getenv("CORTADO_TEST_GPU")) list.push_back({DeviceKind::kCuda, std::atoi(gpu)});
  return list;
}

/// Trains on `device` to the end, or until `stop_at` iterations are done.
Outcome train_on(const Device& device, Precision precision, SolverFile file, const std::string& snapshot = {},
                 int64_t stop_at = -1, bool captures = true) {
  Context context({.device = device, .precision = precision, .captures = captures});
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

std::vector<float> weights_in(const std::string& path) {
  std::vector<float> all;
  for (const LayerWeights& layer : read_weights(path))
    for (const BlobFile& blob : layer.blobs) all.insert(all.end(), blob.data.begin(), blob.data.end());
  return all;
}

/// |a - b| / |b|, as vectors.
double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double apart = 0, size = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    apart += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return std::sqrt(apart / size);
}

constexpr const char* kRules[] = {
    "type: \"SGD\" momentum: 0.9 weight_decay: 0.01",
    "type: \"SGD\" momentum: 0.9 clip_gradients: 0.3 iter_size: 3",
    "type: \"Nesterov\" momentum: 0.9 regularization_type: \"L1\" weight_decay: 0.01",
    "type: \"AdaGrad\" delta: 0.001",
    "type: \"RMSProp\" rms_decay: 0.9 delta: 0.001",
    "type: \"AdaDelta\" momentum: 0.9 delta: 0.001",
    "type: \"Adam\" momentum: 0.9 delta: 0.001 iter_size: 2",
    "type: \"AdamW\" momentum: 0.9 delta: 0.001 weight_decay: 0.1",
    "type: \"LAMB\" momentum: 0.9 delta: 0.001 weight_decay: 0.1 iter_size: 2",
    "type: \"LARS\" momentum: 0.9 larc_eta: 0.5 weight_decay: 0.01 clip_gradients: 0.3",
    "type: \"SAG\" momentum: 0.9 momentum_policy: \"poly\" weight_decay: 0.01",
    "type: \"SGD\" momentum: 0.9 larc: true larc_eta: 0.5 larc_turbo: true",
    "type: \"SGD\" momentum: 0.9 larc: true larc_eta: 0.5 larc_policy: \"clip\" base_lr: 0.2",
    "type: \"Nesterov\" momentum: 0.9 local_lr_auto: true local_gw_ratio: 0.5 weight_decay: 0.01 "
    "weight_decay_policy: \"poly\" max_weight_decay: 0.1"};

TEST(DeviceTraining, LearnsWhatTheCpuLearns) {
  for (const Device& device : devices())
    for (const char* rule : kRules) {
      SCOPED_TRACE(device.str() + " " + rule);
      Folder on_cpu, on_device;
      train(tiny_solver(on_cpu, rule));
      const std::vector<float> expected = weights_in(on_cpu / "tiny_iter_12.caffemodel");
      const struct {
        Precision precision;
        double allowed;
      } cases[] = {{Precision::kFp32, 1e-5}, {Precision::kFp16, 5e-3}, {Precision::kBf16, 4e-2}};
      for (const auto& [precision, allowed] : cases) {
        train_on(device, precision, tiny_solver(on_device, rule));
        EXPECT_LT(distance(weights_in(on_device / "tiny_iter_12.caffemodel"), expected), allowed) << name_of(precision);
      }
    }
}

TEST(DeviceTraining, ResumesExactly) {
  for (const Device& device : devices())
    for (const Precision precision : {Precision::kFp32, Precision::kFp16}) {
      SCOPED_TRACE(device.str() + " " + name_of(precision));
      Folder whole, halves;
      const std::string options =
          "type: \"Adam\" momentum: 0.9 iter_size: 2 test_iter: 2 test_interval: 3 average_loss: 4";
      EXPECT_EQ(train_on(device, precision, tiny_solver(whole, options)), Outcome::kFinished);
      EXPECT_EQ(train_on(device, precision, tiny_solver(halves, options), "", 5), Outcome::kStopped);
      EXPECT_EQ(train_on(device, precision, tiny_solver(halves, options), "auto"), Outcome::kFinished);
      EXPECT_TRUE(read_file(halves / "tiny_iter_12.caffemodel") == read_file(whole / "tiny_iter_12.caffemodel"));
      EXPECT_TRUE(bytes_of(read_state(halves / "tiny_iter_12.solverstate")) ==
                  bytes_of(read_state(whole / "tiny_iter_12.solverstate")));
    }
}

TEST(DeviceTraining, RecordedIterationsLearnWhatEagerOnesLearn) {
  const std::string cases[] = {"momentum: 0.9 lr_policy: \"exp\" gamma: 0.8",
                               "momentum: 0.9 lr_policy: \"exp\" gamma: 0.8 iter_size: 3",
                               "momentum: 0.9 lr_policy: \"plateau\" gamma: 0.5 plateau_winsize: 1",
                               "type: \"Adam\" momentum: 0.9 delta: 0.001 clip_gradients: 0.3",
                               "momentum: 0.9 display: 4 debug_info: true",
                               "momentum: 0.9 ema_decay: 0.9 test_iter: 2 test_interval: 5"};
  for (const Device& device : devices())
    for (const std::string& options : cases)
      for (const Precision precision : {Precision::kFp32, Precision::kFp16}) {
        SCOPED_TRACE(device.str() + " " + name_of(precision) + " " + options);
        Folder recorded, eager;
        train_on(device, precision, tiny_solver(recorded, options));
        train_on(device, precision, tiny_solver(eager, options), "", -1, /*captures=*/false);
        EXPECT_TRUE(read_file(recorded / "tiny_iter_12.caffemodel") == read_file(eager / "tiny_iter_12.caffemodel"));
      }
}

std::string with_loss_weight(const std::string& weight) {
  std::string net = kNet;
  return net.replace(net.find("top: \"loss\""), 11, "top: \"loss\" loss_weight: " + weight);
}

TEST(DeviceTraining, LeavesOutUpdatesWhoseScaledGradientsOverflow) {
  for (const Device& device : devices()) {
    Folder folder;
    train_on(device, Precision::kFp16,
             tiny_solver(folder, "snapshot: 1 max_iter: 3 base_lr: 1e-9", with_loss_weight("1e5")));
    EXPECT_TRUE(read_file(folder / "tiny_iter_1.caffemodel") == read_file(folder / "tiny_iter_3.caffemodel"));
    const caffe::TrainingState training = read_state(folder / "tiny_iter_3.solverstate").training();
    EXPECT_EQ(training.skipped_steps(), 3);
    EXPECT_EQ(training.loss_scale(), kFirstLossScale / 8);
    EXPECT_EQ(training.good_steps(), 0);
  }
}

TEST(DeviceTraining, GoesOnOnceTheScaleFits) {
  for (const Device& device : devices()) {
    Folder folder;
    train_on(device, Precision::kFp16, tiny_solver(folder, "max_iter: 30 base_lr: 1e-6", with_loss_weight("1e4")));
    const caffe::TrainingState training = read_state(folder / "tiny_iter_30.solverstate").training();
    EXPECT_GT(training.skipped_steps(), 3);
    EXPECT_LT(training.skipped_steps(), 25);
    EXPECT_EQ(training.loss_scale(), kFirstLossScale / float(1 << training.skipped_steps()));
  }
}

TEST(DeviceTraining, ALossThatIsNotFiniteChangesNothing) {
  for (const Device& device : devices()) {
    Folder folder;
    std::string message;
    std::string net = with_loss_weight("3e38");
    net.replace(net.rfind("type: \"gaussian\" } }"), 18, "type: \"gaussian\" std: 100 }");
    const auto diverge = [&] { train_on(device, Precision::kFp32, tiny_solver(folder, "snapshot: 1", net)); };
    EXPECT_EQ(exit_code_of(diverge, &message), ExitCode::kDiverged);
    EXPECT_NE(message.find("the loss is inf"), std::string::npos) << message;
    EXPECT_FALSE(file_exists(folder / "tiny_iter_1.caffemodel"));
  }
}

/// kNet with `learned` weights of zero and data of this size: its loss is finite, and its gradients are as large as the
/// data times `weight`.
std::string with_large_data(const std::string& size, const std::string& weight) {
  std::string net = with_loss_weight(weight);
  const std::string plain = "{ type: \"gaussian\" } data_filler", learned = "type: \"gaussian\" std: 0.3";
  net.replace(net.find(plain), plain.size(), "{ type: \"gaussian\" std: " + size + " } data_filler");
  return net.replace(net.find(learned), learned.size(), "type: \"constant\"");
}

TEST(DeviceTraining, AGradientThatIsNotFiniteEndsTheTrainingAndChangesNothing) {
  for (const Device& device : devices())
    for (const Precision precision : {Precision::kFp32, Precision::kTf32, Precision::kBf16})
      for (const std::string options : {"", "clip_gradients: 1 ", "iter_size: 2 "}) {
        SCOPED_TRACE(device.str() + " " + name_of(precision) + " " + options);
        Folder folder;
        std::string message;
        const auto diverge = [&] {
          train_on(device, precision, tiny_solver(folder, options + "snapshot: 1", with_large_data("1e37", "1e5")));
        };
        EXPECT_EQ(exit_code_of(diverge, &message), ExitCode::kDiverged);
        EXPECT_NE(
            message.find("diverged at iteration 0: a gradient is not finite; first in layer 'learned': the gradient"),
            std::string::npos)
            << message;
        EXPECT_FALSE(file_exists(folder / "tiny_iter_1.caffemodel"));
      }
}

TEST(DeviceTraining, ClipsGradientsWhoseSquaresAFloatCannotHold) {
  for (const Device& device : devices()) {
    Folder folder;
    const auto train = [&] {
      train_on(device, Precision::kFp32,
               tiny_solver(folder, "clip_gradients: 0.3 base_lr: 0.02 max_iter: 1", with_large_data("1e25", "1")));
    };
    EXPECT_EQ(exit_code_of(train, nullptr), ExitCode::kDiverged) << "the loss of such data is inf";
    double squares = 0;
    for (const LayerWeights& layer : read_weights(folder / "tiny_iter_1.caffemodel"))
      if (layer.name == "learned")
        for (const float w : layer.blobs[0].data) squares += double(w) * w;
    EXPECT_NEAR(std::sqrt(squares), 0.02 * 0.3, 1e-7) << "from zero, by a gradient that is as long as allowed";
  }
}

TEST(DeviceTraining, DoublesTheScaleAfterManyGoodSteps) {
  for (const Device& device : devices()) {
    Context context({.device = device, .precision = Precision::kFp16});
    Folder folder;
    const SolverFile file = tiny_solver(folder);
    graph::BuildOptions options;
    options.state.set_phase(caffe::TRAIN);
    const auto net =
        make_net(std::make_shared<NetFile>(NetFile{file.solver.net_param(), file.positions.below("net_param")}),
                 options, context);
    const IterationPlan plan = iteration_plan_of(file.solver);
    WeightUpdate histories(plan, *net);
    CarriedStates carried(*net);
    DeviceTraining training(plan, *net, histories.entries(), carried);
    StepState state = training.state();
    EXPECT_EQ(state.loss_scale, kFirstLossScale);
    state.good_steps = kGoodSteps - 1;
    training.set_state(state);
    state = training.iterate(0, {.rate = 0.01F}, false);
    EXPECT_EQ(state.loss_scale, 2 * kFirstLossScale);
    EXPECT_EQ(state.good_steps, 0);
  }
}

/// The filters move (3 x 3 taps of 5 channels), the bias does not.
constexpr const char* kFilters = R"(
    name: "filters"
    layer { name: "data" type: "DummyData" top: "x" top: "target"
            dummy_data_param { shape { dim: 4 dim: 5 dim: 6 dim: 6 } shape { dim: 4 dim: 7 dim: 6 dim: 6 }
                               data_filler { type: "gaussian" std: 1 } data_filler { type: "gaussian" std: 1 } } }
    layer { name: "conv" type: "Convolution" bottom: "x" top: "y"
            convolution_param { num_output: 7 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "y" bottom: "target" top: "loss" })";

template <typename T>
std::vector<T> on_host(Context& context, const void* memory, int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  copy_to_host(context, values.data(), memory, values.size() * sizeof(T));
  return values;
}

/// That each copy holds what its weight is now, rounded; how many there are.
template <typename T>
size_t expect_copies(Net& net) {
  const std::vector<WeightCopy> copies = net.weight_copies();
  for (const WeightCopy& copy : copies) {
    const Param& param = net.params()[copy.param];
    const auto w = on_host<float>(net.context(), param.w, param.count);
    const auto got = on_host<T>(net.context(), copy.memory, param.count);
    for (int64_t i = 0; i < param.count; ++i)
      EXPECT_EQ(float(got[size_t(i)]), float(T(w[size_t(copy.form.source(i))]))) << param.layer << " " << i;
  }
  return copies.size();
}

template <typename T>
void check_copies(const Device& device, Precision precision) {
  Context context({.device = device, .precision = precision});
  graph::BuildOptions options;
  options.state.set_phase(caffe::TRAIN);
  const auto net = make_net(std::make_shared<NetFile>(read_net_from_text(kFilters, "net")), options, context);
  caffe::SolverParameter config;
  config.set_momentum(0.9f);
  const IterationPlan plan = iteration_plan_of(config);
  WeightUpdate histories(plan, *net);
  CarriedStates carried(*net);
  DeviceTraining training(plan, *net, histories.entries(), carried);
  const auto first = on_host<float>(context, net->params()[0].w, net->params()[0].count);
  for (int64_t iter = 0; iter < 4; ++iter) {  // two ordinary ones, one that is recorded, one that is repeated
    training.iterate(iter, {.rate = 0.1f, .momentum = 0.9f, .weight_decay = 0}, false);
    EXPECT_EQ(expect_copies<T>(*net), 2u);
  }
  EXPECT_NE(on_host<float>(context, net->params()[0].w, net->params()[0].count), first) << "nothing was learned";
  net->load_weights({{.name = "conv",
                      .type = "Convolution",
                      .blobs = {{.shape = {7, 5, 3, 3}, .data = std::vector<float>(7 * 45, 0.3f)},
                                {.shape = {7}, .data = std::vector<float>(7, 0.1f)}}}},
                    "file");
  net->stage();
  EXPECT_EQ(expect_copies<T>(*net), 2u);
}

TEST(DeviceTraining, UpdatesTheCopiesThatKernelsRead) {
  for (const Device& device : devices()) {
    check_copies<Half>(device, Precision::kFp16);
    check_copies<BFloat16>(device, Precision::kBf16);
  }
}

void check_go_back(const Device& device, const CarryingLayer& layer) {
  Context context({.device = device});
  graph::BuildOptions options;
  options.state.set_phase(caffe::TRAIN);
  const auto net = make_net(std::make_shared<NetFile>(read_net_from_text(net_of(layer), "net")), options, context);
  const IterationPlan plan = iteration_plan_of(caffe::SolverParameter());
  WeightUpdate histories(plan, *net);
  CarriedStates carried(*net);
  DeviceTraining training(plan, *net, histories.entries(), carried);
  const auto values = [&] {
    const std::span<float> memory = net->carried_values().at(0).values;
    return on_host<float>(context, memory.data(), int64_t(memory.size()));
  };
  training.iterate(0, {}, false);
  const auto first = values();
  training.iterate(1, {}, false);
  EXPECT_NE(values(), first);
  training.go_back(0);
  EXPECT_EQ(values(), first);
}

/// With a rate of 0, because the weights stay after a divergence, too.
TEST(DeviceTraining, GoesBackToWhatLayersCarried) {
  for (const Device& device : devices())
    for (const CarryingLayer& layer : kCarryingLayers) {
      SCOPED_TRACE(layer.type);
      check_go_back(device, layer);
    }
}

}  // namespace
}  // namespace cortado
