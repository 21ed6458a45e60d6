#pragma once

// Text files that list samples, one on each line that is not blank.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "data/sample.h"

namespace cortado::data {

/// Calls `body(line, number)` for every line that is not blank, without the white space at its end, or a byte order
/// mark before the first; numbers count from 1.
void for_each_line(std::string_view text, const std::function<void(std::string_view line, int64_t number)>& body);

/// Calls `body(number)` for up to `most` numbers that lie evenly among the first `count`, all of them where that many.
void for_each_evenly(int64_t count, int64_t most, const std::function<void(uint64_t number)>& body);

/// The last word of a line and what stands before it, without the space between. Both are empty where there is no
/// space, or nothing before it.
struct LastWord {
  std::string_view before, word;
};
LastWord split_last_word(std::string_view line);

/// What is wrong with one line, and the column from 0 where it stands. Nothing: "".
struct LineFault {
  std::string message;
  size_t column = 0;
};

class ListFile {
 public:
  /// `parse` takes each line, a view that lasts as long as this. Throws Error(kIo), or Error(kData) with the place of
  /// every line that is wrong (of the first 20, and how many more there are), or when nothing is listed. `hint` says
  /// what a line is; `item` is the word for what is listed.
  ListFile(const std::string& path, const std::string& item, const std::string& hint,
           const std::function<LineFault(std::string_view line)>& parse);

  const std::string& path() const { return path_; }
  size_t size() const { return lines_.size(); }
  Place place(size_t i) const;  ///< of the line of item i
  /// The Error(kData) at that line; `name` is the item's.
  [[noreturn]] void fail(size_t i, std::string_view name, const SampleError& error) const;

 private:
  struct Line {
    size_t begin;
    int32_t number;
  };
  std::string path_, text_;
  std::vector<Line> lines_;
};

}  // namespace cortado::data
