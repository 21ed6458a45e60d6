#pragma once

// What targets share.

#include <string>
#include <string_view>

#include "core/error.h"
#include "data/sample.h"

namespace cortado::fuzz {

/// What the target does with one input.
void fuzz(std::string_view input);

/// Runs `read`: a mistake that it tells of, an Error, FieldError or SampleError, is an answer. Whatever else it throws
/// ends the fuzzer.
template <typename Read>
void expect_answer(const Read& read) {
  try {
    read();
  } catch (const Error&) {
  } catch (const FieldError&) {
  } catch (const data::SampleError&) {
  }
}

/// The bytes as a file in memory, under a path that is the same each time, in processes that this one starts, too.
class FuzzedFile {
 public:
  explicit FuzzedFile(std::string_view content);
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The part of the input up to the first zero byte, which is taken from it with that.
std::string_view take_text(std::string_view& input);

}  // namespace cortado::fuzz
