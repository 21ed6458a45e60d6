// Resuming with a dataset: shuffled, mirrored and cropped at random, read by threads, its size no multiple of the
// batch.

#include "tests/solvers/carrying_layers.h"
#include "tests/solvers/dataset.h"
#include "tests/solvers/training.h"

namespace cortado {
namespace {

std::string net_on(const std::string& dataset) {
  const std::string source = "source: \"" + dataset + "\" backend: LMDB ";
  return R"(layer { name: "train" type: "Data" top: "data" top: "label" include { phase: TRAIN }
                    transform_param { mirror: true crop_size: 6 scale: 0.01 }
                    data_param { batch_size: 5 shuffle: true )" +
         source + R"(} }
            layer { name: "test" type: "Data" top: "data" top: "label" include { phase: TEST }
                    transform_param { crop_size: 6 scale: 0.01 } data_param { batch_size: 4 )" +
         source + R"(} }
            layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
                    convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: "xavier" } } }
            layer { name: "norm" type: "BatchNorm" bottom: "conv" top: "conv" }
            layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
            layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param { kernel_size: 2 stride: 2 } }
            layer { name: "drop" type: "Dropout" bottom: "pool" top: "pool" }
            layer { name: "score" type: "InnerProduct" bottom: "pool" top: "score"
                    inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
            layer { name: "accuracy" type: "Accuracy" bottom: "score" bottom: "label" top: "accuracy"
                    include { phase: TEST } }
            layer { name: "loss" type: "SoftmaxWithLoss" bottom: "score" bottom: "label" top: "loss" })";
}

TEST(ResumeData, IsExactForEachNumberOfThreads) {
  const std::string options = "momentum: 0.9 test_iter: 3 test_interval: 4 iter_size: 2 average_loss: 3 snapshot: 3 ";
  for (const int threads : {1, 2}) {
    Folder whole_folder;
    const std::string dataset = make_dataset(whole_folder);
    EXPECT_EQ(train(tiny_solver(whole_folder, options, net_on(dataset)), "", -1, threads), Outcome::kFinished);
    for (const int stop_at : {1, 4, 7, 10}) {
      SCOPED_TRACE(std::to_string(threads) + " threads, stopped at " + std::to_string(stop_at));
      Folder folder;
      train(tiny_solver(folder, options, net_on(dataset)), "", stop_at, threads);
      train(tiny_solver(folder, options, net_on(dataset)), "auto", -1, threads);
      const std::string weights = "tiny_iter_12.caffemodel", state = "tiny_iter_12.solverstate";
      EXPECT_TRUE(read_file(folder / weights) == read_file(whole_folder / weights));
      EXPECT_TRUE(bytes_of(read_state(folder / state)) == bytes_of(read_state(whole_folder / state)));
    }
  }
}

/// The loss after the last update is of one more batch, which a snapshot after it does not count.
void expect_the_end(const std::string& options, const std::string& net, const Device& device) {
  Folder at_end, later;
  const auto run = [&](const Folder& folder, const std::string& more) {
    Context context({.device = device});
    Solver solver = make_solver(tiny_solver(folder, options + more, net), {}, context);
    Requests requests{kRequestNothing};
    solver.run(requests);
    if (!more.empty()) solver.snapshot();
  };
  run(at_end, "");
  run(later, "snapshot_after_train: false ");
  EXPECT_TRUE(bytes_of(read_state(later / "tiny_iter_12.solverstate")) ==
              bytes_of(read_state(at_end / "tiny_iter_12.solverstate")));
  EXPECT_TRUE(read_file(later / "tiny_iter_12.caffemodel") == read_file(at_end / "tiny_iter_12.caffemodel"));
}

TEST(ResumeData, ASnapshotAfterTheLastLossIsThatOfTheEnd) {
  Folder data;
  const std::string net = net_on(make_dataset(data));
  for (const char* options : {"display: 3 average_loss: 3 ", "display: 3 shards: 2 "})
    for (const Device device : {Device{}, Device{DeviceKind::kSimulated, 0}}) {
      SCOPED_TRACE(options + device.str());
      expect_the_end(options, net, device);
      for (const CarryingLayer& layer : kCarryingLayers) expect_the_end(options, net_of(layer), device);
    }
}

}  // namespace
}  // namespace cortado
