#pragma once

#include "tools/starter/choice.h"
#include "tools/starter/starting_net.h"

namespace cortado::tools {

/// How long and how fast to learn.
struct Schedule {
  int64_t batch = 0, test_batch = 0, epochs = 0;
  int64_t iterations = 0;  ///< of all epochs
  float base_lr = 0;
  int64_t warmup = 0, test_interval = 0, display = 0, snapshot = 0;
  Choices choices;
};

struct ScheduleOptions {
  int64_t batch = 0, epochs = 0;  ///< the user's word; 0: to be chosen
  bool from_weights = false;      ///< the net has learned before
};

/// For `images` to train with: small batches where there are few, so that an epoch has some updates; enough epochs that
/// all are seen some hundred thousand times in all; the recipe's rate, in proportion to the batch.
Schedule choose_schedule(int64_t images, const Recipe& recipe, const ScheduleOptions& options);

}  // namespace cortado::tools
