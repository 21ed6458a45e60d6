// `cortado convert weights`: converts weights between the formats of Caffe's forks and of other programs. The input's
// format follows from its content, the output's from --format or its name; it is an error if these disagree.
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/log.h"
#include "core/text/json.h"
#include "core/text/text.h"
#include "proto/files/read_text.h"
#include "proto/weights/batch_norm_form.h"
#include "proto/weights/write_weights.h"
#include "tools/convert/convert.h"
#include "tools/options/run_options.h"
#include "tools/output/output_name.h"
#include "tools/output/terminal.h"

namespace cortado::tools {

namespace {

using nlohmann::ordered_json;

struct Loaded {
  WeightsOrigin origin;
  std::vector<LayerWeights> layers;
  std::vector<std::string> converted;  ///< BatchNorm layers whose form --model changed
};

const std::map<std::string, WeightsTarget>& targets() {
  static const std::map<std::string, WeightsTarget> targets = {
      {"bvlc", {WeightsOrigin::kCaffemodel, Dialect::kBvlc}},
      {"nvidia", {WeightsOrigin::kCaffemodel, Dialect::kNvidia}},
      {"intel", {WeightsOrigin::kCaffemodel, Dialect::kIntel}},
      {"safetensors", {WeightsOrigin::kSafetensors}},
      {"h5", {WeightsOrigin::kHdf5}},
      {"npz", {WeightsOrigin::kNpz}},
  };
  return targets;
}

/// The format by --format or the output's name, which must agree; "bvlc" if neither has one.
std::string target_name(const Arguments& arguments, const std::string& output) {
  const std::vector<OutputFormat> formats = {{"caffemodel", {".caffemodel"}, {"bvlc", "nvidia", "intel"}},
                                             {"h5", {".h5", ".hdf5"}},
                                             {"safetensors", {".safetensors"}},
                                             {"npz", {".npz"}}};
  const std::string name = format_chosen(arguments, "format", output, "weights", formats);
  return name.empty() || name == "caffemodel" ? "bvlc" : name;
}

int64_t values_of(const LayerWeights& layer) {
  int64_t count = 0;
  for (const BlobFile& blob : layer.blobs) count += int64_t(blob.data.size());
  return count;
}

/// Takes layer types that the file lacks, and the form of BatchNorm, from the net.
void fit_to_net(const std::string& path, Loaded& loaded) {
  const NetFile file = read_net(path);
  std::vector<const caffe::LayerParameter*> net;
  std::map<std::string, std::string> types;
  for (const caffe::LayerParameter& layer : file.net.layer()) {
    net.push_back(&layer);
    types[layer.name()] = layer.type();
  }
  bool found = false;
  for (LayerWeights& layer : loaded.layers) {
    const auto type = types.find(layer.name);
    if (type == types.end()) continue;
    found = true;
    if (!layer.type.empty()) continue;
    layer.type = type->second;
    normalize_bn_blobs(layer);
  }
  if (!found)
    throw usage_error(path + " has no layer with the name of a layer in the file",
                      "give the net of the weights, which are matched by layer name");
  FittedWeights fitted = fit_batch_norms(net, loaded.layers);
  loaded.converted = std::move(fitted.converted);
  std::vector<LayerWeights> layers;
  for (const LayerWeights* layer : fitted.layers) layers.push_back(*layer);
  loaded.layers = std::move(layers);
}

ordered_json origin_json(const std::string& path, const Loaded& loaded) {
  const WeightsOrigin& origin = loaded.origin;
  const char* containers[] = {"caffemodel", "hdf5", "safetensors", "npz", "onnx"};
  ordered_json json = {{"file", path}, {"container", containers[origin.container]}};
  if (origin.container == WeightsOrigin::kCaffemodel) json["dialect"] = name_of(origin.dialect);
  json.update({{"describes", origin.str()}, {"net", origin.net}});
  int64_t values = 0;
  json["layers"] = ordered_json::array();
  for (const LayerWeights& layer : loaded.layers) {
    ordered_json shapes = ordered_json::array();
    for (const BlobFile& blob : layer.blobs) shapes.push_back(blob.shape.dims());
    json["layers"].push_back({{"name", layer.name}, {"type", layer.type}, {"shapes", shapes}});
    values += values_of(layer);
  }
  json["values"] = values;
  return json;
}

std::string dump(const ordered_json& json) { return dumped_json(json, 1) + "\n"; }

int list_weights(const std::string& path, const Loaded& loaded, bool json) {
  if (json) {
    std::cout << dump(origin_json(path, loaded));
    return 0;
  }
  Table table({"layer", "type", "blobs", "values"});
  int64_t values = 0;
  for (const LayerWeights& layer : loaded.layers) {
    std::string shapes;
    for (const BlobFile& blob : layer.blobs) shapes += (shapes.empty() ? "" : ", ") + blob.shape.str();
    table.add({layer.name, layer.type, shapes, count_text(values_of(layer))});
    values += values_of(layer);
  }
  std::cout << table.str({3}) << "\n"
            << path << ": " << loaded.origin.str()
            << (loaded.origin.net.empty() ? "" : ", net '" + loaded.origin.net + "'") << ", " << loaded.layers.size()
            << " layers, " << count_text(values) << " values\n";
  return 0;
}

Loaded load(const Arguments& arguments, const std::string& path) {
  Loaded loaded;
  loaded.layers = read_weights(path, nullptr, &loaded.origin);
  log_info() << path << ": weights of " << loaded.origin.str();
  if (const std::string net = arguments.text("model"); !net.empty()) fit_to_net(net, loaded);
  for (const std::string& line : loaded.converted) log_info() << "BatchNorm " << line;
  return loaded;
}

int run_convert_weights(const Arguments& arguments) {
  const std::vector<std::string>& files = arguments.operands();
  std::string output = arguments.text("output");
  if (output.empty() && files.size() == 2) output = files[1];
  if (files.size() == 2 && output != files[1]) throw usage_error("unexpected argument '" + files[1] + "'");
  const bool lists = arguments.on("list");
  if (output.empty() && !lists)
    throw usage_error("--output=FILE is required", "name the file to write, or show the layers of a file with --list");
  const std::string to = target_name(arguments, output);
  if (!lists) check_may_replace(arguments, output);
  Loaded loaded = load(arguments, files[0]);
  if (lists) return list_weights(files[0], loaded, arguments.on("json"));
  WeightsTarget target = targets().at(to);
  target.halves = arguments.has("half");
  ordered_json json = origin_json(files[0], loaded);
  const size_t layers = loaded.layers.size();
  const std::string digest = write_weights_as(target, output, loaded.origin.net, std::move(loaded.layers));
  if (arguments.on("json")) {
    json.update({{"output", output}, {"to", to}, {"converted", loaded.converted}, {"digest", digest}});
    std::cout << dump(json);
  } else {
    std::cout << output << ": " << count_of(layers, "layer", "layers") << " as " << to << ", from "
              << loaded.origin.str() << "\n";
  }
  return 0;
}

}  // namespace

Command convert_weights_command() {
  Flag format = format_flag({"bvlc", "nvidia", "intel", "safetensors", "h5", "npz"});
  format.former = {"to"};
  Flag model = with_note(model_flag(), "its BatchNorm and Scale layers decide the form of theirs");
  model.required = model.operand = false;
  model.former = {"net"};
  return {
      .name = "convert weights",
      .summary = "Convert weights between Caffe's dialects, HDF5, safetensors and NumPy",
      .flags = {output_flag("FILE", "weights; the ending is the format"),
                format,
                model,
                with_note(half_flag(), "nvidia, safetensors, npz"),
                {.name = "list", .help = "show the layers of the file and write nothing"},
                force_flag(),
                json_flag()},
      .operands = {"IN [OUT]", "weights of any format", 1, 2},
      .examples = {{"cortado convert weights nv.caffemodel bvlc.caffemodel --model=train_val.prototxt",
                    "any Caffe's weights for BVLC's, with BatchNorm and Scale as in the net"},
                   {"cortado convert weights net.caffemodel net.safetensors", "tensors named conv1.0, conv1.1, ..."},
                   {"cortado convert weights net.caffemodel net.npz", "NumPy arrays named conv1/0, conv1/1, ..."},
                   {"cortado convert weights net.caffemodel --list", "dialect, layers, types and shapes"}},
      .run = run_convert_weights,
      .about =
          "The input may be a .caffemodel of BVLC, NVIDIA or Intel, HDF5, safetensors or .npz. A BatchNorm "
          "with a scale becomes a BatchNorm and a Scale layer, or the reverse, as --model has them; without "
          "--model, --format=bvlc adds a layer NAME_scale after it."};
}

}  // namespace cortado::tools
