#pragma once

// The numbers theta of affine maps, one map for each image, with kRows rows of kColumns. A number is the layer's option
// theta_ROW_COLUMN (from 1) if that is set; a bottom, N x count, has the others, row by row.

#include <cmath>
#include <string>

#include "core/error.h"
#include "core/host_device.h"
#include "core/shape.h"
#include "proto/cortado.pb.h"

namespace cortado {

template <int kRows, int kColumns>
struct AffineNumbers {
  static constexpr int kNumbers = kRows * kColumns;

  int64_t count = 0;             ///< numbers per image in the bottom
  int index[kNumbers] = {};      ///< in the bottom; below 0: from the options
  float fixed[kNumbers] = {};    ///< of the options
  const float* given = nullptr;  ///< N x count

  CORTADO_HD float at(int64_t n, int k) const { return index[k] < 0 ? fixed[k] : given[n * count + index[k]]; }
  /// The number that the bottom has at `place` of an image.
  CORTADO_HD int number_at(int64_t place) const {
    int k = 0;
    while (index[k] != place) ++k;
    return k;
  }

  /// Reads `options`, which is the field `path` of the layer. Throws FieldError.
  void read(const google::protobuf::Message& options, const std::string& path) {
    for (int k = 0; k < kNumbers; ++k) {
      const std::string name = "theta_" + std::to_string(k / kColumns + 1) + "_" + std::to_string(k % kColumns + 1);
      const auto* field = options.GetDescriptor()->FindFieldByName(name);
      const bool set = options.GetReflection()->HasField(options, field);
      index[k] = set ? -1 : int(count++);
      fixed[k] = set ? float(options.GetReflection()->GetDouble(options, field)) : 0;
      if (!std::isfinite(fixed[k])) throw FieldError(path + "." + name, "it must be a finite number");
    }
  }

  /// Throws FieldError unless `theta`, bottom[1], has the numbers of this many images.
  void require(const Shape& theta, int64_t images, const std::string& path) const {
    if (theta.axes() < 1 || theta[0] != images || theta.count(1) != count)
      throw FieldError("bottom[1]", "its shape is " + theta.str() + ", but must be " + Shape{images, count}.str(),
                       "a map has " + std::to_string(kNumbers) + " numbers, without those that are set in " + path);
  }
};

}  // namespace cortado
