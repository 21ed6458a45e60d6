#include "ranks/place.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

#include "core/error.h"

extern char** environ;

namespace cortado::ranks {
namespace {

using Variables = std::map<std::string, std::string>;

/// For its lifetime, replaces all variables that launchers set with these.
class Environment {
 public:
  explicit Environment(const Variables& variables) {
    for (char** entry = environ; *entry; ++entry) {
      const std::string text = *entry, name = text.substr(0, text.find('='));
      for (const char* prefix : {"OMPI_", "PMI_", "PMIX_", "MPI_", "SLURM_", "CORTADO_"})
        if (name.starts_with(prefix)) before_[name] = text.substr(name.size() + 1);
    }
    for (const auto& [name, value] : before_) ::unsetenv(name.c_str());
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1), set_.push_back(name);
  }
  ~Environment() {
    for (const std::string& name : set_) ::unsetenv(name.c_str());
    for (const auto& [name, value] : before_) ::setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  Variables before_;
  std::vector<std::string> set_;
};

std::optional<Place> place_in(const Variables& variables) {
  const Environment environment(variables);
  return place_from_environment();
}

void expect_place(const Variables& variables, const Place& expected) {
  const std::optional<Place> place = place_in(variables);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, expected.rank);
  EXPECT_EQ(place->ranks, expected.ranks);
  EXPECT_EQ(place->local_rank, expected.local_rank);
  EXPECT_EQ(place->local_ranks, expected.local_ranks);
  EXPECT_EQ(place->launcher, expected.launcher);
  EXPECT_EQ(place->engine, expected.engine);
}

const Variables kSlurmTask = {{"SLURM_PROCID", "5"},
                              {"SLURM_NTASKS", "8"},
                              {"SLURM_STEP_NUM_TASKS", "8"},
                              {"SLURM_LOCALID", "1"},
                              {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"}};

Variables with(Variables variables, const Variables& more) {
  variables.insert(more.begin(), more.end());
  return variables;
}

TEST(Place, ASingleProcessHasNone) {
  EXPECT_FALSE(place_in({}));
  EXPECT_FALSE(place_in({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}));
}

TEST(Place, OfOurOwnLauncher) {
  expect_place({{"CORTADO_RANK", "1"}, {"CORTADO_RANKS", "3"}, {"CORTADO_ENGINE", "gloo"}},
               {1, 3, 1, 3, "cortado", "gloo"});
  expect_place({{"CORTADO_RANK", "0"}, {"CORTADO_RANKS", "1"}}, {0, 1, 0, 1, "cortado", "shm"});
}

TEST(Place, OfOpenMpiDespitePmix) {
  expect_place({{"OMPI_COMM_WORLD_RANK", "3"},
                {"OMPI_COMM_WORLD_SIZE", "4"},
                {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                {"PMIX_RANK", "3"}},
               {3, 4, 1, 2, "mpirun", "openmpi"});
}

TEST(Place, OfHydra) {
  expect_place({{"PMI_RANK", "2"}, {"PMI_SIZE", "6"}, {"MPI_LOCALRANKID", "2"}, {"MPI_LOCALNRANKS", "3"}},
               {2, 6, 2, 3, "mpiexec.hydra", "mpich"});
}

TEST(Place, OfSlurm) {
  expect_place(kSlurmTask, {5, 8, 1, 4, "srun", "gloo"});
  expect_place(with(kSlurmTask, {{"PMIX_RANK", "5"}}), {5, 8, 1, 4, "srun", "openmpi"});
}

TEST(Place, ASlurmBatchScriptIsNotATask) {
  EXPECT_FALSE(place_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_LOCALID", "0"}}));
  EXPECT_FALSE(place_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "1"}}));
}

TEST(Place, InvalidNumbersAreErrors) {
  EXPECT_THROW(place_in({{"CORTADO_RANK", "one"}, {"CORTADO_RANKS", "3"}}), Error);
  EXPECT_THROW(place_in({{"CORTADO_RANK", "-1"}, {"CORTADO_RANKS", "3"}}), Error);
  EXPECT_THROW(place_in({{"PMI_RANK", "3"}, {"PMI_SIZE", "3"}}), Error);
  EXPECT_THROW(place_in({{"PMIX_RANK", "3"}}), Error);
}

}  // namespace
}  // namespace cortado::ranks
