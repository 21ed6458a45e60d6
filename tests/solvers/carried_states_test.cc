// Values that layers carry from batch to batch, in iterations of shards: each shard has its own, so several ranks make
// the same of them to the bit, and a resume by another number of ranks is exact.

#include <set>

#include "layers/roles.h"
#include "tests/harness/sample_layer.h"
#include "tests/solvers/by_ranks.h"
#include "tests/solvers/carrying_layers.h"

namespace cortado {
namespace {

struct CarryCase {
  const char *name, *options;
  bool on_device = false;
};

std::string weights_after_12(const Folder& folder) { return read_file(folder / "tiny_iter_12.caffemodel"); }

class CarriedStatesByRanks : public ::testing::TestWithParam<CarryCase> {
 protected:
  static RankRun run() {
    RankRun run;
    if (GetParam().on_device) run.device = device_of_tests();
    return run;
  }
  static SolverFile solver(const Folder& folder, const CarryingLayer& layer, const std::string& shards) {
    return tiny_solver(folder, std::string(GetParam().options) + " test_iter: 2 test_interval: 5 " + shards,
                       net_of(layer));
  }
  static void expect_same(const Folder& got, const Folder& expected) {
    EXPECT_TRUE(weights_after_12(got) == weights_after_12(expected));
    EXPECT_TRUE(bytes_of(read_state(got / "tiny_iter_12.solverstate")) ==
                bytes_of(read_state(expected / "tiny_iter_12.solverstate")));
  }
};

TEST_P(CarriedStatesByRanks, GiveTheBitsOfOneProcess) {
  for (const CarryingLayer& layer : kCarryingLayers)
    for (const int shards : {2, 4}) {
      const std::string text = "shards: " + std::to_string(shards) + " ";
      SCOPED_TRACE(layer.type + (" " + text));
      Folder alone;
      train_as(
          0, [&] { return solver(alone, layer, text); }, run());
      for (int ranks = 1; ranks <= shards; ranks *= 2) {
        SCOPED_TRACE(std::to_string(ranks) + " ranks");
        Folder folder;
        train_as(
            ranks, [&] { return solver(folder, layer, text); }, run());
        expect_same(folder, alone);
      }
    }
}

TEST_P(CarriedStatesByRanks, GoOnByOtherNumbersOfRanks) {
  for (const CarryingLayer& layer : kCarryingLayers) {
    SCOPED_TRACE(layer.type);
    Folder alone, folder;
    train_as(
        0, [&] { return solver(alone, layer, "shards: 4 "); }, run());
    train_in_turn(
        folder, [&] { return solver(folder, layer, ""); }, run());
    expect_same(folder, alone);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CarriedStatesByRanks,
                         ::testing::Values(CarryCase{"Plain", "momentum: 0.9"},
                                           CarryCase{"IterSize", "momentum: 0.9 iter_size: 2"},
                                           CarryCase{"LocalSteps", "momentum: 0.9 local_steps: 2"},
                                           CarryCase{"OnDevice", "momentum: 0.9 iter_size: 2", true}),
                         [](const auto& info) { return std::string(info.param.name); });

/// The state is that of one shard alone: with a rate of 0, what a training by one shard leaves after the same batches.
TEST(CarriedStates, AreThoseOfEachShardAlone) {
  for (const CarryingLayer& layer : kCarryingLayers) {
    SCOPED_TRACE(layer.type);
    const auto states = [&](const std::string& options, std::string net) {
      Folder folder;
      net.replace(net.find("type: 'gaussian'"), 16, "value: 0.3");  // each pass has the same batch
      train(tiny_solver(folder, options + "base_lr: 0 max_iter: 3 ", net));
      return read_state(folder / "tiny_iter_3.solverstate").training().layer(0);
    };
    const caffe::LayerState one = states("", net_of(layer)), three = states("shards: 3 ", net_of(layer));
    ASSERT_EQ(one.values_size(), 1);
    ASSERT_EQ(three.values_size(), 3);
    for (const caffe::BlobProto& values : three.values())
      EXPECT_EQ(values.SerializeAsString(), one.values(0).SerializeAsString());
  }
}

/// A snapshot of fewer shards, or of a version that kept one state for all.
TEST(CarriedStates, WarnWhereTheSnapshotHasFewer) {
  Folder folder;
  const std::string net = net_of(kCarryingLayers[0]);
  train(tiny_solver(folder, "shards: 2 ", net), "", 5);
  const auto lines = logged([&] { train(tiny_solver(folder, "shards: 3 ", net), "auto"); });
  const auto warns = [](const std::string& line) { return line.find("state of layer 'memory'") != line.npos; };
  const auto line = std::find_if(lines.begin(), lines.end(), warns);
  ASSERT_NE(line, lines.end());
  EXPECT_NE(line->find("(train) for 1 shard of 3: it starts with zeros there"), std::string::npos) << *line;
  EXPECT_EQ(read_state(folder / "tiny_iter_12.solverstate").training().layer(0).values_size(), 3);
}

/// Types with a memory that is elsewhere, among the weights or in files, or that iterations of shards refuse.
const std::set<std::string> kOtherMemories = {"BN",       "BatchNorm", "HDF5Output",
                                              "MatWrite", "SyncBN",    "UnlabeledMatching"};

TEST(CarriedStates, OfEachTypeAreTested) {
  std::set<std::string> known = kOtherMemories;
  for (const CarryingLayer& layer : kCarryingLayers) known.insert(layer.type);
  for (const LayerType* type : all_layer_types()) {
    if (type->kind == LayerKind::kData || type->kind == LayerKind::kInput || type->name == "Python") continue;
    look_at_sample(*type, [&](Layer& layer) {
      const bool has_memory = layer.roles().memory != nullptr;
      EXPECT_TRUE(!has_memory || known.contains(type->name)) << type->name << ": add it to kCarryingLayers";
    });
  }
}

}  // namespace
}  // namespace cortado
