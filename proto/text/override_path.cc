#include "proto/text/override_path.h"

#include <algorithm>

namespace cortado {

namespace {

class PathReader {
 public:
  PathReader(std::string_view text, size_t begin, size_t end, int line, const Positions& places)
      : text_(text.substr(0, end)), at_(begin), begin_(begin), line_(line), places_(places) {}

  OverridePath read() {
    OverridePath path;
    path.root = name("'net' or 'solver'");
    if (path.root != "net" && path.root != "solver") fail(begin_, "'" + path.root + "' is neither net nor solver");
    if (!take('.')) fail(at_, "'.' and a field are missing after '" + path.root + "'");
    do {
      path.last_name = at_;
      path.steps.push_back(step());
    } while (take('.'));
    path.appends = take('+');
    if (!take('=')) fail(at_, path.appends ? "'=' is missing after '+'" : "'=' and a value are missing");
    path.value = at_;
    path.value_position = here(at_);
    path.end = text_.size();
    return path;
  }

 private:
  [[noreturn]] void fail(size_t at, const std::string& message) const {
    throw Error(ExitCode::kUsage,
                Diagnostic{places_.at(here(at)),
                           message,
                           "write net.layer[conv1].convolution_param.num_output=64 or solver.base_lr=0.1",
                           {}});
  }

  Position here(size_t at) const { return {line_, int(at - begin_) + 1}; }

  bool take(char wanted) {
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  std::string name(const std::string& wanted) {
    const size_t start = at_;
    const auto fits = [](char c) {
      return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    };
    while (at_ < text_.size() && fits(text_[at_])) ++at_;
    if (at_ == start) fail(at_, wanted + " is expected here");
    return std::string(text_.substr(start, at_ - start));
  }

  /// A field's name with its "[...]"; names that contain brackets must be quoted.
  OverrideStep step() {
    OverrideStep out;
    out.position = here(at_);
    out.name = name("the name of a field");
    const size_t open = at_;
    if (!take('[')) return out;
    out.has_element = true;
    out.element_position = here(at_);
    const char quote = at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'') ? text_[at_] : '\0';
    if (quote) ++at_;
    const size_t close = std::min(text_.find(quote ? quote : ']', at_), text_.size());
    out.element = std::string(text_.substr(at_, close - at_));
    at_ = quote ? std::min(close + 1, text_.size()) : close;
    if (!take(']')) fail(open, "'[' is not closed");
    if (out.element.empty()) fail(open, "a number or a name is missing between the brackets");
    return out;
  }

  std::string_view text_;
  size_t at_, begin_;
  int line_;
  const Positions& places_;
};

}  // namespace

OverridePath read_override_path(std::string_view text, size_t begin, size_t end, int line, const Positions& places) {
  return PathReader(text, begin, end, line, places).read();
}

}  // namespace cortado
