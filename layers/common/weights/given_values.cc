#include "layers/common/weights/given_values.h"

#include <cstring>
#include <string>

namespace cortado {

namespace {

constexpr int kField = 60000;  // of no message of Caffe's family

}  // namespace

caffe::FillerParameter filler_of_values(const std::vector<float>& values) {
  caffe::FillerParameter filler;
  filler.GetReflection()->MutableUnknownFields(&filler)->AddLengthDelimited(
      kField, std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
  return filler;
}

bool put_given_values(const caffe::FillerParameter& filler, const Shape& shape, float* plain) {
  const auto& fields = filler.GetReflection()->GetUnknownFields(filler);
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    if (field.number() != kField || field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) continue;
    const std::string& bytes = field.length_delimited();
    if (bytes.size() != size_t(shape.count()) * sizeof(float)) continue;
    std::memcpy(plain, bytes.data(), bytes.size());
    return true;
  }
  return false;
}

}  // namespace cortado
