#include "proto/weights/weights_hdf5.h"

#include <unistd.h>

#include <charconv>
#include <map>
#include <set>

#include "core/error.h"
#include "core/files/descriptor.h"
#include "core/files/file.h"
#include "formats/hdf5_file.h"
#include "proto/weights/file_kind.h"
#include "proto/weights/weights_file.h"

namespace cortado {

namespace {

constexpr std::string_view kWeightsHdf5Data = "data/";
constexpr size_t kWeightsHdf5MaxBlobs = 100'000;  // with absent ones: a file could otherwise claim any number

/// The index that a name ends with: "0" or "12", but not "007".
std::optional<size_t> number_in(std::string_view text) {
  size_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size() || std::to_string(number) != text) return std::nullopt;
  return number;
}

/// The layer and index of "data/conv1/7x7_s2/0"; none if it is not a blob's name.
std::optional<std::pair<std::string, size_t>> blob_named(std::string_view name) {
  if (!name.starts_with(kWeightsHdf5Data)) return std::nullopt;
  name.remove_prefix(kWeightsHdf5Data.size());
  const size_t slash = name.rfind('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::optional<size_t> index = number_in(name.substr(slash + 1));
  if (!index) return std::nullopt;
  return std::pair(std::string(name.substr(0, slash)), *index);
}

/// Assigns the file's blobs, which come in any order, to layers.
class Shelf {
 public:
  BlobFile& at(const Hdf5Reader& reader, const std::string& layer, size_t index) {
    const auto [place, is_new] = places_.emplace(layer, layers.size());
    if (is_new) layers.push_back({layer, "", {}});
    std::vector<BlobFile>& blobs = layers[place->second].blobs;
    if (index >= kWeightsHdf5MaxBlobs || made_ > kWeightsHdf5MaxBlobs)
      reader.fail("more than " + std::to_string(kWeightsHdf5MaxBlobs) + " blobs");
    for (; blobs.size() <= index; ++made_) blobs.push_back(absent_blob());
    return blobs[index];
  }

  std::vector<LayerWeights> layers;

 private:
  std::map<std::string, size_t> places_;
  size_t made_ = 0;
};

[[noreturn]] void throw_without_weights(const std::string& path) {
  const Hdf5Reader all({.path = path, .names = {}, .values = false});
  for (const TensorEntry& entry : all.entries())
    if (entry.name == "iter")
      all.fail(describe(FileKind::kSolverState) + ", where " + describe(FileKind::kWeights) + " is expected",
               advice_for(FileKind::kSolverState));
  all.fail("an HDF5 file without weights: it has no group 'data' with a group of blobs for each layer");
}

/// Throws if `name`, or a group on its path, is in `others`.
void check_name(const std::string& path, const std::string& name, const std::set<std::string>& others) {
  const auto refuse = [&](const std::string& why) {
    throw file_error(ExitCode::kSnapshot, path, "HDF5 cannot hold '" + name + "': " + why,
                     "rename the layer, or choose snapshot_format: BINARYPROTO");
  };
  for (size_t from = 0; from <= name.size();) {
    const size_t slash = std::min(name.find('/', from), name.size());
    const std::string part = name.substr(from, slash - from);
    if (part.empty() || part == ".") refuse("a part of the name is empty");
    if (slash < name.size() && others.contains(name.substr(0, slash)))
      refuse("'" + name.substr(0, slash) + "' is a blob, and cannot be a group as well");
    from = slash + 1;
  }
}

}  // namespace

bool is_hdf5_file(const std::string& path) {
  std::string why;
  const Descriptor file = open_regular_file(path, why);
  if (!file.ok()) return false;
  for (const off_t at : {0, 512, 1024, 2048, 4096}) {
    char head[8] = {};
    if (::pread(file.fd(), head, 8, at) != 8) return false;
    if (kind_of_content({head, 8}) == FileKind::kHdf5) return true;
  }
  return false;
}

std::vector<LayerWeights> read_weights_hdf5(const std::string& path, std::string* digest) {
  Hdf5Reader reader({.path = path, .names = {std::string(kWeightsHdf5Data)}});
  Shelf shelf;
  for (const TensorEntry& entry : reader.entries()) {
    const auto named = blob_named(entry.name);
    if (!named || entry.type == "STR") {
      reader.skip();
      continue;
    }
    BlobFile& blob = shelf.at(reader, named->first, named->second);
    blob.shape = entry.shape;
    blob.data.resize(size_t(entry.shape.count()));
    reader.read(blob.data.data());
  }
  reader.finish();
  if (shelf.layers.empty()) throw_without_weights(path);
  if (digest != nullptr) *digest = digest_of_file(path);
  return std::move(shelf.layers);
}

TensorEntry hdf5_blob(const std::string& group, const std::string& layer, size_t index, const Shape& shape) {
  return {group + "/" + layer + "/" + std::to_string(index), "F32", shape};
}

void check_hdf5_names(const std::string& path, const std::vector<TensorEntry>& entries) {
  std::set<std::string> names;
  for (const TensorEntry& entry : entries)
    if (!names.insert(entry.name).second)
      throw file_error(ExitCode::kSnapshot, path, "HDF5 cannot hold '" + entry.name + "' twice",
                       "give each layer a unique name");
  for (const TensorEntry& entry : entries) check_name(path, entry.name, names);
}

std::string write_weights_hdf5(const std::string& path, const std::vector<LayerWeights>& layers) {
  std::vector<TensorEntry> entries;
  for (const LayerWeights& layer : layers)
    for (size_t i = 0; i < layer.blobs.size(); ++i)
      if (!is_absent(layer.blobs[i])) entries.push_back(hdf5_blob("data", layer.name, i, layer.blobs[i].shape));
  check_hdf5_names(path, entries);
  Hdf5Writer writer(path, entries);
  for (const LayerWeights& layer : layers)
    for (const BlobFile& blob : layer.blobs)
      if (!is_absent(blob)) writer.add(blob.data.data(), blob.data.size() * sizeof(float));
  return writer.commit();
}

}  // namespace cortado
