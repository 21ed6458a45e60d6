#pragma once

// Shared by the targets.

#include <string>
#include <string_view>

#include "core/error.h"
#include "data/sample.h"

namespace cortado::fuzz {

/// Runs the target on one input.
void fuzz(std::string_view input);

/// Runs `read`, which may throw Error, FieldError or SampleError. Any other exception ends the fuzzer.
template <typename Read>
void expect_answer(const Read& read) {
  try {
    read();
  } catch (const Error&) {
  } catch (const FieldError&) {
  } catch (const data::SampleError&) {
  }
}

/// Writes the bytes to a file in memory. Its path is constant, also for child processes.
class FuzzedFile {
 public:
  explicit FuzzedFile(std::string_view content);
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Removes the part of the input up to the first zero byte, and returns it without that byte.
std::string_view take_text(std::string_view& input);

}  // namespace cortado::fuzz
