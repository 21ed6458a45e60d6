#include "data/formats/annotated_datum.h"

#include <climits>
#include <cmath>
#include <map>

#include "data/formats/wire_reader.h"
#include "proto/cortado.pb.h"

namespace cortado::data {

namespace {

using caffe::AnnotatedDatum;

void add_objects(std::string_view bytes, std::vector<Object>& objects) {
  caffe::AnnotationGroup group;
  if (bytes.size() > INT_MAX || !group.ParseFromArray(bytes.data(), int(bytes.size())))
    throw SampleError("not an AnnotatedDatum: its objects cannot be read");
  for (const caffe::Annotation& one : group.annotation()) {
    const caffe::NormalizedBBox& box = one.bbox();
    const Box corners{box.xmin(), box.ymin(), box.xmax(), box.ymax()};
    for (const float v : {corners.x0, corners.y0, corners.x1, corners.y1})
      if (!is_near_enough(v))
        throw SampleError(std::isnan(v) ? "the box of an object is not a number"
                                        : "the box of an object is larger than images may be");
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
    throw SampleError("not an AnnotatedDatum: there is no image in it",
                      "AnnotatedData reads what 'cortado convert annoset' writes; records without boxes are for Data");
  return datum;
}

bool is_annotated(std::string_view value) {
  std::vector<Object> objects;
  if (value.empty() || value[0] != char(1 << 3 | 2)) return false;  // a Datum begins with a number
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
