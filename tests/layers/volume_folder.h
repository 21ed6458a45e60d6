#pragma once

// Files of volumes (data/formats/volume_file.h) and their list, in a temporary folder.

#include <cstring>
#include <string>
#include <vector>

#include "tests/layers/pair_folder.h"

namespace cortado::harness {

/// The value of a channel, frame, row and column in volume i.
inline double voxel_of(int i, int64_t c, int64_t l, int64_t h, int64_t w) {
  return double((100 * i + 60 * c + 23 * l + 7 * h + w) % 200);
}

class VolumeFolder : public PairFolder {
 public:
  explicit VolumeFolder(const std::string& name) : PairFolder(name) {}

  /// Writes `count` volumes of channels x length x height x width, and the list.
  void add(int count, const Shape& shape, bool bytes) const {
    std::string list;
    for (int i = 0; i < count; ++i) {
      write("v" + std::to_string(i), volume(i, shape, bytes));
      list += path("v" + std::to_string(i)) + "\n";
    }
    write("list", list);
  }
  static std::string volume(int i, const Shape& shape, bool bytes) {
    std::string content = number(1);
    for (int a = 0; a < 4; ++a) content += number(int32_t(shape[a]));
    for (int64_t c = 0; c < shape[0]; ++c)
      for (int64_t l = 0; l < shape[1]; ++l)
        for (int64_t h = 0; h < shape[2]; ++h)
          for (int64_t w = 0; w < shape[3]; ++w) {
            const float value = float(voxel_of(i, c, l, h, w));
            if (bytes)
              content += char(uint8_t(value));
            else
              content.append(reinterpret_cast<const char*>(&value), sizeof value);
          }
    return content;
  }
  static std::string number(int32_t v) { return {reinterpret_cast<const char*>(&v), sizeof v}; }
};

}  // namespace cortado::harness
