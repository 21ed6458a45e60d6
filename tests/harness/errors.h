#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "core/error.h"

namespace cortado {

/// The text of the Error that `action` throws, or "" if it throws none. The test fails if the code is another.
inline std::string error_of(const std::function<void()>& action, ExitCode code) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(int(error.code()), int(code)) << error.what();
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
