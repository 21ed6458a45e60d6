// Read by hand because protobuf would copy the image and allocate for every record.
#include "data/formats/datum.h"

#include <climits>
#include <cstring>

#include "data/formats/wire_reader.h"
#include "proto/cortado.pb.h"

namespace cortado::data {

namespace {

void append_floats(std::string_view bytes, std::vector<float>& floats) {
  if (bytes.size() % 4 != 0)
    throw SampleError("not a Datum: float_data has " + std::to_string(bytes.size()) + " bytes");
  const size_t old = floats.size();
  floats.resize(old + bytes.size() / 4);
  if (!bytes.empty()) std::memcpy(floats.data() + old, bytes.data(), bytes.size());
}

struct Fields {
  int32_t channels = 0, height = 0, width = 0, label = 0;
  bool encoded = false;
  std::string_view data;
};

Fields read_fields(std::string_view message, std::vector<float>& floats) {
  using caffe::Datum;
  Fields fields;
  WireReader reader(message);
  while (!reader.at_end()) {
    const uint64_t tag = reader.varint();
    const int wire = int(tag & 7);
    switch (tag) {
      case Datum::kChannelsFieldNumber << 3 | kVarint:
        fields.channels = int32_t(reader.varint());
        break;
      case Datum::kHeightFieldNumber << 3 | kVarint:
        fields.height = int32_t(reader.varint());
        break;
      case Datum::kWidthFieldNumber << 3 | kVarint:
        fields.width = int32_t(reader.varint());
        break;
      case Datum::kLabelFieldNumber << 3 | kVarint:
        fields.label = int32_t(reader.varint());
        break;
      case Datum::kEncodedFieldNumber << 3 | kVarint:
        fields.encoded = reader.varint() != 0;
        break;
      case Datum::kDataFieldNumber << 3 | kBytes:
        fields.data = reader.bytes();
        break;
      case Datum::kFloatDataFieldNumber << 3 | kFixed32:
        append_floats(reader.take(4), floats);
        break;
      case Datum::kFloatDataFieldNumber << 3 | kBytes:
        append_floats(reader.bytes(), floats);
        break;
      default:
        if (tag >> 3 == 0 || tag >> 3 > 536870911) throw SampleError("not a Datum: it has a field of unknown kind");
        reader.skip(wire);
    }
  }
  return fields;
}

}  // namespace

DatumView parse_datum(std::string_view message, std::vector<float>& floats) {
  floats.clear();
  const Fields fields = read_fields(message, floats);
  DatumView datum;
  datum.label = fields.label;
  if (fields.encoded) {
    if (fields.data.empty()) throw SampleError("the Datum says that it holds an image file, but it is empty");
    datum.encoded = fields.data;
    return datum;
  }
  datum.raw = {fields.channels, fields.height, fields.width, nullptr, nullptr, false};
  const bool sane = fields.channels > 0 && fields.height > 0 && fields.width > 0 &&
                    int64_t(fields.channels) * fields.height <= INT_MAX && datum.raw.count() <= INT_MAX;
  if (!sane) throw SampleError("the Datum has the shape " + datum.raw.shape_str());
  const size_t count = size_t(datum.raw.count());
  if (!fields.data.empty())
    datum.raw.bytes = reinterpret_cast<const uint8_t*>(fields.data.data());
  else
    datum.raw.floats = floats.data();
  const size_t there = fields.data.empty() ? floats.size() : fields.data.size();
  if (there != count)
    throw SampleError("the Datum says that it is " + datum.raw.shape_str() + " (" + std::to_string(count) +
                      " elements), but it holds " + std::to_string(there));
  return datum;
}

std::string make_datum(int channels, int height, int width, std::string_view bytes, int32_t label) {
  caffe::Datum datum;
  datum.set_channels(channels);
  datum.set_height(height);
  datum.set_width(width);
  datum.set_data(bytes.data(), bytes.size());
  datum.set_label(label);
  return datum.SerializeAsString();
}

std::string make_encoded_datum(std::string_view image_file, int32_t label) {
  caffe::Datum datum;
  datum.set_data(image_file.data(), image_file.size());
  datum.set_label(label);
  datum.set_encoded(true);
  return datum.SerializeAsString();
}

}  // namespace cortado::data
