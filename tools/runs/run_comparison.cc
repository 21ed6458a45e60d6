#include "tools/runs/run_comparison.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>

#include "core/error.h"
#include "core/files/file.h"
#include "tools/runs/message_fields.h"
#include "tools/runs/resolved_files.h"
#include "tools/runs/run_file.h"
#include "tools/runs/run_folder.h"
#include "tools/runs/run_list.h"
#include "tools/runs/run_record.h"

namespace cortado::runs {

std::string without_folder(std::string text, const std::string& folder) {
  constexpr std::string_view kRun = "RUN", kInNames = "_-./";
  const auto continues_name = [&](unsigned char c) {
    return std::isalnum(c) || c >= 0x80 || kInNames.find(char(c)) != kInNames.npos;
  };
  if (folder.empty()) return text;
  for (size_t at = text.find(folder + "/"); at != text.npos; at = text.find(folder + "/", at)) {
    if (at > 0 && continues_name(text[at - 1])) {
      ++at;  // the end of another folder's name
      continue;
    }
    text.replace(at, folder.size(), kRun);
    at += kRun.size();  // which may contain the folder's name
  }
  return text;
}

namespace {

std::set<std::string> prototxts_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".prototxt" && has_run_file(entry.path().string()))
      names.insert(entry.path().filename().string());
  return names;
}

std::string text_of(const std::string& folder, const std::string& name) {
  const std::string path = join_path(folder, name);
  return has_run_file(path) ? read_run_file(path) : "";
}

std::vector<FileDifference> files_that_differ(const std::string& a, const std::string& b) {
  std::vector<FileDifference> files;
  std::set<std::string> names = prototxts_in(a);
  names.merge(prototxts_in(b));
  for (const std::string& name : names) {
    std::vector<std::string> lines =
        line_differences(without_folder(text_of(a, name), a), without_folder(text_of(b, name), b));
    if (!lines.empty()) files.push_back({name, std::move(lines)});
  }
  return files;
}

/// Values by name, in order.
using Values = std::vector<FieldValue>;

const std::string* value_in(const Values& values, const std::string& name) {
  const auto found = std::find_if(values.begin(), values.end(), [&](const auto& one) { return one.path == name; });
  return found == values.end() ? nullptr : &found->value;
}

