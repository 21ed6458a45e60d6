#include "layers/registry.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "layers/type_names.h"
#include "layers/unavailable_types.h"
#include "tests/harness/layer_run.h"
#include "tests/harness/places.h"

namespace cortado {
namespace {

constexpr const char* kChecks[] = {"check_layer(", "check_pooling(", "check_volumes("};
constexpr const char* kTestPrefix = "test:";  // of types that tests register

std::string file_content(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Normalizes "InnerProduct" and "inner_product" to the same string.
std::string squeezed(std::string name) {
  std::erase(name, '_');
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return name;
}

std::set<std::string> registering_files() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(in_source("layers/types"))) {
    const std::string extension = entry.path().extension();
    if (extension != ".cc" && extension != ".cu") continue;
    if (file_content(entry.path()).find("const RegisterLayer ") == std::string::npos) continue;
    EXPECT_TRUE(names.insert(squeezed(entry.path().stem())).second) << entry.path();
  }
  return names;
}

TEST(Registry, HasOneTypeForEachLayerFile) {
  std::set<std::string> types;
  for (const LayerType* type : all_layer_types())
    if (!type->name.starts_with(kTestPrefix) && type->alias_of.empty()) types.insert(squeezed(type->name));
  types.insert(squeezed(type_names::kReorder));  // not allowed in nets
  EXPECT_EQ(types, registering_files());
  EXPECT_GE(types.size(), 20u);
}

TEST(Registry, ResolvesAliases) {
  for (const char* name : {"SyncBN", "VoxelSoftmax", "WarpCTCLoss", "ConvolutionDepthwise"}) {
    const LayerType* type = find_layer_type(name);
    ASSERT_NE(type, nullptr) << name;
    EXPECT_NE(find_layer_type(type->alias_of), nullptr) << name;
  }
  EXPECT_EQ(kind_of("Reorder"), LayerKind::kInternal);
  for (const LayerType* type : all_layer_types()) EXPECT_NE(type->kind, LayerKind::kInternal) << type->name;
}

/// The value of a number, of several, or of the first extents of shapes.
std::string batch_in(const google::protobuf::Message& layer, const std::string& path) {
  const size_t dot = path.find('.');
  const auto* options = layer.GetDescriptor()->FindFieldByName(path.substr(0, dot));
  EXPECT_NE(options, nullptr) << path;
  const auto& message = layer.GetReflection()->GetMessage(layer, options);
  const auto* field = message.GetDescriptor()->FindFieldByName(path.substr(dot + 1));
  EXPECT_NE(field, nullptr) << path;
  std::string text;
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  if (!field->is_repeated()) printer.PrintFieldValueToString(message, field, -1, &text);
  for (int i = 0; field->is_repeated() && i < message.GetReflection()->FieldSize(message, field); ++i) {
    std::string one;
    printer.PrintFieldValueToString(message, field, i, &one);
    text += one + (one.ends_with(' ') ? "" : " ");
  }
  return text;
}

/// Each type that makes batches says where their size is, and only those.
TEST(Registry, BatchesCanBeChanged) {
  const std::set<std::string> others = {"Python", "Parameter", "ContinuationIndicator"};  // have no batch of their own
  for (const LayerType* type : all_layer_types()) {
    if (type->name.starts_with(kTestPrefix)) continue;
    EXPECT_EQ(type->batch_fields.empty(), type->min_bottoms > 0 || others.contains(type->name)) << type->name;
    caffe::LayerParameter layer;
    layer.set_type(type->name);
    for (caffe::BlobShape* shape : {layer.mutable_input_param()->add_shape(), layer.mutable_input_param()->add_shape(),
                                    layer.mutable_dummy_data_param()->add_shape()}) {
      shape->add_dim(3);
      shape->add_dim(4);
    }
    layer.mutable_dummy_data_param()->add_num(3);
    set_batch(layer, 64);
    for (const std::string& path : type->batch_fields)
      EXPECT_EQ(batch_in(layer, path), path == "input_param.shape"        ? "dim: 64 dim: 4 dim: 64 dim: 4 "
                                       : path == "dummy_data_param.shape" ? "dim: 64 dim: 4 "
                                       : path == "dummy_data_param.num"   ? "64 "
                                                                          : "64")
          << path;
  }
}

/// A batch is the first extent, if there is one.
TEST(Registry, BatchesOfShapesWithFewAxes) {
  caffe::LayerParameter layer;
  layer.set_type("Input");
  for (int axes = 0; axes < 3; ++axes)
    for (caffe::BlobShape* shape = layer.mutable_input_param()->add_shape(); shape->dim_size() < axes;)
      shape->add_dim(3);
  set_batch(layer, 64);
  EXPECT_EQ(batch_in(layer, "input_param.shape"), " dim: 64 dim: 64 dim: 3 ") << "the first has no axes";
}

TEST(Registry, UnavailableTypesAreNotRegistered) {
  for (const LayerType* type : all_layer_types()) EXPECT_EQ(find_unavailable_type(type->name), nullptr) << type->name;
  ASSERT_NE(find_unavailable_type("TRT"), nullptr);
  EXPECT_EQ(find_unavailable_type("Pithon"), nullptr);
}

/// Normalized names of files in a folder of the source tree, and their contents.
std::map<std::string, std::string> contents_of(const std::string& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : std::filesystem::directory_iterator(in_source(folder)))
    contents[squeezed(entry.path().stem())] += file_content(entry.path());
  return contents;
}

