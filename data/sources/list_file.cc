#include "data/sources/list_file.h"

#include <algorithm>

#include "core/error.h"
#include "core/files/file.h"
#include "data/formats/text.h"

namespace cortado::data {

namespace {

constexpr int64_t kListFileMaxBytes = int64_t(1) << 31;  // so that a line's number fits into 32 bits
constexpr size_t kMaxMistakes = 20;

}  // namespace

void for_each_line(std::string_view text, const std::function<void(std::string_view line, int64_t number)>& body) {
  int64_t number = 0;
  text = without_bom(text);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
    if (!line.empty()) body(line, number);
  }
}

void for_each_evenly(int64_t count, int64_t most, const std::function<void(uint64_t number)>& body) {
  const int64_t looks = std::min(count, most);
  for (int64_t i = 0; i < looks; ++i) body(uint64_t(double(i) / double(looks) * double(count)));
}

LastWord split_last_word(std::string_view line) {
  const size_t space = line.find_last_of(" \t");
  if (space == std::string_view::npos) return {};
  const size_t last = line.find_last_not_of(" \t", space);
  if (last == std::string_view::npos) return {};
  return {line.substr(0, last + 1), line.substr(space + 1)};
}

LastWord split_two_paths(std::string_view line, const std::string& root) {
  const LastWord last = split_last_word(line);
  const auto exist = [&](std::string_view first, std::string_view second) {
    return file_exists(root + std::string(second)) && file_exists(root + std::string(first));
  };
  for (LastWord split = last; !split.before.empty(); split = split_last_word(split.before)) {
    const std::string_view second = line.substr(size_t(split.word.data() - line.data()));
    if (split.before.find_first_of(" \t") == std::string_view::npos && split.word.data() == last.word.data()) break;
    if (exist(split.before, second)) return {split.before, second};
  }
  return last;
}

ListFile::ListFile(const std::string& path, const std::string& item, const std::string& hint,
                   const std::function<LineFault(std::string_view line)>& parse)
    : path_(path), text_(read_file(path, kListFileMaxBytes)) {
  if (text_.find('\0') != std::string::npos) throw file_error(ExitCode::kData, path, "this is not a text file", hint);
  std::vector<Diagnostic> mistakes;
  int64_t untold = 0;
  for_each_line(text_, [&](std::string_view line, int64_t number) {
    const LineFault fault = parse(line);
    if (fault.message.empty())
      lines_.push_back({size_t(line.data() - text_.data()), int32_t(number)});
    else if (mistakes.size() < kMaxMistakes)
      mistakes.push_back({{path, int(number), int(fault.column) + 1, printable(line)}, fault.message, hint, {}});
    else
      ++untold;
  });
  if (untold > 0)
    mistakes.push_back(
        file_mistake(path, std::to_string(untold) + (untold == 1 ? " more line is" : " more lines are") + " wrong"));
  if (!mistakes.empty()) throw Error(ExitCode::kData, std::move(mistakes));
  if (lines_.empty()) throw file_error(ExitCode::kData, path, "no " + item + " is in the list", hint);
}

Place ListFile::place(size_t i) const {
  const std::string_view rest = std::string_view(text_).substr(lines_[i].begin);
  return {path_, lines_[i].number, 1, printable(rest.substr(0, rest.find_first_of("\r\n")))};
}

void ListFile::fail(size_t i, std::string_view name, const SampleError& error) const {
  throw Error(ExitCode::kData, {place(i), printable(name) + ": " + error.what(), error.hint(), {}});
}

}  // namespace cortado::data
