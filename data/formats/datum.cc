// Parsed by hand, because protobuf would copy the image and allocate memory for every record.

#include "data/formats/datum.h"

#include <climits>
#include <cmath>
#include <cstring>
#include <map>

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

constexpr uint64_t kLabelImageField = 8;  // seg_label of MobileNet-YOLO, a number in NVIDIA's Datum

struct Fields {
  int32_t channels = 0, height = 0, width = 0;
  Label label = 0;
  bool encoded = false, labelled = false;
  std::string_view data, labels;
};

/// Reads the value of the label field. Forks declare it as float, or as repeated for several labels.
void read_label(WireReader& reader, int wire, Fields& fields) {
  if (fields.labelled || wire == kBytes)
    throw SampleError("it has several labels, and a data layer reads one",
                      "write one label to each record; HDF5Data and ImageData read several");
  fields.labelled = true;
  if (wire == kVarint) {
    fields.label = int32_t(reader.varint());
  } else if (wire == kFixed32) {
    float value;
    std::memcpy(&value, reader.take(sizeof value).data(), sizeof value);
    fields.label = value;
  } else if (wire == kFixed64) {
    std::memcpy(&fields.label, reader.take(sizeof fields.label).data(), sizeof fields.label);
  } else {
    throw SampleError("not a Datum: its label has an unknown wire type");
  }
  if (!std::isfinite(fields.label)) throw SampleError("its label is not a number");
}

Fields read_fields(std::string_view message, std::vector<float>& floats) {
  using caffe::Datum;
  Fields fields;
  WireReader reader(message);
  while (!reader.at_end()) {
    const uint64_t tag = reader.varint();
    const int wire = int(tag & 7);
    if (tag >> 3 == Datum::kLabelFieldNumber) {
      read_label(reader, wire, fields);
      continue;
    }
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
      case Datum::kEncodedFieldNumber << 3 | kVarint:
        fields.encoded = reader.varint() != 0;
        break;
      case Datum::kDataFieldNumber << 3 | kBytes:
        fields.data = reader.bytes();
        break;
      case kLabelImageField << 3 | kBytes:
        fields.labels = reader.bytes();
        break;
      case Datum::kFloatDataFieldNumber << 3 | kFixed32:
        append_floats(reader.take(4), floats);
        break;
      case Datum::kFloatDataFieldNumber << 3 | kBytes:
        append_floats(reader.bytes(), floats);
        break;
      default:
        if (tag >> 3 == 0 || tag >> 3 > 536870911)
          throw SampleError("not a Datum: it has a field of unknown wire type");
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
  datum.labels = fields.labels;
  if (fields.encoded) {
    if (fields.data.empty()) throw SampleError("the Datum is marked as an image file, but is empty");
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
    throw SampleError("the Datum has the shape " + datum.raw.shape_str() + " (" + std::to_string(count) +
                      " elements), but contains " + std::to_string(there));
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

namespace {

using caffe::AnnotatedDatum;

/// Throws SampleError if a field that is read has another type. Protobuf takes it for an unknown field.
void require_types(const google::protobuf::Message& message, int last_read) {
  const google::protobuf::UnknownFieldSet& unknown = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i)
    if (const int number = unknown.field(i).number(); number <= last_read)
      if (const auto* field = message.GetDescriptor()->FindFieldByNumber(number))
        throw SampleError("the " + field->name() + " of an object has another type than in SSD's Caffe");
}

void add_objects(std::string_view bytes, std::vector<Object>& objects) {
  caffe::AnnotationGroup group;
  if (bytes.size() > INT_MAX || !group.ParseFromArray(bytes.data(), int(bytes.size())))
    throw SampleError("not an AnnotatedDatum: its objects cannot be read");
  require_types(group, group.kAnnotationFieldNumber);
  for (const caffe::Annotation& one : group.annotation()) {
    const caffe::NormalizedBBox& box = one.bbox();
    require_types(one, one.kBboxFieldNumber);
    require_types(box, box.kYmaxFieldNumber);
    const Box corners{box.xmin(), box.ymin(), box.xmax(), box.ymax()};
    for (const float v : {corners.x0, corners.y0, corners.x1, corners.y1})
      if (!is_near_enough(v))
        throw SampleError(std::isnan(v) ? "the box of an object is not a number"
                                        : "the box of an object is beyond the maximum image size");
    objects.push_back({group.group_label(), one.instance_id(), corners, box.difficult()});
  }
}

}  // namespace

std::string_view parse_annotated_datum(std::string_view message, std::vector<Object>& objects) {
  objects.clear();
  std::string_view datum;
  WireReader reader(message);
  while (!reader.at_end()) {
    const uint64_t tag = reader.varint();
    if (tag == (AnnotatedDatum::kDatumFieldNumber << 3 | kBytes))
      datum = reader.bytes();
    else if (tag == (AnnotatedDatum::kAnnotationGroupFieldNumber << 3 | kBytes))
      add_objects(reader.bytes(), objects);
    else
      reader.skip(int(tag & 7));
  }
  if (datum.empty())
    throw SampleError("not an AnnotatedDatum: it has no image",
                      "use 'cortado convert annoset' to create it, or Data for records without boxes");
  return datum;
}

bool is_annotated(std::string_view value) {
  std::vector<Object> objects;
  if (value.empty() || value[0] != char(1 << 3 | 2)) return false;  // a Datum starts with a number
  try {
    parse_annotated_datum(value, objects);
  } catch (const SampleError&) {
    return false;
  }
  return true;
}

std::string_view datum_in(std::string_view value) {
  std::vector<Object> objects;
  return is_annotated(value) ? parse_annotated_datum(value, objects) : value;
}

std::string make_annotated_datum(std::string_view datum, const std::vector<Object>& objects) {
  AnnotatedDatum record;
  if (!record.mutable_datum()->ParseFromArray(datum.data(), int(datum.size()))) throw SampleError("not a Datum");
  record.set_type(AnnotatedDatum::BBOX);
  std::map<int32_t, caffe::AnnotationGroup*> groups;
  for (const Object& object : objects) {
    caffe::AnnotationGroup*& group = groups[object.label];
    if (!group) {
      group = record.add_annotation_group();
      group->set_group_label(object.label);
    }
    caffe::Annotation& one = *group->add_annotation();
    one.set_instance_id(object.instance);
    caffe::NormalizedBBox& box = *one.mutable_bbox();
    box.set_xmin(object.box.x0);
    box.set_ymin(object.box.y0);
    box.set_xmax(object.box.x1);
    box.set_ymax(object.box.y1);
    box.set_difficult(object.difficult);
  }
  return record.SerializeAsString();
}

}  // namespace cortado::data
