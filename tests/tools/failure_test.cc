// Exit codes of exceptions that reach the program's main().
#include "tools/program/failure.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "data/sample.h"

namespace cortado::tools {
namespace {

template <typename Exception>
Failure failure_of(const Exception& exception) {
  try {
    throw exception;
  } catch (...) {
    return current_failure();
  }
}

TEST(Failure, AnImageThatCannotBeReadIsADataError) {
  const Failure failure = failure_of(data::SampleError("the JPEG cannot be decoded", "replace the file"));
  EXPECT_EQ(failure.code, int(ExitCode::kData));
  EXPECT_EQ(failure.text, "error: the JPEG cannot be decoded\nhint: replace the file");
}

TEST(Failure, OtherExceptionsAreInternalErrors) {
  const Failure failure = failure_of(std::logic_error("no such slot"));
  EXPECT_EQ(failure.code, int(ExitCode::kInternal));
  EXPECT_EQ(failure.text, "error: internal error: no such slot");
}

}  // namespace
}  // namespace cortado::tools
