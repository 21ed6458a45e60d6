#include "graph/partial_net.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>

#include "core/text/text.h"
#include "layers/registry.h"
#include "layers/unavailable_types.h"

namespace cortado::graph {

namespace {

auto key_of(const Place& place) { return std::tuple(place.file, place.line, place.column); }

void add_new(std::vector<Diagnostic>& list, const std::vector<Diagnostic>& more) {
  if (more.empty()) return;
  std::unordered_set<std::string> known;
  for (const Diagnostic& mistake : list) known.insert(render(mistake));
  for (const Diagnostic& mistake : more)
    if (known.insert(render(mistake)).second) list.push_back(mistake);
}

/// Normalises a type name: "INNER_PRODUCT" and "InnerProduct" become equal.
std::string bare(const std::string& type) {
  std::string out;
  for (const char c : type)
    if (c != '_') out += c >= 'A' && c <= 'Z' ? char(c + 32) : c;
  return out;
}

/// Types in capitals are the enum values of the format before 2014.
std::string hint_for(const std::string& type) {
  const bool capitals = std::none_of(type.begin(), type.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  std::vector<std::string> known;
  for (const LayerType* one : all_layer_types()) known.push_back(one->name);
  for (const std::string& name : known)
    if (capitals && bare(type) == bare(name))
      return "did you mean '" + name + "'? write it in the current form: layer { type: \"" + name + "\" ... }";
  const std::string meant = did_you_mean(type, known);
  if (!meant.empty()) return meant;
  return "run `cortado layers` for the list of types, or name a class in Python that computes it: --layer=" + type +
         "=MODULE.CLASS";
}

}  // namespace

void NetMistakes::add(const NetMistakes& more) {
  add_new(types, more.types);
  add_new(rest, more.rest);
}

void NetMistakes::throw_if_any(ExitCode code) const {
  std::vector<Diagnostic> all = types;
  all.insert(all.end(), rest.begin(), rest.end());
  if (all.empty()) return;
  if (all.size() > kMaxReported) {
    const size_t left = all.size() - kMaxReported;
    all.resize(kMaxReported);
    all.push_back({Place{all.back().place.file, 0, 0, {}}, "and " + std::to_string(left) + " more errors", {}, {}});
  }
  throw Error(code, std::move(all));
}

Diagnostic unknown_type(const std::string& layer, const std::string& type, const Place& place) {
  const std::string who = layer_text(layer);
  if (type.empty()) return {place, who + " has no type", "run `cortado layers` for the list of types", {}};
  if (const UnavailableType* known = find_unavailable_type(type))
    return {place, who + ": type '" + type + "' " + known->why, known->hint, {}};
  return {place, who + ": unknown layer type '" + type + "'", hint_for(type), {}};
}

PartialNet::PartialNet(const NetFile& file) : file_(file) {
  if (file.mistakes.empty()) return;
  std::map<std::tuple<std::string, int, int>, int> by_place;
  for (int i = 0; i < file.net.layer_size(); ++i)
    by_place[key_of(file.positions.name_place(path_to("", "layer", i)))] = i;
  for (const TextMistake& mistake : file.mistakes) {
    const auto found = by_place.find(key_of(mistake.layer));
    if (!mistake.layer.known() || found == by_place.end()) {
      outside_.push_back(&mistake);
      continue;
    }
    Partial& partial = layers_[path_to("", "layer", found->second)];
    partial.layer = &file.net.layer(found->second);
    partial.mistakes.push_back(&mistake);
    hides_tops_ |= partial.layer->top_size() == 0;
  }
}

std::string PartialNet::type_of(const std::string& path, const caffe::LayerParameter& layer) const {
  if (const auto found = layers_.find(path); found != layers_.end())
    for (const TextMistake* mistake : found->second.mistakes)
      if (!mistake->type.empty()) return mistake->type;
  return layer.type();
}

Place PartialNet::place_of_type(const std::string& path) const {
  if (const auto found = layers_.find(path); found != layers_.end())
    for (const TextMistake* mistake : found->second.mistakes)
      if (!mistake->type.empty()) return mistake->mistake.place;
  return file_.positions.place(path_to(path, "type"));
}

void PartialNet::add_text(NetMistakes& found) const {
  if (file_.mistakes.empty()) return;
  for (const TextMistake* mistake : outside_) found.rest.push_back(mistake->mistake);
  std::vector<Diagnostic> types;
  for (const auto& [path, partial] : layers_) {
    const std::string type = type_of(path, *partial.layer);
    if (!type.empty() && !find_layer_type(type))
      types.push_back(unknown_type(partial.layer->name(), type, place_of_type(path)));
    else
      for (const TextMistake* mistake : partial.mistakes) found.rest.push_back(mistake->mistake);
  }
  add_new(found.types, types);
  const auto earlier = [](const Diagnostic& a, const Diagnostic& b) { return key_of(a.place) < key_of(b.place); };
  std::stable_sort(found.types.begin(), found.types.end(), earlier);
  std::stable_sort(found.rest.begin(), found.rest.end(), earlier);
}

}  // namespace cortado::graph
