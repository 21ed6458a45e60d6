#include "proto/weights/weights_npz.h"

#include <charconv>
#include <map>
#include <set>

#include "core/error.h"
#include "core/files/crc.h"
#include "formats/npy.h"
#include "formats/value_bytes.h"
#include "formats/zip.h"
#include "proto/weights/weights_file.h"

namespace cortado {

namespace {

constexpr std::string_view kEnding = ".npy";

/// "conv1/7x7_s2/0.npy" is blob 0 of layer conv1/7x7_s2.
std::pair<std::string, size_t> split_entry_name(const WireFile& file, std::string_view name) {
  const std::string whole(name.substr(0, 100));
  if (name.ends_with(kEnding)) name.remove_suffix(kEnding.size());
  const size_t slash = name.rfind('/');
  if (slash != std::string_view::npos) {
    const char *first = name.data() + slash + 1, *last = name.data() + name.size();
    size_t index = 0;
    const auto [end, failure] = std::from_chars(first, last, index);
    if (failure == std::errc() && end == last && (last - first == 1 || *first != '0'))
      return {std::string(name.substr(0, slash)), index};
  }
  file.fail("array '" + whole + "' is not named as a blob of a layer, which is 'conv1/0'",
            "name arrays by the layer, a slash and Caffe's number: 0 for weights, 1 for the bias");
}

BlobFile blob_of_entry(const WireFile& file, const ZipEntry& entry) {
  try {
    NpyArray array = parse_npy(entry.content, entry.name);
    return {array.shape, std::move(array.values)};
  } catch (const Error& error) {
    file.fail("array '" + entry.name.substr(0, 100) + "': " + error.mistakes()[0].message);
  }
}

/// Calls `use` for the arrays of all layers with their names in the archive.
template <typename Use>
void for_each_blob(const std::vector<LayerWeights>& layers, const Use& use) {
  for (const LayerWeights& layer : layers)
    for (size_t i = 0; i < layer.blobs.size(); ++i)
      if (!is_absent(layer.blobs[i])) use(layer.name + "/" + std::to_string(i) + std::string(kEnding), layer.blobs[i]);
}

}  // namespace

bool looks_like_npz(std::string_view content) {
  if (!content.starts_with("PK\x03\x04") || content.size() < 30) return false;
  const size_t name = uint8_t(content[26]) | size_t(uint8_t(content[27])) << 8;
  return content.substr(30, name).ends_with(kEnding);
}

std::vector<LayerWeights> read_weights_npz(const WireFile& file, WeightsOrigin& origin) {
  origin.container = WeightsOrigin::kNpz;
  const std::vector<ZipEntry> entries = read_zip(file);
  std::map<std::string, size_t> sizes, places;  // per layer: its number of blobs, and its index in `layers`
  for (const ZipEntry& entry : entries) ++sizes[split_entry_name(file, entry.name).first];
  std::set<std::string> seen;
  std::vector<LayerWeights> layers;
  for (const ZipEntry& entry : entries) {
    const auto [name, index] = split_entry_name(file, entry.name);
    const auto [place, added] = places.emplace(name, layers.size());
    if (index >= sizes[name]) file.fail("array '" + entry.name + "': a blob before it is missing");
    if (!seen.insert(name + "/" + std::to_string(index)).second) file.fail("array '" + entry.name + "' occurs twice");
    if (added) {
      layers.push_back({name, "", {}});
      layers.back().blobs.resize(sizes[name]);  // all are filled: there are as many names as blobs, and no duplicates
    }
    layers[place->second].blobs[index] = blob_of_entry(file, entry);
  }
  return layers;
}

std::string write_weights_npz(const std::string& path, const std::vector<LayerWeights>& layers, bool halves) {
  constexpr int64_t kAround = 512;  // upper bound of the archive's overhead for an array, without its name
  int64_t bytes = 0;
  std::set<std::string> names;
  for_each_blob(layers, [&](const std::string& name, const BlobFile& blob) {
    if (!names.insert(name).second) throw Error(ExitCode::kUsage, path + ": two layers have the blob '" + name + "'");
    bytes += int64_t(blob.data.size() * (halves ? 2 : 4) + 2 * name.size()) + kAround;
  });
  ZipWriter writer(path, bytes);
  for_each_blob(layers, [&](const std::string& name, const BlobFile& blob) {
    const std::string header = npy_header(blob.shape, halves);
    uint32_t crc = crc_of(header);
    append_values(blob.data, halves, [&](std::string_view piece) { crc = crc_of(piece, crc); });
    writer.begin(name, header.size() + blob.data.size() * (halves ? 2 : 4), crc);
    writer.append(header);
    append_values(blob.data, halves, [&](std::string_view piece) { writer.append(piece); });
  });
  return writer.commit();
}

}  // namespace cortado
