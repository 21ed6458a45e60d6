// The reader's side: waits for a batch of samples and transforms it for the net, on the CPU or on a device.
#include <algorithm>
#include <chrono>

#include "core/threads/threads.h"
#include "data/pipeline/pipeline_state.h"

namespace cortado::data {

bool DataPipeline::State::is_ready(int64_t batch) {
  const std::lock_guard lock(mutex);
  const Slab& slab = slab_of(batch);
  return slab.batch == batch && slab.left == 0 && !slab.error;
}

Slab& DataPipeline::State::wait_for_batch() {
  using Clock = std::chrono::steady_clock;
  Slab& slab = slab_of(given);
  std::unique_lock lock(mutex);
  const auto ready = [&] { return slab.batch == given && slab.left == 0; };
  if (!ready()) {
    const Clock::time_point from = Clock::now();
    batch_ready.wait(lock, ready);
    waited += std::chrono::duration<double>(Clock::now() - from).count();
  }
  try {
    bad.take(slab.passed_over);
  } catch (...) {  // further calls throw the same
    slab.error = std::current_exception();
  }
  if (slab.error) std::rethrow_exception(slab.error);
  return slab;
}

void DataPipeline::State::release(Context& context) {
  slab_of(released).content.grow(context);
  {
    const std::lock_guard lock(mutex);
    ++released;
  }
  work_appeared.notify_all();
}

void DataPipeline::State::draw_mixes(Slab& slab) const {
  if (!options.transform.augment.mix.on()) return;
  for (int i = 0; i < mix_pairs(options.batch_size); ++i)
    slab.content.mixes[size_t(i)] = draw_mix(options.transform.augment.mix, size.height, size.width, options.seed,
                                             place(slab.batch * options.batch_size + i));
}

/// The slab is reused before the next batch is requested.
void DataPipeline::State::take_objects(const Slab& slab) {
  objects.resize(slab.content.samples.size());
  for (size_t i = 0; i < objects.size(); ++i) objects[i] = slab.content.samples[i].objects;
  if (!options.label_map.on) return;
  label_maps.resize(slab.content.samples.size());
  for (size_t i = 0; i < label_maps.size(); ++i) label_maps[i] = slab.content.samples[i].label_map;
}

void DataPipeline::State::read_here(Context& context, const Tensor& y, const Tensor& labels) {
  Slab& slab = wait_for_batch();
  const std::vector<ReadySample>& samples = slab.content.samples;
  std::vector<float>& numbers = slab.content.labels;
  const int64_t n = options.batch_size, floats = y.count() / n;
  parallel_ranges(context, n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const ReadySample& ready = samples[size_t(i)];
      transform(ready.sample, options.transform, ready.params, y.f32() + i * floats);
      numbers[size_t(i)] = ready.label;
    }
  });
  const MixPlan& mix = options.transform.augment.mix;
  if (mix.on()) {
    draw_mixes(slab);
    mix_batch(context, slab.content.mixes.data(), y, numbers.data(), mix.classes, labels.f32());
  } else if (labels) {
    std::copy(numbers.begin(), numbers.end(), labels.f32());
  }
  source->check_unchanged();  // samples may be views of the dataset
  take_objects(slab);
  release(context);
}

/// The slab is released when the next batch is requested; its copy, which nothing waits for, is complete by then.
void DataPipeline::State::read_on_device(Context& context, const Tensor& y, const Tensor& labels) {
  if (released < given) {
    device->wait_sent(released);
    release(context);
  }
  Slab& slab = wait_for_batch();
  const auto send = [&](int64_t batch, Slab& ready) {
    draw_mixes(ready);
    device->send(batch, ready.content);
  };
  if (!device->sent(given)) send(given, slab);
  device->transform(context, given, slab.content, y, labels);
  take_objects(slab);
  if (options.prefetch > 1 && is_ready(given + 1)) send(given + 1, slab_of(given + 1));
}

}  // namespace cortado::data
