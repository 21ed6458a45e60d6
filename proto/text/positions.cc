#include "proto/text/positions.h"

#include <algorithm>
#include <utility>

namespace cortado {

namespace {

/// Removes the part before the first dot from `path` and returns it.
std::string_view next_part(std::string_view& path) {
  const size_t dot = path.find('.');
  const std::string_view part = path.substr(0, dot);
  path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  return part;
}

}  // namespace

Positions::Positions(std::string file, std::string_view text) : file_(std::move(file)) {
  auto source = std::make_shared<Source>();
  source->file = file_;
  source->text = text;
  source->line_starts = {0};
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') source->line_starts.push_back(uint32_t(i + 1));
  sources_ = {std::move(source)};
}

Place Positions::at(Position position) const { return at(position, 0); }

Place Positions::at(Position position, uint32_t index) const {
  if (index >= sources_.size()) return {file_, position.line, position.column, {}};
  const Source& source = *sources_[index];
  Place place{source.file, position.line, position.column, {}};
  if (position.line <= 0 || size_t(position.line) > source.line_starts.size()) return place;
  constexpr size_t kLongest = 1000;  // longer lines are truncated in messages
  if (position.column > int(kLongest)) return place;
  std::string_view line = std::string_view(source.text).substr(source.line_starts[size_t(position.line) - 1]);
  line = line.substr(0, std::min(line.find('\n'), kLongest));
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  place.text = line;
  return place;
}

Place Positions::place(std::string_view path) const {
  const Node& node = nearest_known(path);
  return at(node.value, node.source);
}

Place Positions::name_place(std::string_view path) const {
  const Node& node = nearest_known(path);
  return at(node.name, node.source);
}

bool Positions::known(std::string_view path) const {
  const Node* node = find(path);
  return node != nullptr && node->name.line > 0;
}

const Positions::Node* Positions::find(std::string_view path) const {
  const Node* node = &root_;
  while (!path.empty()) {
    const auto child = node->children.find(next_part(path));
    if (child == node->children.end()) return nullptr;
    node = &child->second;
  }
  return node;
}

const Positions::Node& Positions::nearest_known(std::string_view path) const {
  const Node* node = &root_;
  const Node* known = node;
  while (!path.empty()) {
    const auto child = node->children.find(next_part(path));
    if (child == node->children.end()) break;
    node = &child->second;
    if (node->name.line > 0) known = node;
  }
  return *known;
}

Positions::Node& Positions::make(const std::string& path) {
  Node* node = &root_;
  for (std::string_view rest = path; !rest.empty();) node = &node->children[std::string(next_part(rest))];
  return *node;
}

void Positions::add(const std::string& path, Position name, Position value) {
  if (++size_ > kMax) return;
  Node& node = make(path);
  node.name = name;
  node.value = value;
}

void Positions::copy(const std::string& from, const std::string& to) {
  const Node* source = find(from);
  if (source == nullptr || from == to) return;
  Node node = *source;  // a copy, because creating `to` may move `from`
  make(to) = std::move(node);
}

void Positions::copy_node(const std::string& from, const std::string& to) {
  const Node* source = find(from);
  if (source == nullptr) return;
  const Position name = source->name, value = source->value;
  const uint32_t text = source->source;
  Node& node = make(to);
  node.name = name;
  node.value = value;
  node.source = text;
}

void Positions::move(const std::string& from, const std::string& to) {
  copy(from, to);
  if (from != to) erase(from);
}

void Positions::erase(const std::string& path) {
  const size_t dot = path.rfind('.');
  const std::string parent = dot == std::string::npos ? "" : path.substr(0, dot);
  if (find(parent) == nullptr) return;
  make(parent).children.erase(dot == std::string::npos ? path : path.substr(dot + 1));
}

void Positions::set_source(Node& node, uint32_t source) {
  node.source = source;
  for (auto& [part, child] : node.children) set_source(child, source);
}

void Positions::take(const Positions& other, const std::string& from, const std::string& to) {
  const Node* found = other.find(from);
  if (found == nullptr || other.sources_.empty()) return;
  if (sources_.empty()) sources_.push_back(std::make_shared<Source>(Source{file_, "", {}}));
  auto source = std::find(sources_.begin(), sources_.end(), other.sources_[0]);
  if (source == sources_.end()) source = sources_.insert(source, other.sources_[0]);
  Node node = *found;
  set_source(node, uint32_t(source - sources_.begin()));
  make(to) = std::move(node);
}

Positions Positions::below(const std::string& path) const {
  Positions positions;
  positions.file_ = file_;
  positions.sources_ = sources_;
  if (const Node* node = find(path)) positions.root_ = *node;
  return positions;
}

std::string path_to(const std::string& prefix, std::string_view name, int index) {
  std::string path = prefix;
  if (!path.empty()) path += '.';
  path += name;
  if (index >= 0) path += "[" + std::to_string(index) + "]";
  return path;
}

}  // namespace cortado
