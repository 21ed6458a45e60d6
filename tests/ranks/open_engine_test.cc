// What is said where an engine cannot be opened.

#include <filesystem>

#include "core/exit_code.h"
#include "core/files/file.h"
#include "core/process/program_path.h"
#include "tests/ranks/probes.h"

namespace cortado::ranks {
namespace {

void expect_refusal(const std::vector<std::string>& command, const std::string& words) {
  Probes probes(command);
  EXPECT_EQ(probes.ended_within(120), int(ExitCode::kUsage)) << probes.output();
  EXPECT_NE(probes.output().find(words), std::string::npos) << probes.output();
}

std::string probe() { return join_path(folder_of(program_path()), "ranks_probe"); }

TEST(OpenEngine, ALibraryThatIsNotThereIsNamedAndHowToHaveIt) {
  const ProbeFolder folder;
  const std::string alone = folder.path() + "/ranks_probe";
  std::filesystem::copy_file(probe(), alone);
  expect_refusal({alone, "openmpi", "exchange"},
                 "error: this build does not speak openmpi: libcortado_openmpi.so is not beside the program\n"
                 "hint: apt install libopenmpi-dev, then build again\n");
  expect_refusal({alone, "launch", "gloo", "1", "exchange"}, "hint: apt install libgloo-dev, then build again\n");
}

TEST(OpenEngine, ALibraryWhoseOwnAreNotThereSaysSo) {
  const ProbeFolder folder;
  const std::string alone = folder.path() + "/ranks_probe";
  std::filesystem::copy_file(probe(), alone);
  write_file_atomically(folder.path() + "/libcortado_mpich.so", "no library");
  expect_refusal({alone, "mpich", "exchange"}, "hint: apt install mpich\n");
}

TEST(OpenEngine, OneThatThereIsNotIsNamed) {
  expect_refusal({probe(), "opnmpi", "exchange"},
                 "error: there is no engine 'opnmpi'\nhint: did you mean 'openmpi'?\n");
}

TEST(OpenEngine, SharedMemoryIsForWhatOurLauncherStarts) {
  expect_refusal({probe(), "shm", "exchange"}, "error: the engine shm is for ranks that cortado starts");
}

TEST(OpenEngine, GlooWantsAFolder) {
  expect_refusal({probe(), "gloo", "exchange"}, "hint: export CORTADO_RENDEZVOUS=FOLDER");
}

/// Each would take itself for the only one.
TEST(OpenEngine, AnMpiThatDidNotStartTheRanksDoesNotKnowThem) {
  for (const std::string engine : {"openmpi", "mpich"}) {
    if (!why_not(engine).empty()) continue;
    expect_refusal({probe(), "launch", "shm", "2", "exchange", engine},
                   " takes this process for rank 0 of 1, but it is ");
  }
}

}  // namespace
}  // namespace cortado::ranks
