#include "data/formats/labels.h"

#include "core/files/file.h"
#include "core/files/file_error.h"
#include "data/formats/printable.h"
#include "data/formats/text.h"

namespace cortado::data {

std::vector<std::string> read_labels(const std::string& path) {
  const std::string content = read_file_or_pipe(path, 64 << 20);
  const auto fail = [&](const std::string& what) {
    throw file_error(ExitCode::kData, path, what, "a label file has the name of one class on each line");
  };
  if (content.find('\0') != std::string::npos) fail("this is not a text file");
  const std::string_view text = without_bom(content);
  std::vector<std::string> names;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const bool windows = end > begin && text[end - 1] == '\r';
    names.emplace_back(text.substr(begin, end - begin - (windows ? 1 : 0)));
    begin = end + 1;
  }
  while (!names.empty() && names.back().empty()) names.pop_back();
  if (names.empty()) fail("there are no labels in it");
  return names;
}

std::string labels_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    if (name.empty() || name.back() == '\r' || name.find_first_of(std::string_view("\n\0", 2)) != std::string::npos)
      throw Error(
          ExitCode::kData,
          "the class name '" + printable(name) + "' cannot stand on a line of its own, as files of names want it",
          "rename the class: names are not empty and have no line breaks");
    text += name + "\n";
  }
  return text;
}

}  // namespace cortado::data