bool all_equal(const std::vector<std::string>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

/// The names of all lists, each once, in the order of their first occurrence.
std::vector<std::string> names_of(const std::vector<Values>& lists) {
  std::vector<std::string> names;
  std::set<std::string> known;
  for (const Values& list : lists)
    for (const FieldValue& one : list)
      if (known.insert(one.path).second) names.push_back(one.path);
  return names;
}

/// The names whose values differ. `fallback` is the value of a name that a list does not have.
template <typename Fallback>
std::vector<ValueDifference> differences(const std::vector<Values>& lists, const Fallback& fallback) {
  std::vector<ValueDifference> out;
  for (const std::string& name : names_of(lists)) {
    ValueDifference row{name, {}};
    for (const Values& list : lists) {
      const std::string* value = value_in(list, name);
      row.values.push_back(value ? *value : fallback(name));
    }
    if (!all_equal(row.values)) out.push_back(std::move(row));
  }
  return out;
}

Values changed_in(const caffe::SolverParameter& solver, const std::string& folder) {
  Values settings;
  for (const ChangedSetting& one : changed_settings(solver))
    settings.push_back({one.name, without_folder(one.value, folder)});
  return settings;
}

Values facts_of(const RunRecord& record) {
  std::map<std::string, std::string> facts;
  for (const auto& [flag, values] : record.flags)
    for (const std::string& value : values) facts["--" + flag] += (facts["--" + flag].empty() ? "" : ", ") + value;
  Values out;
  for (const InputFile& input : record.inputs) out.push_back({input.kind + " " + input.path, input.digest});
  for (const auto& [name, value] : facts) out.push_back({name, value});
  out.push_back({"version", record.version});
  for (const auto& [name, value] : record.machine) out.push_back({name, value});
  return out;
}

/// The layers of a net by name, with their fields. Layers of the same name, as for training and testing, get their
/// phase or else a number.
struct NamedLayers {
  std::vector<std::string> order;
  std::map<std::string, const caffe::LayerParameter*> by_name;

  explicit NamedLayers(const caffe::NetParameter& net) {
    for (const caffe::LayerParameter& layer : net.layer()) {
      std::string name = layer.name();
      if (layer.include_size() == 1 && layer.include(0).has_phase())
        name += " (" + caffe::Phase_Name(layer.include(0).phase()) + ")";
      const std::string first = name;
      for (int k = 2; by_name.contains(name); ++k) name = first + " #" + std::to_string(k);
      by_name[name] = &layer;
      order.push_back(name);
    }
  }
};

/// Adds the differences in one layer of nets that may not all have it.
void add_layer(const std::string& net, const std::string& name, const std::vector<NamedLayers>& nets,
               std::vector<LayerDifference>& to) {
  std::vector<std::string> types;
  std::vector<Values> fields;
  for (const NamedLayers& layers : nets) {
    const auto found = layers.by_name.find(name);
    types.push_back(found == layers.by_name.end() ? "" : found->second->type());
    if (found != layers.by_name.end()) fields.push_back(fields_of(*found->second));
  }
  if (fields.size() < nets.size()) {
    to.push_back({net, name, "", types});
    return;
  }
  const auto fallback = [](const std::string& path) {
    return default_text(*caffe::LayerParameter::descriptor(), path);
  };
  for (ValueDifference& field : differences(fields, fallback)) {
    for (size_t i = 0; i < fields.size(); ++i)
      if (!value_in(fields[i], field.name)) field.values[i].clear();
    to.push_back({net, name, field.name, std::move(field.values)});
  }
}

std::vector<LayerDifference> layers_that_differ(const std::vector<std::vector<ResolvedNet>>& runs) {
  std::set<std::string> fields;
  for (const auto& nets : runs)
    for (const ResolvedNet& net : nets) fields.insert(net.field);
  std::vector<LayerDifference> out;
  for (const std::string& field : fields) {
    std::vector<NamedLayers> nets;
    const caffe::NetParameter none;
    for (const auto& of_run : runs) {
      const auto found =
          std::find_if(of_run.begin(), of_run.end(), [&](const auto& net) { return net.field == field; });
      nets.emplace_back(found == of_run.end() ? none : found->net);
    }
    std::set<std::string> known;
    for (const NamedLayers& layers : nets)
      for (const std::string& name : layers.order)
        if (known.insert(name).second) add_layer(field, name, nets, out);
  }
  return out;
}

std::vector<ScoreDifference> scores_of(const std::vector<RunSummary>& runs) {
  std::vector<ScoreDifference> out;
  for (size_t i = 0; i < runs.size(); ++i)
    for (const BestScore& best : runs[i].best) {
      auto found = std::find_if(out.begin(), out.end(), [&](const auto& score) { return score.name == best.name; });
      if (found == out.end())
        found =
            out.insert(out.end(), {best.name, std::vector<std::optional<double>>(runs.size()), best.lower_is_better});
      found->values[i] = best.value;
    }
  return out;
}

}  // namespace

std::string summary_of(const std::vector<LayerDifference>& layers) {
  int added = 0, removed = 0;
  std::set<std::string> changed;
  for (const LayerDifference& one : layers) {
    if (!one.field.empty())
      changed.insert(one.net + " " + one.layer);
    else
      ++(one.values[0].empty() ? added : removed);
  }
  return std::to_string(added) + (added == 1 ? " layer added, " : " layers added, ") + std::to_string(removed) +
         " removed, " + std::to_string(changed.size()) + " changed";
}

RunComparison compare_runs(const std::vector<std::string>& folders) {
  RunComparison comparison;
  std::vector<RunSummary> summaries;
  std::vector<Values> settings, facts;
  std::vector<std::vector<ResolvedNet>> nets;
  for (const std::string& folder : folders) {
    const RunPaths paths(folder);
    summaries.push_back(read_run(folder));
    comparison.runs.push_back(paths.folder);
    facts.push_back(facts_of(read_record(paths.record)));
    settings.emplace_back();
    nets.emplace_back();
    if (!has_run_file(paths.solver)) continue;
    try {
      settings.back() = changed_in(read_solver(paths.solver).solver, paths.folder);
      nets.back() = resolved_nets(paths);
    } catch (const Error&) {  // a run that was killed while its files were written
    }
  }
  comparison.scores = scores_of(summaries);
  comparison.settings = differences(
      settings, [](const std::string& name) { return default_text(*caffe::SolverParameter::descriptor(), name); });
  comparison.layers = layers_that_differ(nets);
  comparison.facts = differences(facts, [](const std::string&) { return std::string(); });
  if (folders.size() > 1) comparison.files = files_that_differ(comparison.runs[0], comparison.runs[1]);
  return comparison;
}

}  // namespace cortado::runs
