// Snapshots that older versions wrote resume exactly. older_snapshots/ holds those of the solver below, in both
// formats, by a version that kept the memory of the update rule as a layer of a net "solver:memories".

#include "core/process/program_path.h"
#include "proto/weights/solver_state_file.h"
#include "proto/weights/weights_file.h"
#include "tests/harness/places.h"
#include "tests/solvers/training.h"

namespace cortado {
namespace {

std::string older(const std::string& name) { return in_source("tests/solvers/older_snapshots/" + name); }

SolverFile turbo_solver(const Folder& folder) {
  return tiny_solver(folder, "type: \"SGD\" momentum: 0.9 larc: true larc_eta: 0.5 larc_turbo: true");
}

/// The bytes of the weights at the end, resumed from `snapshot`.
std::string resumed(const std::string& snapshot) {
  Folder folder;
  EXPECT_EQ(train(turbo_solver(folder), snapshot), Outcome::kFinished);
  return read_file(folder / "tiny_iter_12.caffemodel");
}

/// The bytes of the weights at the end, resumed from the older state with its memory as `change` leaves it.
std::string resumed_with(const std::function<void(caffe::TrainingState&)>& change) {
  Folder folder;
  caffe::SolverState state = read_solver_state(older("turbo_iter_6.solverstate"));
  change(*state.mutable_training());
  write_solver_state(folder / "turbo_iter_6.solverstate", state);
  std::filesystem::copy_file(older("turbo_iter_6.caffemodel"), folder / "turbo_iter_6.caffemodel");
  return resumed(folder / "turbo_iter_6.solverstate");
}

TEST(OlderSnapshots, ResumeExactly) {
  const std::string expected = resumed_with([](caffe::TrainingState& training) {
    ASSERT_EQ(training.layer_size(), 1);
    *training.mutable_rule_memory() = training.layer(0).values(0).data();
    training.clear_layer();
    EXPECT_EQ(training.rule_memory_size(), 3) << "the slope, and weights and bias of 'learned'";
  });
  EXPECT_TRUE(resumed(older("turbo_iter_6.solverstate")) == expected);
  if (!companion_path("cortado-hdf5").empty()) {
    EXPECT_TRUE(resumed(older("turbo_iter_6.solverstate.h5")) == expected);
  }
  EXPECT_FALSE(resumed_with([](caffe::TrainingState& training) { training.clear_layer(); }) == expected)
      << "the memory must matter";
}

/// By the version that wrote them; another CPU may round otherwise.
TEST(OlderSnapshots, LeadToTheirRunsEnd) {
  Folder folder;
  train(turbo_solver(folder), older("turbo_iter_6.solverstate"));
  const std::vector<LayerWeights> ours = read_weights(folder / "tiny_iter_12.caffemodel"),
                                  theirs = read_weights(older("turbo_iter_12.caffemodel"));
  ASSERT_EQ(ours.size(), theirs.size());
  for (size_t i = 0; i < ours.size(); ++i)
    for (size_t k = 0; k < theirs[i].blobs.size(); ++k)
      for (size_t at = 0; at < theirs[i].blobs[k].data.size(); ++at)
        EXPECT_NEAR(ours[i].blobs[k].data[at], theirs[i].blobs[k].data[at], 1e-6) << theirs[i].name;
}

TEST(OlderSnapshots, AreWrittenInTheNewForm) {
  Folder folder;
  train(turbo_solver(folder), older("turbo_iter_6.solverstate"));
  const caffe::TrainingState training = read_state(folder / "tiny_iter_12.solverstate").training();
  EXPECT_EQ(training.layer_size(), 0);
  EXPECT_EQ(training.rule_memory_size(), 3);
}

}  // namespace
}  // namespace cortado
