// Errors when an engine cannot be opened.

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

TEST(OpenEngine, AMissingLibraryIsNamedWithItsPackage) {
  const ProbeFolder folder;
  const std::string alone = folder.path() + "/ranks_probe";
  std::filesystem::copy_file(probe(), alone);
  expect_refusal({alone, "openmpi", "exchange"},
                 "error: this build does not support openmpi: libcortado_openmpi.so is not next to the program\n"
                 "hint: apt install libopenmpi-dev, then build again\n");
  expect_refusal({alone, "launch", "gloo", "1", "exchange"}, "hint: apt install libgloo-dev, then build again\n");
}

TEST(OpenEngine, AMissingDependencyIsNamed) {
  const ProbeFolder folder;
  const std::string alone = folder.path() + "/ranks_probe";
  std::filesystem::copy_file(probe(), alone);
  write_file_atomically(folder.path() + "/libcortado_mpich.so", "no library");
  expect_refusal({alone, "mpich", "exchange"}, "hint: apt install mpich\n");
}

TEST(OpenEngine, AnUnknownEngineIsNamed) {
  expect_refusal({probe(), "opnmpi", "exchange"}, "error: unknown engine 'opnmpi'\nhint: did you mean 'openmpi'?\n");
}

TEST(OpenEngine, SharedMemoryNeedsTheBuiltInLauncher) {
  expect_refusal({probe(), "shm", "exchange"}, "error: the engine shm is only for ranks that cortado itself starts");
}

TEST(OpenEngine, GlooNeedsAFolder) {
  expect_refusal({probe(), "gloo", "exchange"}, "hint: export CORTADO_RENDEZVOUS=FOLDER");
}

/// Otherwise each process would take itself for the only one.
TEST(OpenEngine, AnMpiThatDidNotStartTheRanksIsAnError) {
  for (const std::string engine : {"openmpi", "mpich"}) {
    if (!why_not(engine).empty()) continue;
    expect_refusal({probe(), "launch", "shm", "2", "exchange", engine},
                   " assigns this process rank 0 of 1, but its launcher assigned rank ");
  }
}

}  // namespace
}  // namespace cortado::ranks
