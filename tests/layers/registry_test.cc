#include "layers/registry.h"
#include "layers/unavailable_types.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/harness/layer_run.h"

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
  for (const auto& entry : std::filesystem::directory_iterator(CORTADO_SOURCE_DIR "/layers")) {
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

TEST(Registry, FindsTypesByTheirExactName) {
  ASSERT_NE(find_layer_type("ReLU"), nullptr);
  EXPECT_EQ(find_layer_type("ReLU")->name, "ReLU");
  EXPECT_EQ(find_layer_type("relu"), nullptr);
  EXPECT_EQ(find_layer_type(""), nullptr);
}

TEST(Registry, SaysOfEachTypeWhatPeopleAsk) {
  for (const LayerType* type : all_layer_types()) {
    EXPECT_FALSE(type->help.empty()) << type->name;
    EXPECT_TRUE(type->most_x == -1 || type->most_x >= type->least_x) << type->name;
    EXPECT_TRUE(type->most_y == -1 || type->most_y >= type->least_y) << type->name;
    if (type->options.empty()) continue;
    EXPECT_NE(caffe::LayerParameter::descriptor()->FindFieldByName(type->options), nullptr) << type->options;
  }
}

}  // namespace
}  // namespace cortado
