#pragma once

// All random draws for one sample, as a plain value. It is computed on the host and copied to a device, which then
// computes the same pixels.
//
// Geometry is one affine map from pixels of the result to positions in the source, in fixed point with 32 fractional
// bits: crop, resize, flips, rotation and the rest are composed into it. Blur and sharpening change the kernel that
// reads the source at such a position, so they need no pass of their own. Colour is a short list of operations on a
// pixel. Noise, erasing and mean subtraction follow.

#include <cstdint>
#include <type_traits>

#include "data/sample.h"

namespace cortado::data {

/// Interpolation between the source's pixels.
enum class Filter : uint8_t { kNearest, kLinear, kCubic, kArea, kLanczos };

/// Values beyond the edges of the source.
enum class Border : uint8_t { kFill, kEdge, kReflect };

/// The weights along one axis as a function of the distance from the position, in the sample's pixels.
enum class KernelKind : uint8_t { kNearest, kLinear, kCubic, kArea, kLanczos, kGauss, kSharp };

struct Kernel {
  KernelKind kind = KernelKind::kNearest;
  int32_t reach = 0;  ///< maximum distance of taps from the position
  float stretch = 1;  ///< kLinear, kCubic, kLanczos: 1, or the step for smooth shrinking; kArea: the step
  float inverse = 1;  ///< 1 / stretch; kGauss: 1 / (2 deviation^2)
  float amount = 0;   ///< kSharp: weight of each side
  float spacing = 1;  ///< kSharp: distance of the sides
};

/// One operation on the colours of a pixel, 0 to 255.
enum class ColorKind : uint8_t {
  kMatrix,        ///< channel c = v[4c] blue + v[4c + 1] green + v[4c + 2] red + v[4c + 3], clamped to 0..255
  kPosterize,     ///< v[0] the width of a level, v[1] its inverse
  kSolarize,      ///< inverts channels from v[0] up
  kAutoContrast,  ///< resolve_params() measures the sample and replaces it by a kMatrix
  kEqualize,      ///< uses AugmentParams::table, which resolve_params() computes
};

struct ColorOp {
  ColorKind kind = ColorKind::kMatrix;
  float v[12] = {};
};

constexpr int kMaxColorOps = 13;

/// An erased rectangle of the result.
struct Erased {
  int32_t top = 0, left = 0, height = 0, width = 0;  ///< none if the height is 0
  bool noise = false;  ///< random bytes; otherwise the value that becomes 0 after mean subtraction
};

struct AugmentParams {
  int32_t channels = 0, height = 0, width = 0;  ///< of the full source; after resolve_params() of the sample
  int32_t out_height = 0, out_width = 0;
  bool fitted = false;  ///< after resolve_params()

  /// Pixel (x, y) of the result is read at column map[0] x + map[1] y + map[2] and row map[3] x + map[4] y + map[5] of
  /// the source, in units of 2^-32 pixels. 0 is the centre of the first pixel.
  int64_t map[6] = {};
  Filter filter = Filter::kLinear;
  bool smooth = true;  ///< shrinking widens the filter, so that it uses every pixel of the source
  float blur = 0;      ///< standard deviation in pixels of the result; 0: none
  float sharpen = 0;   ///< weight of the difference to a smoothed image
  Kernel across, down;
  Border border = Border::kEdge;
  float fill[4] = {};  ///< for each channel; the last one also for all further channels

  int32_t mean_top = 0, mean_left = 0;  ///< position of pixel (0, 0) in the mean image; the steps are those of the map

  int32_t color_ops = 0;
  int32_t image_color_ops = 0;  ///< the first ones, which change the image but not the fill beyond its edges
  ColorOp color[kMaxColorOps];
  uint8_t table[3][256] = {};  ///< for kEqualize

  uint64_t noise_key = 0;                  ///< key of all draws for each pixel
  float noise = 0;                         ///< standard deviation in grey levels
  float salt = 0;                          ///< fraction of pixels that are replaced
  float salt_value[4] = {-1, -1, -1, -1};  ///< the replacement; -1: black or white
  Erased erased;
};

static_assert(std::is_trivially_copyable_v<AugmentParams>);

/// The part of the source that the parameters read.
SourceWindow source_window(const AugmentParams& params);

/// Whether the result is a crop of the source, possibly mirrored, so that every pixel is one pixel of the source.
bool is_cut_out(const AugmentParams& params);

}  // namespace cortado::data
