#include "studio/annotation_list.h"

#include <array>
#include <map>

#include "core/files/file.h"
#include "core/text/text.h"
#include "data/image/image_formats.h"
#include "http/request_error.h"

namespace cortado::studio {

using http::Refusal;
using http::RequestError;

namespace {

constexpr int kAnnotationLevels = 4;
constexpr size_t kMaxAnnotated = 1000000;
constexpr std::array kAnnotationEndings = {".xml", ".txt"};

/// Files by their paths without endings, relative to the folder.
struct Found {
  std::map<std::string, std::string> images, annotations;
};

bool is_annotation_name(const std::string& name) {
  const std::string lower = lower_case(name);
  return std::ranges::any_of(kAnnotationEndings, [&](const char* ending) { return lower.ends_with(ending); });
}

void collect(const Folder& folder, const std::string& root, const std::string& below, int levels, Found& found) {
  for (const Entry& entry : folder.list(root + (below.empty() ? "" : "/" + below))) {
    const std::string path = below.empty() ? entry.name : below + "/" + entry.name;
    if (entry.is_folder) {
      if (levels > 0) collect(folder, root, path, levels - 1, found);
      continue;
    }
    const std::string bare = path.substr(0, path.rfind('.'));
    if (data::is_image_name(entry.name)) found.images.emplace(bare, path);
    if (is_annotation_name(entry.name)) found.annotations.emplace(bare, path);
    if (found.images.size() + found.annotations.size() > kMaxAnnotated)
      throw RequestError(Refusal::kTooLarge, root + " has more than a million images and annotations");
  }
}

/// Throws RequestError(kInvalid): lines are split at the last space.
void check_listable(const std::string& image, const std::string& annotation) {
  for (const char c : {'\n', '\r'})
    if (image.find(c) != std::string::npos)
      throw RequestError(Refusal::kInvalid, image + ": a name in a list must not contain line breaks");
  if (annotation.find_first_of(" \t\r\n") != std::string::npos)
    throw RequestError(Refusal::kInvalid, annotation + ": an annotation's name must not contain spaces; rename it");
}

}  // namespace

AnnotationList list_annotations(const Folder& folder, const std::string& path) {
  Found found;
  collect(folder, path, "", kAnnotationLevels, found);
  std::map<std::string, std::string> by_name;
  for (const auto& [bare, annotation] : found.annotations) by_name.emplace(file_name_of(bare), annotation);
  AnnotationList list;
  for (const auto& [bare, image] : found.images) {
    const auto own = found.annotations.find(bare);
    const auto other = by_name.find(file_name_of(bare));
    if (own == found.annotations.end() && other == by_name.end()) {
      ++list.left_out;
      continue;
    }
    const std::string& annotation = own == found.annotations.end() ? other->second : own->second;
    check_listable(image, annotation);
    list.text += image + " " + annotation + "\n";
    ++list.images;
  }
  if (list.images > 0) return list;
  throw RequestError(Refusal::kInvalid,
                     path + " has no image with an annotation of the same name, for example 1.jpg and 1.xml");
}

}  // namespace cortado::studio
