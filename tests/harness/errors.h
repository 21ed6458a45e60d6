#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>

#include "core/error.h"

namespace cortado {

/// The text of the Error that `action` throws, or "" if it throws none. The test fails if its code is not `code`, if
/// one is given.
inline std::string error_of(const std::function<void()>& action, std::optional<ExitCode> code) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(int(error.code()), int(code.value_or(error.code()))) << error.what();
    return error.what();
  }
  return {};
}

/// Expects that `action` throws an Error with this code, whose text contains `words`.
inline void expect_error(const std::function<void()>& action, ExitCode code, const std::string& words) {
  const std::string error = error_of(action, code);
  EXPECT_FALSE(error.empty()) << "no error; expected: " << words;
  EXPECT_NE(error.find(words), std::string::npos) << error << "\nlacks: " << words;
}

}  // namespace cortado
