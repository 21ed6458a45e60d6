// The schema's comments, for users. Generated code does not contain them, so the build embeds the schema with its
// comments as the bytes of a descriptor set.
#include "proto/text/field_help.h"

#include <google/protobuf/descriptor.pb.h>

#include <memory>

extern const char documented_schema[];
extern const unsigned long documented_schema_size;

namespace cortado {

namespace {

using google::protobuf::DescriptorPool;

const DescriptorPool& documented() {
  static const std::unique_ptr<const DescriptorPool> pool = [] {
    auto made = std::make_unique<DescriptorPool>();
    google::protobuf::FileDescriptorSet files;
    files.ParseFromArray(documented_schema, int(documented_schema_size));
    for (const auto& file : files.file()) made->BuildFile(file);
    return made;
  }();
  return *pool;
}

/// Normalises spaces and removes the mark that is only for developers.
std::string comment_line(const std::string& comment) {
  std::string line;
  for (const char c : comment) {
    const bool blank = c == ' ' || c == '\n' || c == '\t';
    if (!blank)
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  if (!line.empty() && line.back() == ' ') line.pop_back();
  for (const char* mark : {"text only, as all below", "text only; ", "text only"})
    if (line.rfind(mark, 0) == 0) line.erase(0, std::string(mark).size());
  return line;
}

template <typename Described>
std::string comment_of(const Described* described) {
  google::protobuf::SourceLocation place;
  if (described == nullptr || !described->GetSourceLocation(&place)) return {};
  const std::string behind = comment_line(place.trailing_comments);
  return behind.empty() ? comment_line(place.leading_comments) : behind;
}

}  // namespace

std::string help_of(const google::protobuf::FieldDescriptor& field) {
  return comment_of(documented().FindFieldByName(field.full_name()));
}

std::string help_of(const google::protobuf::Descriptor& message) {
  return comment_of(documented().FindMessageTypeByName(message.full_name()));
}

}  // namespace cortado
