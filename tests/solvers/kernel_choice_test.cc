// Which kernels run is part of a snapshot: a resume takes those, whatever a cache of another run's measurements says.
// And which kernels run changes last digits only.

#include <cmath>

#include "kernels/kernel_cache.h"
#include "tests/solvers/training.h"

namespace cortado {
namespace {

using kernels::ConvAlgorithm;
using kernels::KernelCache;

/// Convolutions that Winograd's algorithm suits, of `channels` channels.
std::string conv_net(int channels) {
  const std::string c = std::to_string(channels);
  const std::string conv = "pad: 1 kernel_size: 3 num_output: " + c + " weight_filler { type: \"msra\" } } }\n";
  return "name: \"convs\" layer { name: \"data\" type: \"DummyData\" top: \"data\" top: \"target\" dummy_data_param {"
         " shape { dim: 4 dim: 3 dim: 14 dim: 14 } shape { dim: 4 dim: 10 }"
         " data_filler { type: \"gaussian\" } data_filler { type: \"gaussian\" } } }\n"
         "layer { name: \"c1\" type: \"Convolution\" bottom: \"data\" top: \"c1\" convolution_param { " +
         conv +
         "layer { name: \"r1\" type: \"ReLU\" bottom: \"c1\" top: \"c1\" }\n"
         "layer { name: \"c2\" type: \"Convolution\" bottom: \"c1\" top: \"c2\" convolution_param { " +
         conv +
         "layer { name: \"r2\" type: \"ReLU\" bottom: \"c2\" top: \"c2\" }\n"
         "layer { name: \"c3\" type: \"Convolution\" bottom: \"c2\" top: \"c3\" convolution_param { " +
         conv +
         "layer { name: \"ip\" type: \"InnerProduct\" bottom: \"c3\" top: \"ip\" inner_product_param { num_output: 10"
         " weight_filler { type: \"xavier\" } } }\n"
         "layer { name: \"loss\" type: \"EuclideanLoss\" bottom: \"ip\" bottom: \"target\" top: \"loss\" }";
}

constexpr const char* kOptions = "momentum: 0.9 base_lr: 0.0005 snapshot: 6 ";

/// Trains in `folder` to the end with a context that remembers `choices`; returns what it took.
std::map<std::string, KernelCache::Entry> train_with(const Folder& folder,
                                                     const std::map<std::string, KernelCache::Entry>& choices,
                                                     const std::string& resume = {}) {
  Context context(2);
  context.handle<KernelCache>().load(choices);
  SolverOptions options;
  options.snapshot = resume;
  Solver solver = make_solver(tiny_solver(folder, kOptions, conv_net(64)), options, context);
  Requests requests{kRequestNothing};
  EXPECT_EQ(solver.run(requests), Outcome::kFinished);
  return context.handle<KernelCache>().recorded();
}

TEST(KernelChoices, AreTakenFromTheSnapshotAndNotFromACache) {
  Folder folder, other_folder;
  const auto taken = train_with(folder, {});
  const std::string weights = read_file(folder / "tiny_iter_12.caffemodel");
  std::map<std::string, KernelCache::Entry> stranger;
  int winograd = 0;
  for (const auto& [problem, choice] : taken) {
    winograd += choice.candidate.rfind("winograd", 0) == 0;
    stranger[problem] = {choice.candidate == "gemm" ? "onednn" : "gemm", "cache", 0};
  }
  EXPECT_GT(winograd, 0);

  train_with(other_folder, stranger);
  EXPECT_FALSE(read_file(other_folder / "tiny_iter_12.caffemodel") == weights) << "other kernels, other last digits";

  std::filesystem::remove(folder / "tiny_iter_12.caffemodel");
  std::filesystem::remove(folder / "tiny_iter_12.solverstate");
  train_with(folder, stranger, folder / "tiny_iter_6.solverstate");
  EXPECT_TRUE(read_file(folder / "tiny_iter_12.caffemodel") == weights);
}

/// The losses of 20 steps of a net with 64 channels.
std::vector<double> losses(bool winograd, int* taken) {
  Folder folder;
  Context context(2);
  if (!winograd) context.handle<KernelCache>().exclude(ConvAlgorithm::kWinograd);
  Solver solver = make_solver(tiny_solver(folder, kOptions, conv_net(64)), {}, context);
  std::vector<double> values;
  for (int i = 0; i < 20; ++i) {
    solver.step(1);
    values.push_back(solver.loss());
  }
  *taken = 0;
  for (const auto& [problem, choice] : context.handle<KernelCache>().recorded())
    *taken += choice.candidate.find("winograd") != std::string::npos;
  return values;
}

TEST(KernelChoices, WinogradTrainsAsDirectConvolutionsDo) {
  int with = 0, without = 0;
  const std::vector<double> fast = losses(true, &with), direct = losses(false, &without);
  EXPECT_GE(with, 6);
  EXPECT_EQ(without, 0);
  for (size_t i = 0; i < fast.size(); ++i) EXPECT_NEAR(fast[i], direct[i], 2e-3 * std::abs(direct[i])) << "step " << i;
  EXPECT_NE(fast.back(), direct.back());
}

}  // namespace
}  // namespace cortado
