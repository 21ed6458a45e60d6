#include "layers/types/pose_people.h"

#include <cmath>
#include <cstring>

#include "data/object.h"

namespace cortado {

namespace {

/// Reads floats from the rows of the numbers' channel.
class PeopleNumbers {
 public:
  PeopleNumbers(const uint8_t* channel, int64_t height, int64_t width)
      : channel_(channel), height_(height), width_(width) {}

  const uint8_t* row(int64_t row, int64_t bytes) const {
    if (row >= height_ || bytes > width_)
      throw data::SampleError("its image of " + std::to_string(height_) + " x " + std::to_string(width_) +
                              " pixels has no space for the numbers of its people");
    return channel_ + row * width_;
  }
  float number(int64_t at, int64_t index) const {
    float value;
    std::memcpy(&value, row(at, 4 * (index + 1)) + 4 * index, sizeof value);
    return value;
  }
  /// The coordinate, from 0.
  double place(int64_t at, int64_t index) const {
    const double value = double(number(at, index)) - 1;
    if (!data::is_near_enough(value)) throw data::SampleError("a joint is not a number or far away");
    return value;
  }

 private:
  const uint8_t* channel_;
  int64_t height_, width_;
};

struct PictureSize {
  double height, width;
};

Person read_person(const PeopleNumbers& numbers, int64_t row, int64_t joints, const PictureSize& size) {
  Person person;
  for (int64_t i = 0; i < joints; ++i) {
    Joint joint{numbers.place(row, i), numbers.place(row + 1, i), Joint::kShown};
    const bool inside = joint.x >= 0 && joint.y >= 0 && joint.x < size.width && joint.y < size.height;
    if (numbers.number(row + 2, i) == 3)
      joint.state = Joint::kNeverLabelled;
    else if (!inside)
      joint.state = Joint::kAbsent;
    person.push_back(joint);
  }
  return person;
}

Person converted(const Person& from, const Skeleton& skeleton) {
  Person person;
  for (const auto& [first, second] : skeleton.sources) {
    const Joint &a = from[size_t(first)], &b = from[size_t(second)];
    Joint joint{(a.x + b.x) / 2, (a.y + b.y) / 2, Joint::kShown};
    for (const Joint::State state : {Joint::kNeverLabelled, Joint::kAbsent})
      if (a.state == state || b.state == state) joint.state = state;
    person.push_back(joint);
  }
  return person;
}

}  // namespace

const Skeleton* find_skeleton(int64_t parts) {
  // Nose, neck, right and left arm, right and left leg, eyes and ears; from COCO's joints.
  static const Skeleton coco = {18,
                                {{0, 0},
                                 {5, 6},
                                 {6, 6},
                                 {8, 8},
                                 {10, 10},
                                 {5, 5},
                                 {7, 7},
                                 {9, 9},
                                 {12, 12},
                                 {14, 14},
                                 {16, 16},
                                 {11, 11},
                                 {13, 13},
                                 {15, 15},
                                 {2, 2},
                                 {1, 1},
                                 {4, 4},
                                 {3, 3}},
                                {{1, 8},
                                 {8, 9},
                                 {9, 10},
                                 {1, 11},
                                 {11, 12},
                                 {12, 13},
                                 {1, 2},
                                 {2, 3},
                                 {3, 4},
                                 {2, 16},
                                 {1, 5},
                                 {5, 6},
                                 {6, 7},
                                 {5, 17},
                                 {1, 0},
                                 {0, 14},
                                 {0, 15},
                                 {14, 16},
                                 {15, 17}},
                                {{2, 5}, {3, 6}, {4, 7}, {8, 11}, {9, 12}, {10, 13}, {14, 15}, {16, 17}}};
  // Head, neck, right and left arm, right and left leg, middle; from MPI's joints.
  static const Skeleton mpi = {15,
                               {{9, 9},
                                {8, 8},
                                {12, 12},
                                {11, 11},
                                {10, 10},
                                {13, 13},
                                {14, 14},
                                {15, 15},
                                {2, 2},
                                {1, 1},
                                {0, 0},
                                {3, 3},
                                {4, 4},
                                {5, 5},
                                {7, 6}},
                               {{0, 1},
                                {1, 2},
                                {2, 3},
                                {3, 4},
                                {1, 5},
                                {5, 6},
                                {6, 7},
                                {1, 14},
                                {14, 8},
                                {8, 9},
                                {9, 10},
                                {14, 11},
                                {11, 12},
                                {12, 13}},
                               {{2, 5}, {3, 6}, {4, 7}, {8, 11}, {9, 12}, {10, 13}}};
  return parts == coco.parts() ? &coco : parts == mpi.parts() ? &mpi : nullptr;
}

void read_people(const data::Sample& sample, int64_t joints, const Skeleton& skeleton, PeopleRecord& record) {
  const int64_t pixels = int64_t(sample.height) * sample.width;
  const PeopleNumbers numbers(sample.bytes + 3 * pixels, sample.height, sample.width);
  const PictureSize size{double(numbers.number(1, 0)), double(numbers.number(1, 1))};
  const int64_t others = numbers.row(2, 2)[1];
  record.x = numbers.place(3, 0), record.y = numbers.place(3, 1);
  record.scale = double(numbers.number(4, 0));
  if (!(record.scale > 0 && std::isfinite(record.scale)))
    throw data::SampleError("the scale of a person is " + std::to_string(record.scale));
  record.people.assign(1, converted(read_person(numbers, 5, joints, size), skeleton));
  for (int64_t p = 0; p < others; ++p)
    record.people.push_back(converted(read_person(numbers, 9 + others + 3 * p, joints, size), skeleton));
}

}  // namespace cortado
