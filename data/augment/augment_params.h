#pragma once

// Everything that is drawn at random for one sample, as a value: made on the host, copied to a device as it is, and
// enough to make the same pixels there.
//
// Geometry is one affine map from pixels of the result to places in the source, in fixed point with 32 binary digits:
// crop, resize, flips, rotation and the rest all compose into it. Blurring and sharpening change the kernel by which
// the source is read at such a place, so they cost no pass of their own. Colour is a short list of operations on a
// pixel; then come noise, erasing, and the mean.

#include <cstdint>
#include <type_traits>

#include "data/sample.h"

namespace cortado::data {

/// How pixels between the source's are made.
enum class Filter : uint8_t { kNearest, kLinear, kCubic, kArea, kLanczos };

/// What lies beyond the edges of the source.
enum class Border : uint8_t { kFill, kEdge, kReflect };

/// The weights of one axis as a function of the distance, in the sample's pixels, from the place that is asked for.
enum class KernelKind : uint8_t { kNearest, kLinear, kCubic, kArea, kLanczos, kGauss, kSharp };

struct Kernel {
  KernelKind kind = KernelKind::kNearest;
  int32_t reach = 0;  ///< taps lie at most this far from the place
  float stretch = 1;  ///< kLinear, kCubic, kLanczos: 1, or the step when shrinking smoothly; kArea: the step
  float inverse = 1;  ///< 1 / stretch; kGauss: 1 / (2 deviation^2)
  float amount = 0;   ///< kSharp: what each side takes
  float spacing = 1;  ///< kSharp: from the place to a side
};

/// One operation on the colours of a pixel, 0 to 255.
enum class ColorKind : uint8_t {
  kMatrix,        ///< channel c = v[4c] blue + v[4c + 1] green + v[4c + 2] red + v[4c + 3], between 0 and 255
  kPosterize,     ///< v[0] the width of a level, v[1] its inverse
  kSolarize,      ///< channels from v[0] up are inverted
  kAutoContrast,  ///< until resolve_params() has measured the sample and made it a kMatrix
  kEqualize,      ///< by AugmentParams::table, which resolve_params() makes
};

struct ColorOp {
  ColorKind kind = ColorKind::kMatrix;
  float v[12] = {};
};

constexpr int kMaxColorOps = 12;

/// A rectangle of the result that is not shown.
struct Erased {
  int32_t top = 0, left = 0, height = 0, width = 0;  ///< none where the height is 0
  bool noise = false;                                ///< random bytes; else what becomes 0 after the mean
};

struct AugmentParams {
  int32_t channels = 0, height = 0,
          width = 0;  ///< of the source, decoded in full; after resolve_params() of the sample
  int32_t out_height = 0, out_width = 0;
  bool fitted = false;  ///< resolve_params() was here

  /// Pixel (x, y) of the result is read at column map[0] x + map[1] y + map[2] and row map[3] x + map[4] y + map[5] of
  /// the source, where 0 is the middle of the first pixel; in units of 2^-32 pixels.
  int64_t map[6] = {};
  Filter filter = Filter::kLinear;
  bool smooth = true;  ///< shrinking widens the filter, so that no pixel of the source is passed over
  float blur = 0;      ///< deviation in pixels of the result; 0: none
  float sharpen = 0;   ///< share by which the difference to a smoothed image is added
  Kernel across, down;
  Border border = Border::kEdge;
  float fill[4] = {};  ///< for each channel; the last for all further ones

  int32_t mean_top = 0, mean_left = 0;  ///< where pixel (0, 0) lies in the mean image; steps are those of the map

  int32_t color_ops = 0;
  ColorOp color[kMaxColorOps];
  uint8_t table[3][256] = {};  ///< for kEqualize

  uint64_t noise_key = 0;                  ///< of everything that is drawn for each pixel
  float noise = 0;                         ///< deviation in grey levels
  float salt = 0;                          ///< share of pixels that are replaced
  float salt_value[4] = {-1, -1, -1, -1};  ///< by what; -1: black or white
  Erased erased;
};

static_assert(std::is_trivially_copyable_v<AugmentParams>);

/// The window of the source that the params read.
SourceWindow source_window(const AugmentParams& params);

/// True where the result is a cut-out of the source, perhaps mirrored: every pixel is one pixel of the source.
bool is_cut_out(const AugmentParams& params);

}  // namespace cortado::data
