// The record of the fields of loss_param that each type reads, by which `check` warns of others, against the results:
// no loss changes by a field that its record lacks, and each field in it changes the loss or is refused.

#include <gtest/gtest.h>

#include "core/error.h"
#include "layers/registry.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

constexpr int kClasses = 3;

Array picked(const Shape& shape, int values) {
  Array array(shape);
  for (size_t i = 0; i < array.size(); ++i) array[i] = double((i * 7 + i / 3) % size_t(values));
  return array;
}

/// Bottoms that losses may have; the first that a type accepts are used.
std::vector<Arrays> bottoms() {
  const Shape shape = {4, kClasses, 2, 2}, rows = {4, 1, 2, 2};
  const Array x = random(shape, 1, 0.1, 0.9), matrix = random({1, 1, kClasses, kClasses}, 2, 0.1, 0.9);
  const Array pairs = random({4, kClasses}, 3, 0.1, 0.9), others = random({4, kClasses}, 4, 0.1, 0.9);
  return {{x, picked(rows, kClasses)},
          {x, picked(shape, 2)},
          {x, picked(rows, kClasses), matrix},
          {pairs, others, picked({4}, 2)},
          {pairs, picked({4}, kClasses)},
          {pairs, others},
          {pairs, others, others, picked({4}, 2)}};
}

struct Setting {
  std::string field;
  std::vector<std::string> texts;
};

const std::vector<Setting> kSettings = {
    {"ignore_label", {"ignore_label: 1"}},
    {"normalization", {"normalization: NONE", "normalization: FULL"}},
    {"normalize", {"normalize: false", "normalize: true"}},
    {"pre_fixed_normalizer", {"normalization: PRE_FIXED pre_fixed_normalizer: 7"}},
    {"label_smoothing", {"label_smoothing: 0.25"}},
    {"class_weight", {"class_weight: 1 class_weight: 2 class_weight: 8"}},
    {"weight_by_label_freqs", {"weight_by_label_freqs: true class_weighting: 1 class_weighting: 2 class_weighting: 8"}},
    {"class_weighting", {"weight_by_label_freqs: true class_weighting: 1 class_weighting: 2 class_weighting: 8"}}};

std::optional<double> loss_of(const std::string& type, const std::string& fields, const Arrays& x) {
  try {
    LayerRun run("type: '" + type + "' loss_param { " + fields + " }", x, {.backward = false});
    run.forward();
    return run.y()[0][0];
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

TEST(LossFields, AreThoseThatTheLossesRead) {
  int tried = 0;
  for (const LayerType* type : all_layer_types()) {
    if (!type->loss || type->name == "Python") continue;
    for (const Arrays& x : bottoms()) {
      if (int(x.size()) < type->min_bottoms || int(x.size()) > type->max_bottoms) continue;
      const std::optional<double> without = loss_of(type->name, "", x);
      if (!without) continue;
      ++tried;
      for (const Setting& setting : kSettings) {
        bool matters = false;
        for (const std::string& text : setting.texts) matters |= loss_of(type->name, text, x) != without;
        EXPECT_EQ(matters, reads_loss_field(*type, setting.field)) << type->name << ": " << setting.field;
      }
      break;
    }
  }
  EXPECT_GE(tried, 12);
}

TEST(LossFields, OfAllTypesExist) {
  const auto* loss = caffe::LossParameter::descriptor();
  EXPECT_EQ(size_t(loss->field_count()), kSettings.size()) << "add the new field to kSettings";
  for (const LayerType* type : all_layer_types()) {
    std::istringstream fields(type->loss_fields);
    for (std::string field; fields >> field;) EXPECT_TRUE(loss->FindFieldByName(field)) << type->name << ": " << field;
  }
}

}  // namespace
}  // namespace cortado::harness
