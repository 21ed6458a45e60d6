#include "core/log.h"

#include <gtest/gtest.h>

#include <functional>
#include <regex>
#include <string>

namespace cortado {
namespace {

std::string logged(const std::function<void()>& action) {
  testing::internal::CaptureStderr();
  action();
  return testing::internal::GetCapturedStderr();
}

// The format that parsers of Caffe logs expect: no year, thread right-aligned in at least five columns, file and line,
// one space.
TEST(Log, LinesHaveCaffesPrefix) {
  const std::string line = logged([] { log_line(Severity::kInfo, "a/b/solver.cc", 45, "Iteration 0, loss = 2.3"); });
  const std::regex pattern(R"(I\d{4} \d\d:\d\d:\d\d\.\d{6} [ \d]{4}\d+ solver\.cc:45\] Iteration 0, loss = 2\.3\n)");
  EXPECT_TRUE(std::regex_match(line, pattern)) << line;
}

TEST(Log, StreamsNumbersWithSixDigits) {
  const std::string line = logged([] { log_warning() << "lr = " << 0.00992565123; });
  EXPECT_EQ(line.substr(0, 1), "W");
  EXPECT_NE(line.find("log_test.cc:"), std::string::npos) << line;
  EXPECT_NE(line.find("] lr = 0.00992565\n"), std::string::npos) << line;
}

TEST(Log, LevelHidesLowerLines) {
  set_log_level(Severity::kWarning);
  EXPECT_EQ(logged([] { log_info() << "hidden"; }), "");
  EXPECT_NE(logged([] { log_error() << "shown"; }), "");
  set_log_level(Severity::kInfo);
  EXPECT_NE(logged([] { log_info() << "shown"; }), "");
}

int calls = 0;

TEST(Log, HookRunsBeforeEachLine) {
  set_before_log([] { ++calls; });
  logged([] { log_info() << "x"; });
  EXPECT_EQ(calls, 1);
  set_before_log(nullptr);
  logged([] { log_info() << "x"; });
  EXPECT_EQ(calls, 1);
}

/// Before the first call lines bypass glog, afterwards they go through it: both look alike.
TEST(Log, StartingTwiceIsHarmless) {
  start_logging("cortado");
  start_logging("cortado");
  const std::regex pattern(R"(W\d{4} \d\d:\d\d:\d\d\.\d{6} [ \d]{4}\d+ log_test\.cc:\d+\] a line\n)");
  const std::string line = logged([] { log_warning() << "a line"; });
  EXPECT_TRUE(std::regex_match(line, pattern)) << line;
  set_log_level(Severity::kError);
  EXPECT_EQ(logged([] { log_warning() << "hidden"; }), "");
  set_log_level(Severity::kInfo);
  EXPECT_NE(logged([] { log_info() << "shown"; }), "");
}

}  // namespace
}  // namespace cortado
