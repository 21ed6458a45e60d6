// The logarithm and the cosine of Box-Muller as branch-free arithmetic, which compilers vectorize, with errors below
// 2^-43. The error changes the rounded float only if the value lies close to the midpoint of two floats. Such values
// are detected, because value - error and value + error then round differently, and are recomputed with the C library.
// The results are therefore bitwise equal.
#include "core/loops/normal_draws.h"

#include <bit>
#include <cmath>

#include "core/rng.h"

namespace cortado {

namespace {

constexpr double kTurn = 4294967296.0;  ///< 2^32
constexpr double kError = 0x1p-40;      ///< bound of the error, relative to |mean| and the radius of the draw

/// RandomStream::normal() for two words.
double exact_normal(uint32_t first, uint32_t second) {
  const double u = (double(first) + 1.0) / kTurn, v = double(second) / kTurn;
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * M_PI * v);
}

/// ln x for normal x > 0. x = 2^n m with m in [1/sqrt(2), sqrt(2)), and ln m = 2 artanh((m - 1) / (m + 1)) as a series.
inline double quick_log(double x) {
  constexpr uint64_t kRootHalf = 0x3FE6A09E667F3BCD, kFraction = (uint64_t(1) << 52) - 1;
  const uint64_t bits = std::bit_cast<uint64_t>(x) - kRootHalf;
  const double n = double(int64_t(bits) >> 52), m = std::bit_cast<double>((bits & kFraction) + kRootHalf);
  const double s = (m - 1) / (m + 1), z = s * s;
  double series = 1.0 / 17;
  for (const double c : {1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1.0})
    series = series * z + c;
  return n * M_LN2 + 2 * s * series;
}

/// The cosine of turn / 2^32 turns: shifts by a quarter turn to get a sine, mirrors the left half of the circle to the
/// right one, and evaluates the sine's series.
inline double quick_cos(uint32_t turn) {
  const uint32_t later = turn + 0x40000000u;
  const bool left = int32_t(later ^ later << 1) < 0;
  const double x = double(int32_t(left ? 0x80000000u - later : later)) * (2 * M_PI / kTurn), z = x * x;
  double series = 1 / 355687428096000.0;  // 1 / 17!
  for (const double c :
       {-1 / 1307674368000.0, 1 / 6227020800.0, -1 / 39916800.0, 1 / 362880.0, -1 / 5040.0, 1 / 120.0, -1 / 6.0, 1.0})
    series = series * z + c;
  return series * x;
}

/// The two words of each draw.
struct Words {
  uint32_t first[kNormalsAtOnce], second[kNormalsAtOnce];
};

void draw_words(uint64_t key, uint64_t counter, Words& words) {
  const Philox philox(key);
#pragma GCC ivdep
  for (int i = 0; i < kNormalsAtOnce / 2; ++i) {
    const Philox::Words four = philox(0, counter + uint64_t(i));
    words.first[2 * i] = four.v[0];
    words.second[2 * i] = four.v[1];
    words.first[2 * i + 1] = four.v[2];
    words.second[2 * i + 1] = four.v[3];
  }
}

}  // namespace

void draw_normals(uint64_t key, uint64_t first, double mean, double deviation, float* values) {
  Words words;
  draw_words(key, first / 2, words);
  bool doubtful[kNormalsAtOnce];
  int doubts = 0;
  for (int i = 0; i < kNormalsAtOnce; ++i) {
    const double radius = deviation * std::sqrt(-2.0 * quick_log((double(words.first[i]) + 1.0) / kTurn));
    const double value = mean + radius * quick_cos(words.second[i]), error = kError * (std::abs(mean) + radius);
    values[i] = float(value - error);
    doubtful[i] = values[i] != float(value + error);
    doubts += doubtful[i];
  }
  for (int i = 0; doubts > 0 && i < kNormalsAtOnce; ++i)
    if (doubtful[i]) values[i] = float(mean + deviation * exact_normal(words.first[i], words.second[i]));
}

}  // namespace cortado
