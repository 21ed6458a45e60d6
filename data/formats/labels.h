#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "proto/cortado.pb.h"

namespace cortado::data {

/// The names of classes, one a line, in the order of labels; a final empty line and carriage returns do not count.
/// Throws Error(kIo), or Error(kData) for a file that is no text or holds no names.
std::vector<std::string> read_labels(const std::string& path);

/// Such a file of these names. Throws Error(kData) for a name that would not come back from its line: an empty one, or
/// one with a line break in it, which would shift all later names.
std::string labels_text(const std::vector<std::string>& names);

/// Classes that a file may name: texts of more messages are not read.
constexpr size_t kMaxInLabelMap = 100000;

/// A caffe::LabelMap as text. Throws Error(kIo/kNet) as reading a prototxt does, and Error(kData) where a name or a
/// label occurs twice.
caffe::LabelMap read_label_map(const std::string& path);

/// The names to show by label.
std::map<int32_t, std::string> shown_names(const caffe::LabelMap& map);

}  // namespace cortado::data
