#pragma once

// Messages of the schema as lists of named values, to compare and to show them.

#include <google/protobuf/message.h>

#include <string>
#include <vector>

namespace cortado::runs {

/// A field by its path in the message, "convolution_param.num_output" or "param[1].lr_mult", and its value.
struct FieldValue {
  std::string path, value;
};

/// The fields that the message sets, in the order of cortado.proto. The elements of a repeated field that are not
/// messages are one value, "5, 5".
std::vector<FieldValue> fields_of(const google::protobuf::Message& message);

/// The value of a field that is not a message, or else its default.
std::string field_text(const google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field);

/// The default of the field with this path; "" if it has none.
std::string default_text(const google::protobuf::Descriptor& message, const std::string& path);

/// The fields that a solver sets, without nets and the snapshots' prefix, whose paths are in the run itself.
std::vector<FieldValue> settings_of(const google::protobuf::Message& solver);

/// A setting of a solver that is not its default.
struct ChangedSetting {
  std::string name, value, fallback;  ///< fallback: "" if the field has no default
};
/// Those of settings_of().
std::vector<ChangedSetting> changed_settings(const google::protobuf::Message& solver);

}  // namespace cortado::runs
