#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "proto/cortado.pb.h"

namespace cortado::data {

/// Classes that a file may name: texts of more messages are not read.
constexpr size_t kMostInLabelMap = 100000;

/// A caffe::LabelMap as text. Throws Error(kIo/kNet) as reading a prototxt does, and Error(kData) where a name or a
/// label occurs twice.
caffe::LabelMap read_label_map(const std::string& path);

/// The names to show by label.
std::map<int32_t, std::string> shown_names(const caffe::LabelMap& map);

}  // namespace cortado::data
