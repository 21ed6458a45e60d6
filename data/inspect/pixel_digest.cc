#include "data/inspect/pixel_digest.h"

#include <cstring>

#include "core/rng.h"

namespace cortado::data {

uint64_t pixel_digest(const Sample& sample) {
  const auto* bytes = sample.bytes ? sample.bytes : reinterpret_cast<const uint8_t*>(sample.floats);
  const size_t n = size_t(sample.count()) * (sample.bytes ? 1 : sizeof(float));
  uint64_t digest = mix_key(uint64_t(sample.channels), mix_key(uint64_t(sample.height), uint64_t(sample.width)));
  size_t at = 0;
  for (uint64_t word; at + sizeof word <= n; at += sizeof word) {
    std::memcpy(&word, bytes + at, sizeof word);
    digest = mix_key(digest, word);
  }
  uint64_t rest = 0;
  std::memcpy(&rest, bytes + at, n - at);
  return mix_key(digest, rest);
}

bool is_near_black(const Sample& sample) {
  constexpr uint8_t kBlack = 16;
  if (sample.bytes == nullptr || sample.count() == 0) return false;
  const int64_t n = sample.count(), most = n / 1000;
  int64_t bright = 0;
  for (int64_t i = 0; i < n && bright <= most; ++i) bright += sample.bytes[i] >= kBlack;
  return bright <= most;
}

}  // namespace cortado::data
