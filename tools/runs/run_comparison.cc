#include "tools/runs/run_comparison.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "core/files/file.h"
#include "tools/runs/run_folder.h"
#include "tools/runs/run_list.h"
#include "tools/runs/run_record.h"

namespace cortado::runs {

namespace {

constexpr size_t kMaxLines = 4000;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// lengths[i][j]: of the longest common subsequence of a from i on and b from j on.
std::vector<std::vector<int>> common_lengths(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::vector<int>> lengths(a.size() + 1, std::vector<int>(b.size() + 1, 0));
  for (size_t i = a.size(); i-- > 0;)
    for (size_t j = b.size(); j-- > 0;)
      lengths[i][j] = a[i] == b[j] ? lengths[i + 1][j + 1] + 1 : std::max(lengths[i + 1][j], lengths[i][j + 1]);
  return lengths;
}

/// False for links, which may lead to files that do not belong to the run.
bool is_own_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(std::filesystem::symlink_status(path, ignored));
}

std::set<std::string> prototxts_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".prototxt" && is_own_file(entry.path().string()))
      names.insert(entry.path().filename().string());
  return names;
}

std::string text_of(const std::string& folder, const std::string& name) {
  const std::string path = join_path(folder, name);
  return is_own_file(path) ? read_file(path) : "";
}

/// Removes the run's own folder from paths, because it differs between any two runs.
std::string without_folder(std::string text, const std::string& folder) {
  for (size_t at = text.find(folder + "/"); at != text.npos; at = text.find(folder + "/", at))
    text.replace(at, folder.size(), "RUN");
  return text;
}

using Facts = std::map<std::string, std::string>;

Facts facts_of(const RunRecord& record) {
  Facts facts = record.machine;
  facts["version"] = record.version;
  for (const auto& [flag, values] : record.flags)
    for (const std::string& value : values) facts["--" + flag] += (facts["--" + flag].empty() ? "" : ", ") + value;
  for (const InputFile& input : record.inputs) facts[input.kind + " " + input.path] = input.digest;
  return facts;
}

std::vector<FactDifference> differences(const Facts& a, const Facts& b) {
  std::vector<FactDifference> out;
  std::set<std::string> names;
  for (const Facts* facts : {&a, &b})
    for (const auto& [name, value] : *facts) names.insert(name);
  for (const std::string& name : names) {
    const std::string in_a = a.contains(name) ? a.at(name) : "", in_b = b.contains(name) ? b.at(name) : "";
    if (in_a != in_b) out.push_back({name, in_a, in_b});
  }
  return out;
}

std::vector<ScoreDifference> scores_of(const RunSummary& a, const RunSummary& b) {
  std::vector<ScoreDifference> out;
  for (const MetricRow::Best& best : a.best) out.push_back({best.name, best.value, {}});
  for (const MetricRow::Best& best : b.best) {
    const auto found = std::find_if(out.begin(), out.end(), [&](const auto& score) { return score.name == best.name; });
    if (found != out.end())
      found->b = best.value;
    else
      out.push_back({best.name, {}, best.value});
  }
  return out;
}

}  // namespace

std::vector<std::string> line_differences(const std::string& before, const std::string& after) {
  const std::vector<std::string> a = lines_of(before), b = lines_of(after);
  const bool compared = a.size() <= kMaxLines && b.size() <= kMaxLines;
  const std::vector<std::vector<int>> lengths = compared ? common_lengths(a, b) : std::vector<std::vector<int>>();
  std::vector<std::string> lines;
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j] && compared) {
      ++i, ++j;
    } else if (i < a.size() && (j == b.size() || !compared || lengths[i + 1][j] >= lengths[i][j + 1])) {
      lines.push_back("- " + a[i++]);
    } else {
      lines.push_back("+ " + b[j++]);
    }
  }
  return before == after ? std::vector<std::string>() : lines;
}

RunComparison compare_runs(const std::string& a, const std::string& b) {
  const RunSummary summary_a = read_run(a), summary_b = read_run(b);
  const RunPaths paths_a(a), paths_b(b);
  RunComparison comparison;
  std::set<std::string> names = prototxts_in(paths_a.folder);
  names.merge(prototxts_in(paths_b.folder));
  for (const std::string& name : names) {
    std::vector<std::string> lines = line_differences(without_folder(text_of(paths_a.folder, name), paths_a.folder),
                                                      without_folder(text_of(paths_b.folder, name), paths_b.folder));
    if (!lines.empty()) comparison.files.push_back({name, std::move(lines)});
  }
  comparison.facts = differences(facts_of(read_record(paths_a.record)), facts_of(read_record(paths_b.record)));
  comparison.scores = scores_of(summary_a, summary_b);
  return comparison;
}

}  // namespace cortado::runs
