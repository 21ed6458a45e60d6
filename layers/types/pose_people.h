#pragma once

// The people in the records of CPMData: Datums of six channels of bytes, as the scripts of Realtime Multi-Person Pose
// Estimation write them. Channels 0 to 2 are a picture (blue, green, red), 4 is 255 where people have their joints in
// the record and 0 elsewhere, 3 are numbers, of which each row of the image begins with some (floats in the order of
// x86; places and joints count from 1):
//   1 height and width of the image
//   2 bytes: whether it is for validation, the number of other people
//   3 x and y of the person in the middle, 4 its scale (its height / 368)
//   5, 6 and 7 x, y and the visibility of its joints: 0 hidden, 3 never labelled, else visible
//   8 and following x and y of each other person, then a row with their scales, then three rows of joints of each

#include <string>
#include <vector>

#include "data/sample.h"

namespace cortado {

struct Joint {
  enum State : uint8_t { kShown, kAbsent, kNeverLabelled };
  double x, y;  ///< pixels
  State state;
};

using Person = std::vector<Joint>;

struct PeopleRecord {
  double x, y, scale;          ///< of the person in the middle
  std::vector<Person> people;  ///< the person in the middle first
};

/// Which joints of a record form the joints of label maps.
struct Skeleton {
  size_t joints;
  std::vector<std::pair<int, int>> sources;  ///< for each joint, two of the record; it is in their middle
  std::vector<std::pair<int, int>> limbs;    ///< the joints at their ends
  std::vector<std::pair<int, int>> sides;    ///< joints that change places in the mirror
  int64_t parts() const { return int64_t(joints) + 2 * int64_t(limbs.size()); }
};

/// For num_parts: 56 or 43; else null.
const Skeleton* find_skeleton(int64_t parts);

/// Reads the numbers, and converts `joints` joints in the record to the skeleton's. Throws SampleError.
void read_people(const data::Sample& sample, int64_t joints, const Skeleton& skeleton, PeopleRecord& record);

}  // namespace cortado
