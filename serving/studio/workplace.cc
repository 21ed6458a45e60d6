#include "studio/workplace.h"

#include <regex>

namespace cortado::studio {

using http::Refusal;
using http::RequestError;

namespace {

constexpr std::chrono::seconds kWaitForStarts(5);

}  // namespace

ChildResult Workplace::try_run(const std::vector<std::string>& words, std::chrono::seconds time,
                               const std::atomic<bool>* cancelled) const {
  std::vector<std::string> all = {cortado};
  all.insert(all.end(), words.begin(), words.end());
  return run_child(all, {.folder = folder.root(), .time = time, .cancelled = cancelled});
}

ChildResult Workplace::run(const std::vector<std::string>& words, std::chrono::seconds time,
                           const std::atomic<bool>* cancelled) const {
  ChildResult result = try_run(words, time, cancelled);
  if (result.code != 0) throw RequestError(Refusal::kInvalid, plain_message(result.err));
  return result;
}

Workplace::Change Workplace::begin_change() {
  Change change(starting, kWaitForStarts);
  if (!change) throw RequestError(Refusal::kConflict, "a training is being started; try again when it runs");
  return change;
}

std::string plain_message(const std::string& err) {
  constexpr size_t kMost = 4000;
  std::string text;
  for (size_t begin = 0; begin < err.size();) {
    const size_t end = std::min(err.find('\n', begin), err.size());
    const std::string line = err.substr(begin, end - begin);
    begin = end + 1;
    static const std::regex log_line("^[IW][0-9]{4,8} [0-9:.]+ .*"), advice("^(usage: .*|.*--help.*)");
    if (line.empty() || line.size() > 2000 || std::regex_match(line, log_line) || std::regex_match(line, advice))
      continue;
    text += (text.empty() ? "" : "\n") + line;
  }
  if (text.empty()) return "it failed without a message";
  return text.size() > kMost ? text.substr(0, kMost) + "…" : text;
}

}  // namespace cortado::studio
