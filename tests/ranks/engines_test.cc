// What every engine does, and what happens to the others when one rank dies, fails or stops. Each case runs several
// processes.

#include <string>

#include "core/exit_code.h"
#include "tests/ranks/probes.h"

namespace cortado::ranks {
namespace {

constexpr int kLongest = 240;  ///< seconds; a longer run counts as a hang

struct Case {
  std::string engine;
  int ranks;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.engine << " " << one.ranks; }

class Exchanges : public testing::TestWithParam<Case> {};
class Faults : public testing::TestWithParam<std::string> {};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::string& engine : kEngines)
    for (int ranks = 1; ranks <= 4; ++ranks) all.push_back({engine, ranks});
  return all;
}

void expect_well(const std::string& engine, int ranks, const std::string& action) {
  Probes probes(probe_command(engine, ranks, action));
  EXPECT_EQ(probes.ended_within(kLongest), 0) << probes.output();
  EXPECT_NE(probes.output().find(", " + std::to_string(ranks) + " ranks: well\n"), std::string::npos)
      << probes.output();
}

TEST_P(Exchanges, MoveEveryByte) {
  SKIP_WITHOUT(GetParam().engine);
  expect_well(GetParam().engine, GetParam().ranks, "exchange");
}

INSTANTIATE_TEST_SUITE_P(Of, Exchanges, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.engine + std::to_string(info.param.ranks); });

TEST_P(Faults, LargePiecesAreSplit) {
  SKIP_WITHOUT(GetParam());
  expect_well(GetParam(), 2, "large");
}

/// mpirun ends the other ranks before they can report an error.
TEST_P(Faults, AKilledRankEndsAll) {
  SKIP_WITHOUT(GetParam());
  Probes probes(probe_command(GetParam(), 3, "die"));
  const std::optional<int> code = probes.ended_within(kLongest);
  ASSERT_TRUE(code) << probes.output();
  if (GetParam() == "mpich") {
    EXPECT_NE(code, 0);
  } else {
    EXPECT_EQ(code, 128 + 9) << probes.output();
  }
  if (GetParam() == "shm") {
    EXPECT_NE(probes.output().find("rank 1: error: rank 2 has died\n"), std::string::npos) << probes.output();
  }
  if (GetParam() == "shm" || GetParam() == "gloo") {
    EXPECT_NE(probes.output().find("rank 2 was ended by signal 9"), std::string::npos) << probes.output();
  }
}

/// The message may also name a rank that itself waits for the stopped one, unless the engine can distinguish them.
TEST_P(Faults, AStoppedRankIsNamed) {
  SKIP_WITHOUT(GetParam());
  Probes probes(probe_command(GetParam(), 3, "stop"), {"PROBE_STALL=2"});
  EXPECT_EQ(probes.ended_within(kLongest), int(ExitCode::kIo)) << probes.output();
  const std::string output = probes.output();
  const auto says = [&](const char* words) { return output.find(words) != std::string::npos; };
  EXPECT_TRUE(says("waited for rank 2\n") ||
              (GetParam() != "shm" && (says("waited for ranks 0, 2\n") || says("waited for ranks 1, 2\n"))))
      << output;
}

TEST_P(Faults, AFailedRankEndsAllWithItsCode) {
  SKIP_WITHOUT(GetParam());
  Probes probes(probe_command(GetParam(), 3, "fail"));
  EXPECT_EQ(probes.ended_within(kLongest), int(ExitCode::kDiverged)) << probes.output();
}

TEST_P(Faults, ARankThatEndsSilentlyEndsAll) {
  SKIP_WITHOUT(GetParam());
  Probes probes(probe_command(GetParam(), 3, "leave_alone"));
  const std::optional<int> code = probes.ended_within(kLongest);
  ASSERT_TRUE(code) << probes.output();
  EXPECT_NE(code, 0) << probes.output();
}

INSTANTIATE_TEST_SUITE_P(Of, Faults, testing::ValuesIn(kEngines), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace cortado::ranks
