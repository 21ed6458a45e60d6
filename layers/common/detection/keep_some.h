#pragma once

#include <utility>
#include <vector>

#include "core/rng.h"

namespace cortado {

/// Keeps `count` random entries of the list; a shorter list keeps its order.
template <typename T>
void keep_some(std::vector<T>& list, size_t count, RandomStream& stream) {
  if (list.size() <= count) return;
  for (size_t i = 0; i < count; ++i) std::swap(list[i], list[i + size_t(stream.below(list.size() - i))]);
  list.resize(count);
}

template <typename T>
void shuffle(std::vector<T>& list, RandomStream& stream) {
  for (size_t i = 0; i + 1 < list.size(); ++i) std::swap(list[i], list[i + size_t(stream.below(list.size() - i))]);
}

}  // namespace cortado
