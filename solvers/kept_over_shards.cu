#include "core/loops/for_each.h"
#include "solvers/kept_over_shards.h"

namespace cortado {

namespace {

struct Take {
  float* const* kept;
  float* before;
  CORTADO_HD void operator()(int64_t i) const { before[i] = *kept[i]; }
};

struct Restore {
  float* const* kept;
  const float* before;
  CORTADO_HD void operator()(int64_t i) const { *kept[i] = before[i]; }
};

struct Subtract {
  float* const* kept;
  const float* before;
  float* change;
  CORTADO_HD void operator()(int64_t i) const { change[i] = *kept[i] - before[i]; }
};

struct AddMean {
  float* const* kept;
  const float *before, *sum;
  float shards;
  CORTADO_HD void operator()(int64_t i) const { *kept[i] = before[i] + sum[i] / shards; }
};

std::vector<float*> kept_places(Net& net) {
  std::vector<float*> places;
  for (const KeptWeight& weight : net.kept_weights())
    for (int64_t i = 0; i < weight.count; ++i) places.push_back(weight.values + i);
  return places;
}

}  // namespace

KeptOverShards::KeptOverShards(Net& net, const RankShare& share)
    : KeptOverShards(net.context(), kept_places(net), share) {}

KeptOverShards::KeptOverShards(Context& context, const std::vector<float*>& places, const RankShare& share)
    : context_(context),
      shards_(float(share.shards)),
      count_(int64_t(places.size())),
      places_(context_, size_t(count_) * sizeof(float*)),
      before_(context_, size_t(count_) * sizeof(float)),
      change_(context_, before_.bytes()),
      sum_(context_, before_.bytes()),
      sums_(context_, count_, share.range) {
  copy_to_device(context_, places_.data(), places.data(), places_.bytes());
}

void KeptOverShards::begin_shard(int64_t index) {
  if (index == 0)
    for_each(context_, count_, Take{places(), floats(before_)});
  else
    for_each(context_, count_, Restore{places(), floats(before_)});
}

void KeptOverShards::end_shard(int64_t index) {
  for_each(context_, count_, Subtract{places(), floats(before_), floats(change_)});
  sums_.add(context_, index, floats(change_));
}

void KeptOverShards::end_iteration() {
  for_each(context_, count_, AddMean{places(), floats(before_), floats(sum_), shards_});
}

}  // namespace cortado
