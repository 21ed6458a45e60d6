// What each worker does: take a few samples under the lock, make them outside of it, count them under the lock.
#include <algorithm>

#include "data/pipeline_state.h"

namespace cortado::data {

bool DataPipeline::State::take(Task& task, std::unique_lock<std::mutex>& lock) {
  const int64_t batch_size = options.batch_size;
  work_appeared.wait(lock,
                     [&] { return stopping || (!order_failed && handed_out / batch_size < given + options.prefetch); });
  if (stopping) return false;
  const int64_t batch = handed_out / batch_size;
  task.slab = &slabs[size_t(batch % options.prefetch)];
  task.first = int(handed_out % batch_size);
  if (task.first == 0) task.slab->begin(batch, options.batch_size);
  task.position = begin_position + uint64_t(handed_out);
  const int wanted = std::min(at_once, options.batch_size - task.first);
  task.n = 0;
  task.done = wanted;
  try {
    for (; task.n < wanted; ++task.n) task.records[task.n] = order.next();
  } catch (...) {  // the tree is broken: nothing after this can be read
    task.slab->note_error(task.first + task.n, std::current_exception());
    task.done = options.batch_size - task.first;
    order_failed = true;
  }
  handed_out += wanted;
  return true;
}

void DataPipeline::State::make_one(const Record& record, uint64_t position, SampleReader& reader, float* out,
                                   float* label) const {
  try {
    int32_t label_value;
    const Sample sample = reader.read(record, options.transform.color, label_value);
    const OutputSize got = output_size(options.transform, sample);
    if (sample.channels != first.channels || got.height != size.height || got.width != size.width)
      throw SampleError(
          "the image is " + sample.shape_str() + ", but the dataset's first one is " + first.shape_str(),
          "images of a batch have one size: set transform_param.crop_size, or resize them when converting");
    const uint64_t records = uint64_t(database->records());
    const SampleDraw draw = draw_sample(options.transform, sample.channels, sample.height, sample.width, options.seed,
                                        position / records, position % records);
    transform(sample, options.transform, draw, out);
    *label = float(label_value);
  } catch (const SampleError& error) {
    throw_bad_record(*database, record.key, error);
  }
}

void DataPipeline::State::make(const Task& task, SampleReader& reader) {
  int i = 0;
  std::exception_ptr error;
  try {
    for (; i < task.n; ++i) {
      const int64_t at = task.first + i;
      make_one(task.records[i], task.position + uint64_t(i), reader, task.slab->data() + at * sample_floats,
               &task.slab->labels[size_t(at)]);
    }
  } catch (...) {
    error = std::current_exception();
  }
  try {
    database->check_unchanged();  // explains whatever else went wrong
  } catch (...) {
    error = std::current_exception();
    i = 0;
  }
  if (!error) return;
  const std::lock_guard lock(mutex);
  task.slab->note_error(task.first + i, error);
}

void DataPipeline::State::work() {
  SampleReader reader;
  Task task;
  std::unique_lock lock(mutex);
  while (take(task, lock)) {
    lock.unlock();
    make(task, reader);
    lock.lock();
    task.slab->left -= task.done;
    if (task.slab->left == 0) batch_ready.notify_one();
  }
}

}  // namespace cortado::data
