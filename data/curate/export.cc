// Exports a database as image files.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/error.h"
#include "core/files/file.h"
#include "core/files/made_folders.h"
#include "data/curate/curate.h"
#include "data/curate/records.h"
#include "data/formats/datum.h"
#include "data/formats/labels.h"
#include "data/image/image_formats.h"
#include "data/image/png.h"
#include "data/sources/datum_reader.h"

namespace cortado::data {

namespace {

/// A valid name of a single file or folder, not hidden, from any text.
std::string safe_name(std::string_view name) {
  std::string safe;
  for (const char c : name.substr(0, 200)) safe += c == '/' || static_cast<unsigned char>(c) < 0x20 ? '_' : c;
  if (safe.empty() || safe[0] == '.') safe = "_" + safe;
  return safe;
}

std::string ending_of(std::string_view file) {
  const ImageFormat* const format = image_format_of(file);
  return format == nullptr ? ".img" : format->endings[0];
}

Image interleaved(const Sample& sample) {
  if (sample.bytes == nullptr) throw SampleError("it contains floats, which image files cannot store");
  if (sample.channels != 1 && sample.channels != 3)
    throw SampleError("it has " + std::to_string(sample.channels) + " channels, but images have 1 or 3");
  Image image;
  image.resize(sample.channels, sample.height, sample.width);
  const size_t plane = size_t(sample.height) * size_t(sample.width), channels = size_t(sample.channels);
  for (size_t c = 0; c < channels; ++c)
    for (size_t i = 0; i < plane; ++i) image.pixels[i * channels + c] = sample.bytes[c * plane + i];
  return image;
}

/// A unique folder for each label, because names may be equal, or differ only in characters that folder names cannot
/// have.
std::map<int32_t, std::string> folders_of(const std::vector<int32_t>& labels, const std::vector<std::string>& names) {
  std::map<int32_t, std::string> folders;
  std::set<std::string> taken;
  for (const int32_t label : std::set<int32_t>(labels.begin(), labels.end())) {
    const std::string number = std::to_string(label);
    std::string folder = label >= 0 && size_t(label) < names.size() ? safe_name(names[size_t(label)]) : number;
    while (!taken.insert(folder).second) folder += "_" + number;
    folders[label] = folder;
  }
  return folders;
}

/// "00000012_3" from "00000012_ant/3.jpg" of the class "ant": without repeating the class and the extension.
std::string stem_of(std::string_view key, const std::string& class_name) {
  std::string name(key);
  if (const size_t at = name.find("_" + class_name + "/"); at != std::string::npos)
    name.erase(at + 1, class_name.size() + 1);
  const size_t dot = name.rfind('.');
  if (dot != std::string::npos && name.size() - dot <= 6) name.resize(dot);
  return safe_name(name);
}

/// Unique paths of files, because keys may differ only in characters that names cannot have.
class FreePaths {
 public:
  std::string take(const std::string& folder, const std::string& stem, const std::string& ending) {
    std::string path = join_path(folder, stem + ending);
    int64_t& number = last_[path];
    while (!taken_.insert(path).second) path = join_path(folder, stem + "_" + std::to_string(++number) + ending);
    return path;
  }

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int64_t> last_;  ///< the number that was appended to a path's stem
};

/// Unlike write_file_atomically() without a sync for each file, because place_folder() syncs all.
void write_image(const std::string& path, const ImageFile& image) {
  std::ofstream file(path, std::ios::binary);
  file.write(image.content.data(), std::streamsize(image.content.size()));
  file.close();
  if (!file) throw file_error(ExitCode::kIo, path, std::string("cannot write the image: ") + std::strerror(errno));
}

}  // namespace

ImageFile image_file_of(std::string_view value) {
  std::vector<float> floats;
  const DatumView datum = parse_datum(datum_in(value), floats);
  if (!datum.encoded.empty()) return {std::string(datum.encoded), ending_of(datum.encoded)};
  return {encode_png(interleaved(datum.raw)), ".png"};
}

Exported export_dataset(const std::string& lmdb, const CurateOptions& options) {
  const std::string target = without_trailing_slashes(options.output);
  if (file_exists(target)) throw file_error(ExitCode::kIo, target, "exists already", "choose another name");
  const Records records(lmdb);
  if (records.annotated())
    throw file_error(ExitCode::kData, lmdb, "its records have objects, but folders of classes cannot store boxes",
                     "use `cortado data cat` to write single images");
  const std::vector<int32_t> labels = records.classes();
  const std::string names_file = names_file_of(lmdb, kLabelsPart);
  const std::vector<std::string> names = names_file.empty() ? std::vector<std::string>() : read_labels(names_file);
  const std::map<int32_t, std::string> folders = folders_of(labels, names);
  remove_leftovers(target);
  const std::string made = temporary_beside(target);
  Exported out;
  FreePaths paths;
  try {
    for (size_t i = 0; i < records.size(); ++i) {
      const Record record = records[i];
      const bool named = labels[i] >= 0 && size_t(labels[i]) < names.size();
      const std::string& folder = folders.at(labels[i]);
      const std::string& class_name = named ? names[size_t(labels[i])] : folder;
      out.classes += std::filesystem::create_directories(join_path(made, folder));
      try {
        const ImageFile image = image_file_of(record.value);
        write_image(paths.take(join_path(made, folder), stem_of(record.key, class_name), image.ending), image);
      } catch (const SampleError& error) {
        throw_bad_record(records.database(), record.key, error);
      }
      ++out.files;
      if (options.progress && i % 64 == 0) options.progress(int64_t(i), int64_t(records.size()));
    }
    records.database().check_unchanged();
    place_folder(made, target);
  } catch (const std::filesystem::filesystem_error& error) {
    std::error_code ignored;
    std::filesystem::remove_all(made, ignored);
    throw file_error(ExitCode::kIo, target, "cannot create the folder: " + error.code().message());
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove_all(made, ignored);
    throw;
  }
  return out;
}

}  // namespace cortado::data
