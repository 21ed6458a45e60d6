#include "layers/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "layers/unavailable_types.h"
#include "tests/harness/layer_run.h"
#include "tests/harness/places.h"

namespace cortado {
namespace {

constexpr const char* kTestPrefix = "test:";  // of types that tests register

std::string file_content(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// "InnerProduct" and "inner_product" alike.
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
    if (!type->name.starts_with(kTestPrefix)) types.insert(squeezed(type->name));
  EXPECT_EQ(types, registering_files());
  EXPECT_GE(types.size(), 20u);
}

TEST(Registry, WhatIsNotHereIsNotHere) {
  for (const LayerType* type : all_layer_types()) EXPECT_EQ(find_unavailable_type(type->name), nullptr) << type->name;
  ASSERT_NE(find_unavailable_type("Python"), nullptr);
  EXPECT_EQ(find_unavailable_type("Pithon"), nullptr);
}

/// Where gradients may flow through a layer, its test must measure them; check_layer() does.
TEST(Registry, HasTheGradientOfEachTypeMeasured) {
  std::map<std::string, std::string> sources, tests;
  for (const auto& [folder, contents] : {std::pair("layers/types", &sources), std::pair("tests/layers", &tests)})
    for (const auto& entry : std::filesystem::directory_iterator(in_source(folder)))
      (*contents)[squeezed(entry.path().stem())] += file_content(entry.path());
  std::string missing;
  for (const LayerType* type : all_layer_types()) {
    if (type->name.starts_with(kTestPrefix) || type->max_bottoms == 0 || type->max_tops == 0) continue;
    const std::string &source = sources[squeezed(type->name)], &test = tests[squeezed(type->name) + "test"];
    if (source.find("differentiable(int) const override { return false; }") != std::string::npos) continue;
    const bool measured =
        test.find("check_layer(") != std::string::npos && test.find("'" + type->name + "'") != std::string::npos;
    if (!measured) missing += " " + type->name;
  }
  EXPECT_EQ(missing, "") << "a type's test is tests/layers/<its name>_test.cc and calls check_layer()";
}

TEST(Registry, FindsTypesByTheirExactName) {
  ASSERT_NE(find_layer_type("ReLU"), nullptr);
  EXPECT_EQ(find_layer_type("ReLU")->name, "ReLU");
  EXPECT_EQ(find_layer_type("relu"), nullptr);
  EXPECT_EQ(find_layer_type(""), nullptr);
}

TEST(Registry, SaysOfEachTypeWhatPeopleAsk) {
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
