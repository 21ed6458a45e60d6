// UnlabeledMatching (online instance matching, Xiao et al. 2017): the similarities of features with the latest
// queue_size features of persons without a label. In backward each row with label -1 replaces the oldest of them.
// layers/common/weights/feature_memory.h has the rest.

#include "core/device/device_memory.h"
#include "core/error.h"
#include "layers/common/weights/feature_memory.h"
#include "layers/registry.h"
#include "layers/roles.h"

namespace cortado {

namespace {

constexpr int64_t kMaxQueue = 1 << 24;  ///< whose places are exact in a float

/// One number of every feature.
struct Enqueue {
  const float *x, *labels;
  float* stored;
  int64_t samples, width, places;
  const float* next;
  CORTADO_HD void operator()(int64_t k) const {
    int64_t place = int64_t(*next) % places;
    for (int64_t i = 0; i < samples; ++i) {
      if (labels[i] != -1) continue;
      stored[place * width + k] = x[i * width + k];
      place = place + 1 < places ? place + 1 : 0;
    }
  }
};

struct AdvanceQueue {
  const float* labels;
  int64_t samples, places;
  float* next;
  CORTADO_HD void operator()(int64_t) const {
    int64_t place = int64_t(*next) % places;
    for (int64_t i = 0; i < samples; ++i)
      if (labels[i] == -1) place = place + 1 < places ? place + 1 : 0;
    *next = float(place);
  }
};

class UnlabeledMatchingLayer : public FeatureMemory, public BatchMemory {
 public:
  explicit UnlabeledMatchingLayer(const LayerOptions& options)
      : FeatureMemory(options.config.unlabeled_matching_param().queue_size(), "unlabeled_matching_param.queue_size",
                      "set the number of features that are kept") {
    if (stored_ > kMaxQueue)
      throw FieldError("unlabeled_matching_param.queue_size",
                       "it is " + std::to_string(stored_) + ", but must not be above " + std::to_string(kMaxQueue));
  }

  LayerNeeds prepare(const PrepareRequest& request, Context& context) override {
    if (request.backward) next_ = DeviceMemory(context, sizeof(float));
    return FeatureMemory::prepare(request, context);
  }

  LayerRoles roles() override { return {.memory = this}; }
  bool is_stateful() const override { return false; }  // forward() leaves nothing
  /// The oldest place of the queue.
  std::span<float> carried() override {
    return {reinterpret_cast<float*>(next_.data()), next_.bytes() / sizeof(float)};
  }

 protected:
  void take_in(Context& context, const Operands& io) override {
    const float* labels = io.x[1].f32();
    float* next = carried().data();
    for_each(context, width_, Enqueue{io.x[0].f32(), labels, io.w[0].f32(), samples_, width_, stored_, next});
    for_each(context, 1, AdvanceQueue{labels, samples_, stored_, next});
  }

 private:
  DeviceMemory next_;
};

const RegisterLayer register_unlabeled_matching({
    .name = "UnlabeledMatching",
    .help = "similarities with the latest features of persons without a label (person search)",
    .options = "unlabeled_matching_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<UnlabeledMatchingLayer>,
    .needs_whole_batch = true,
});

}  // namespace

}  // namespace cortado
