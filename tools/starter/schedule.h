#pragma once

#include "tools/starter/choice.h"
#include "tools/starter/starting_net.h"

namespace cortado::tools {

/// The length and learning rate of a training.
struct Schedule {
  int64_t batch = 0, test_batch = 0, epochs = 0;
  int64_t iterations = 0;  ///< of all epochs
  float base_lr = 0;
  int64_t warmup = 0, test_interval = 0, display = 0, snapshot = 0;
  Choices choices;
};

struct ScheduleOptions {
  int64_t batch = 0, epochs = 0;  ///< chosen by the user; 0: choose
  bool from_weights = false;      ///< the net starts from pretrained weights
  bool slow = false;              ///< a tenth of the rate, because pretrained weights are trained, too
};

/// The schedule for a number of training images. Small sets get small batches, so that an epoch has several updates.
/// The number of epochs is such that the net reads some hundred thousand images in total. The rate is the recipe's, in
/// proportion to the batch.
Schedule choose_schedule(int64_t images, const Recipe& recipe, const ScheduleOptions& options);

}  // namespace cortado::tools
