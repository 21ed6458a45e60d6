#include "data/sources/box_reader.h"

#include <cmath>

#include "data/formats/text.h"

namespace cortado::data {

namespace {

constexpr size_t kBoxNumbers = 6;
constexpr float kBoxMostClass = 1 << 24;  ///< a float represents every class up to it

Object box_object(const float* numbers) {
  const float label = numbers[0], x = numbers[2], y = numbers[3], width = numbers[4], height = numbers[5];
  if (!(label >= 0 && label <= kBoxMostClass && std::floor(label) == label))
    throw SampleError("the class of an object is " + std::to_string(label));
  const Box box{x - width / 2, y - height / 2, x + width / 2, y + height / 2};
  for (const float corner : {box.x0, box.y0, box.x1, box.y1})
    if (!is_near_enough(corner)) throw SampleError("the box of an object is not a number or far away");
  return {int32_t(label), 0, box, numbers[1] != 0};
}

}  // namespace

Sample BoxReader::open(const Record& record, Label& label) {
  const Sample sample = DatumReader::open(record, label);
  if (file().empty())
    throw SampleError("it has no image file, so its float_data are not boxes",
                      "create the database with convert_box_data");
  if (floats().size() % kBoxNumbers != 0)
    throw SampleError(std::to_string(floats().size()) + " numbers in float_data, but an object has 6");
  objects_.clear();
  for (size_t i = 0; i < floats().size(); i += kBoxNumbers) objects_.push_back(box_object(floats().data() + i));
  return sample;
}

}  // namespace cortado::data
