#include "proto/files/relative_paths.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string_view>
#include <vector>

namespace cortado {

namespace {

namespace fs = std::filesystem;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using PathChange = std::function<std::string(const std::string& path)>;

constexpr std::array<std::string_view, 16> kPathFields = {
    "file",   "file_name", "label_map_file",   "mean_file", "meanfile",    "name_size_file",
    "net",    "prefix",    "output_directory", "save_file", "root_folder", "snapshot_prefix",
    "source", "test_net",  "train_net",        "video_file"};
constexpr std::string_view kPathLists = "weights";  ///< paths separated by commas

/// Changes each path of a list, and keeps the blanks between them.
std::string changed_list(const std::string& list, const PathChange& change) {
  std::string out;
  for (size_t at = 0; at <= list.size();) {
    const size_t comma = std::min(list.find(',', at), list.size());
    const std::string part = list.substr(at, comma - at);
    const size_t begin = std::min(part.find_first_not_of(" \t\n"), part.size()),
                 end = part.find_last_not_of(" \t\n") + 1;
    out += (at > 0 ? "," : "") + part.substr(0, begin);
    if (begin < end) out += change(part.substr(begin, end - begin)) + part.substr(end);
    at = comma + 1;
  }
  return out;
}

void change_paths(Message& message, const PathChange& change) {
  const auto& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    const bool holds_paths = field->cpp_type() == FieldDescriptor::CPPTYPE_STRING && is_path_field(*field);
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
        change_paths(field->is_repeated() ? *reflection.MutableRepeatedMessage(&message, field, i)
                                          : *reflection.MutableMessage(&message, field),
                     change);
      if (!holds_paths) continue;
      const std::string old =
          field->is_repeated() ? reflection.GetRepeatedString(message, field, i) : reflection.GetString(message, field);
      const std::string now = field->name() == kPathLists ? changed_list(old, change) : change(old);
      if (field->is_repeated())
        reflection.SetRepeatedString(&message, field, i, now);
      else
        reflection.SetString(&message, field, now);
    }
  }
}

/// Absolute, without links in the part that exists if there are links in the folder's path.
fs::path whole_path(const fs::path& path, bool follows_links) {
  std::error_code failure;
  const fs::path plain = fs::absolute(path, failure).lexically_normal();
  if (!follows_links) return plain;
  const fs::path real = fs::weakly_canonical(plain, failure);
  return failure ? plain : real;
}

/// Whether they have more in common than the root.
bool share_a_folder(const fs::path& a, const fs::path& b) {
  return std::next(a.begin()) != a.end() && std::next(b.begin()) != b.end() &&
         *std::next(a.begin()) == *std::next(b.begin());
}

/// The path in the folder, without "..", unless links give it another meaning. Absolute paths stay.
std::string path_in_folder(const std::string& folder, const std::string& path) {
  const std::string joined = join_path(folder, path);
  if (path.front() == '/' || path.find("..") == path.npos) return joined;
  const std::string plain = fs::path(joined).lexically_normal().string();
  std::error_code missing, ignored;
  const fs::path meant = fs::canonical(fs::absolute(joined, ignored).parent_path(), missing),
                 read = fs::weakly_canonical(fs::absolute(plain, ignored).parent_path(), ignored);
  return missing || meant == read ? plain : joined;
}

}  // namespace

bool is_path_field(const FieldDescriptor& field) {
  return field.name() == kPathLists ||
         std::find(kPathFields.begin(), kPathFields.end(), field.name()) != kPathFields.end();
}

void resolve_paths_from(const std::string& folder, Message& message) {
  change_paths(message, [&](const std::string& path) { return path.empty() ? path : path_in_folder(folder, path); });
}

void resolve_paths(caffe::NetParameter& net, const std::string& name) {
  if (net.relative_to_file()) resolve_paths_from(folder_of(name), net);
  net.clear_relative_to_file();
}

void resolve_paths(caffe::SolverParameter& solver, const std::string& name) {
  const bool all = solver.relative_to_file();
  const auto resolve_inner = [&](caffe::NetParameter& net) {
    if (all) net.clear_relative_to_file();
    resolve_paths(net, name);
  };
  if (solver.has_net_param()) resolve_inner(*solver.mutable_net_param());
  if (solver.has_train_net_param()) resolve_inner(*solver.mutable_train_net_param());
  for (caffe::NetParameter& net : *solver.mutable_test_net_param()) resolve_inner(net);
  if (all) resolve_paths_from(folder_of(name), solver);
  solver.clear_relative_to_file();
}

std::string path_from_folder(const std::string& folder, const std::string& path) {
  if (path.empty()) return path;
  const fs::path base = folder.empty() ? "." : folder;
  const bool has_links = whole_path(base, false) != whole_path(base, true);
  // The part after the last slash may be the beginning of a name.
  const fs::path parent = folder_of(path).empty() ? "." : folder_of(path);
  const fs::path from = without_trailing_slashes(whole_path(base, has_links).string()),
                 to = whole_path(parent, has_links), relative = to.lexically_relative(from);
  const std::string name = file_name_of(path);
  if (relative.empty() || !share_a_folder(from, to)) return whole_path(path, false).string();
  if (relative == ".") return name.empty() ? "./" : name;
  return (relative / name).string();
}

void make_paths_relative(Message& message, const std::string& folder) {
  change_paths(message, [&](const std::string& path) { return path_from_folder(folder, path); });
}

}  // namespace cortado
