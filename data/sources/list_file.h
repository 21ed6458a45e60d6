#pragma once

// Text files that list samples, one per line; blank lines are ignored.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "data/sample.h"

namespace cortado::data {

/// Calls `body(line, number)` for every line that is not blank, without trailing white space and without a byte order
/// mark before the first. Numbers start at 1.
void for_each_line(std::string_view text, const std::function<void(std::string_view line, int64_t number)>& body);

/// Calls `body(number)` for up to `most` evenly spaced numbers of the first `count`, or for all if there are at most
/// `most`.
void for_each_evenly(int64_t count, int64_t most, const std::function<void(uint64_t number)>& body);

/// The last word of a line and the text before it, without the space in between. Both are empty without a space
/// and if nothing is before it.
struct LastWord {
  std::string_view before, word;
};
LastWord split_last_word(std::string_view line);
/// Two paths, relative to `root`, with a space between them. If they may contain spaces themselves, the last split for
/// which both files exist; without one, the last word is the second path.
LastWord split_two_paths(std::string_view line, const std::string& root);

/// The error of one line and its column, from 0; "" if there is none.
struct LineFault {
  std::string message;
  size_t column = 0;
};

class ListFile {
 public:
  /// `parse` receives each line, a view that is valid during this object's lifetime. Throws Error(kIo). Throws
  /// Error(kData) with the places of all invalid lines (the first 20, and the number of further ones), or if the list
  /// is empty. `hint` describes the format of a line; `item` is the word for the listed things.
  ListFile(const std::string& path, const std::string& item, const std::string& hint,
           const std::function<LineFault(std::string_view line)>& parse);

  const std::string& path() const { return path_; }
  size_t size() const { return lines_.size(); }
  Place place(size_t i) const;  ///< of the line of item i
  /// Throws the Error(kData) at that line; `name` is the item's.
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