/// The built-in types for which `holds` is true neither of their source nor of their test.
std::string types_without(const std::function<bool(const LayerType&, std::string, std::string)>& holds) {
  auto sources = contents_of("layers/types"), tests = contents_of("tests/layers");
  std::string missing;
  for (const LayerType* type : all_layer_types())
    if (!type->name.starts_with(kTestPrefix) &&
        !holds(*type, sources[squeezed(type->name)], tests[squeezed(type->name) + "test"]))
      missing += " " + type->name;
  return missing;
}

/// check_layer() is a function of the harness, like the others, which call it: it measures gradients and runs the layer
/// on all devices.
bool is_checked(const LayerType& type, const std::string& test) {
  const bool checks = std::any_of(std::begin(kChecks), std::end(kChecks),
                                  [&](const char* check) { return test.find(check) != std::string::npos; });
  return checks && test.find("'" + type.name + "'") != std::string::npos;
}

/// If gradients may flow through a layer, its test must measure them.
TEST(Registry, HasTheGradientOfEachTypeMeasured) {
  const auto measured = [](const LayerType& type, const std::string& source, const std::string& test) {
    if (type.max_bottoms == 0 || type.max_tops == 0) return true;
    return source.find("differentiable(int) const override { return false; }") != std::string::npos ||
           is_checked(type, test);
  };
  EXPECT_EQ(types_without(measured), "") << "a type's test is tests/layers/<its name>_test.cc and calls check_layer()";
}

/// A net on a device cannot fall back to the CPU.
TEST(Registry, HasEachTypeRunOnDevices) {
  const std::string others = file_content(in_source("tests/layers/device_code_test.cc"));
  // MemoryData never runs: an Input layer replaces it. Two HDF5Outputs cannot write one file, so that layer is covered
  // by its test.
  const std::set<std::string> apart = {"MemoryData", "HDF5Output"};
  const auto runs = [&](const LayerType& type, const std::string&, const std::string& test) {
    return apart.contains(type.name) || is_checked(type, test) ||
           others.find("\"type: '" + type.name + "'") != std::string::npos;
  };
  EXPECT_EQ(types_without(runs), "") << "its test calls check_layer(), or device_code_test.cc has a line for it";
}

TEST(Registry, FindsTypesByTheirExactName) {
  ASSERT_NE(find_layer_type("ReLU"), nullptr);
  EXPECT_EQ(find_layer_type("ReLU")->name, "ReLU");
  EXPECT_EQ(find_layer_type("relu"), nullptr);
  EXPECT_EQ(find_layer_type(""), nullptr);
}

TEST(Registry, DescribesEachType) {
  for (const LayerType* type : all_layer_types()) {
    EXPECT_FALSE(type->help.empty()) << type->name;
    EXPECT_TRUE(type->max_bottoms == -1 || type->max_bottoms >= type->min_bottoms) << type->name;
    EXPECT_TRUE(type->max_tops == -1 || type->max_tops >= type->min_tops) << type->name;
    if (type->options.empty()) continue;
    EXPECT_NE(caffe::LayerParameter::descriptor()->FindFieldByName(type->options), nullptr) << type->options;
  }
}

}  // namespace
}  // namespace cortado
