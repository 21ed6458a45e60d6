#include "proto/weights/safetensors.h"

#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/half.h"
#include "formats/safetensors_header.h"
#include "formats/value_bytes.h"
#include "proto/weights/batch_norm_form.h"

namespace cortado {

namespace {

struct ElementType {
  std::string_view name;
  size_t bytes;
  float (*load_value)(const char*);
};

template <typename T>
T load_value(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

constexpr ElementType kSafetensorsTypes[] = {
    {"F32", 4, load_value<float>},
    {"F64", 8, [](const char* bytes) { return float(load_value<double>(bytes)); }},
    {"F16", 2, [](const char* bytes) { return half_value(load_value<uint16_t>(bytes)); }},
    {"BF16", 2, [](const char* bytes) { return float(load_value<BFloat16>(bytes)); }},
};

const ElementType& type_named(const WireFile& file, const TensorPlace& tensor) {
  for (const ElementType& type : kSafetensorsTypes)
    if (type.name == tensor.dtype) return type;
  file.fail("tensor '" + tensor.name + "' is of type '" + tensor.dtype.substr(0, 50) +
            "': weights are F32, F64, F16 or BF16");
}

BlobFile blob_of(const WireFile& file, const TensorPlace& tensor, std::string_view values) {
  const ElementType& type = type_named(file, tensor);
  const std::string_view bytes = values.substr(tensor.begin, tensor.end - tensor.begin);
  int64_t count = -1;
  try {
    count = tensor.shape.count();
  } catch (const FieldError&) {  // beyond 2^62
  }
  if (bytes.size() % type.bytes != 0 || count != int64_t(bytes.size() / type.bytes))
    file.fail("tensor '" + tensor.name + "': " + std::to_string(bytes.size()) + " bytes do not fill its shape " +
              tensor.shape.str() + " of " + tensor.dtype);
  BlobFile blob{tensor.shape, std::vector<float>(size_t(count))};
  if (type.name == "F32" && count > 0)
    std::memcpy(blob.data.data(), bytes.data(), bytes.size());
  else
    for (size_t i = 0; i < size_t(count); ++i) blob.data[i] = type.load_value(bytes.data() + i * type.bytes);
  return blob;
}

/// "conv1.0" is blob 0 of layer conv1.
std::pair<std::string, size_t> split_name(const WireFile& file, const std::string& name) {
  const size_t dot = name.rfind('.');
  size_t index = 0;
  if (dot != std::string::npos) {
    const char *first = name.data() + dot + 1, *last = name.data() + name.size();
    const auto [end, failure] = std::from_chars(first, last, index);
    if (failure == std::errc() && end == last && (last - first == 1 || *first != '0'))
      return {name.substr(0, dot), index};
  }
  file.fail("tensor '" + name.substr(0, 100) + "' is not named as a blob of a layer, which is 'conv1.0'",
            "rename tensors to the layer's name, a dot and Caffe's number: 0 for weights, 1 for the bias");
}

void tell_types(const SafetensorsHeader& header, WeightsOrigin& origin) {
  origin.container = WeightsOrigin::kSafetensors;
  if (const auto net = header.metadata.find("net"); net != header.metadata.end()) origin.net = net->second;
  for (const TensorPlace& tensor : header.tensors) {
    origin.halves |= tensor.dtype == "F16" || tensor.dtype == "BF16";
    origin.doubles |= tensor.dtype == "F64";
  }
}

}  // namespace

bool looks_like_safetensors(std::string_view content) {
  uint64_t length = 0;
  if (content.size() < 10 || content[8] != '{') return false;
  std::memcpy(&length, content.data(), sizeof length);
  // An absurd length counts too, unless a net's name may begin there.
  const bool object = content[9] == '"' || content[9] == '}' || content[9] == ' ' || content[9] == '\n';
  return length <= UINT32_MAX || (object && content[0] != '\n');
}

std::vector<LayerWeights> read_safetensors(const WireFile& file, WeightsOrigin& origin) {
  const SafetensorsHeader header = read_safetensors_header(file);
  tell_types(header, origin);
  std::map<std::string, size_t> sizes, places;  // per layer: its number of blobs, and its index in `layers`
  for (const TensorPlace& tensor : header.tensors) ++sizes[split_name(file, tensor.name).first];
  std::vector<LayerWeights> layers;
  for (const TensorPlace& tensor : header.tensors) {
    const auto [name, index] = split_name(file, tensor.name);
    const auto [place, added] = places.emplace(name, layers.size());
    if (index >= sizes[name]) file.fail("tensor '" + tensor.name + "': a blob before it is missing");
    if (added) {
      const auto type = header.metadata.find("type:" + name);
      layers.push_back({name, type == header.metadata.end() ? "" : type->second, {}});
      layers.back().blobs.resize(sizes[name]);  // all are filled: there are as many names as blobs, and no duplicates
    }
    layers[place->second].blobs[index] = blob_of(file, tensor, header.values);
  }
  for (LayerWeights& layer : layers) {
    if (layer.type == "BatchNorm") origin.batch_norm_blobs = std::max(origin.batch_norm_blobs, int(layer.blobs.size()));
    normalize_bn_blobs(layer);
  }
  return layers;
}

namespace {

std::string header_of(const std::string& path, const std::vector<LayerWeights>& layers, const std::string& net,
                      size_t bytes) {
  nlohmann::ordered_json json = {{"__metadata__", {{"format", "caffe"}, {"net", net}}}};
  uint64_t at = 0;
  std::map<std::string, int> used;
  for (const LayerWeights& layer : layers) {
    if (++used[layer.name] > 1) throw Error(ExitCode::kUsage, path + ": two layers are named '" + layer.name + "'");
    json["__metadata__"]["type:" + layer.name] = layer.type;
    for (size_t k = 0; k < layer.blobs.size(); ++k) {
      const uint64_t end = at + layer.blobs[k].data.size() * bytes;
      json.push_back({layer.name + "." + std::to_string(k),
                      {{"dtype", bytes == 2 ? "F16" : "F32"},
                       {"shape", layer.blobs[k].shape.dims()},
                       {"data_offsets", {at, end}}}});
      at = end;
    }
  }
  try {
    std::string text = json.dump();
    text.append((8 - text.size() % 8) % 8, ' ');  // values begin at a multiple of 8
    return text;
  } catch (const nlohmann::json::exception&) {
    throw Error(ExitCode::kUsage, path + ": a layer's name is not UTF-8, which safetensors requires");
  }
}

}  // namespace

std::string write_safetensors(const std::string& path, const std::vector<LayerWeights>& layers, const std::string& net,
                              bool halves) {
  const std::string header = header_of(path, layers, net, halves ? 2 : 4);
  uint64_t values = 0;
  for (const LayerWeights& layer : layers)
    for (const BlobFile& blob : layer.blobs) values += blob.data.size() * (halves ? 2 : 4);
  AtomicFile file(path, int64_t(8 + header.size() + values));
  Digest digest;
  const auto append = [&](std::string_view piece) {
    file.append(piece);
    digest.add(piece);
  };
  const uint64_t length = header.size();
  append({reinterpret_cast<const char*>(&length), sizeof length});
  append(header);
  for (const LayerWeights& layer : layers)
    for (const BlobFile& blob : layer.blobs) append_values(blob.data, halves, append);
  file.commit();
  return digest.str();
}

}  // namespace cortado
