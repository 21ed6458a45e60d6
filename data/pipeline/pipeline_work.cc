// The workers: take a few samples under the lock, read them outside of it, count them under the lock.
#include <algorithm>

#include "data/augment/augment_options.h"
#include "data/augment/box_sampling.h"
#include "data/image/png.h"
#include "data/pipeline/pipeline_state.h"

namespace cortado::data {

bool DataPipeline::State::take(Task& task, std::unique_lock<std::mutex>& lock) {
  const int64_t batch_size = options.batch_size;
  work_appeared.wait(
      lock, [&] { return stopping || (!order_failed && handed_out / batch_size < released + options.prefetch); });
  if (stopping) return false;
  const int64_t batch = handed_out / batch_size;
  task.slab = &slab_of(batch);
  task.first = int(handed_out % batch_size);
  if (task.first == 0) task.slab->begin(batch, options.batch_size);
  task.sample = handed_out;
  const int wanted = std::min(at_once, options.batch_size - task.first);
  task.n = 0;
  task.done = wanted;
  try {
    for (; task.n < wanted; ++task.n) task.records[task.n] = order.at(place(handed_out + task.n));
  } catch (...) {  // the dataset is damaged: no later record can be read
    task.slab->note_error(task.first + task.n, std::current_exception());
    task.done = options.batch_size - task.first;
    order_failed = true;
  }
  handed_out += wanted;
  return true;
}

SamplePart DataPipeline::State::part_for(const SourceWindow& window, const Record& record, const Task& task, int i,
                                         SampleReader& reader) const {
  BatchSlab& content = task.slab->content;
  const int at = task.first + i;
  const PixelPlace place = [&content, at](size_t bytes) { return content.take(at, bytes); };
  if (!cache) return reader.read_part(window, here, place);
  const Sample& whole = cache->sample(record.number);
  if (here || device->holds_dataset()) return {whole, {0, 0, whole.height, whole.width}};
  const size_t element = whole.floats != nullptr ? sizeof(float) : 1;
  return copy_part(whole, {window.top, window.left, window.height, window.width},
                   place(size_t(whole.channels) * size_t(window.height) * size_t(window.width) * element));
}

/// Depends on the record and its draw only. Samples whose colours have to be measured are decoded on the host.
bool DataPipeline::State::leaves_to_device(const Sample& whole, const AugmentParams& params,
                                           const SampleReader& reader) const {
  return device && device->decodes_jpegs() && whole.channels == 3 && !measures_colors(params) &&
         is_plain_jpeg(reader.file());
}

/// Throws SampleError.
void DataPipeline::State::make_of(const Record& found, const Task& task, int i, SampleReader& reader) const {
  Record record = found;
  record.place = this->place(task.sample + i);
  if (!cache) source->prefetch(record);
  Label label = cache ? cache->label(record.number) : 0;
  const Sample whole = cache ? cache->sample(record.number) : reader.open(record, label);
  const uint64_t place = record.place, records = uint64_t(source->records());
  const std::vector<Object>& objects = reader.objects();
  const AugmentParams params = draw_params(options.transform, whole.channels, whole.height, whole.width, options.seed,
                                           place / records, place % records, objects);
  if (whole.channels != first.channels || params.out_height != size.height || params.out_width != size.width)
    throw SampleError("the image is " + whole.shape_str() + ", but the dataset's first one is " + first.shape_str(),
                      "images of a batch must have the same size: set transform_param.crop_size, or resize them "
                      "(ImageData: new_height and "
                      "new_width)");
  ReadySample& ready = task.slab->content.samples[size_t(task.first + i)];
  ready.file.clear();
  const bool leaves = leaves_to_device(whole, params, reader);
  const SamplePart got = leaves ? SamplePart{whole, {0, 0, whole.height, whole.width}}
                                : part_for(source_window(params), record, task, i, reader);
  if (leaves) {
    ready.file = reader.file();
    ready.record = record;
  }
  ready.sample = got.sample;
  ready.params = resolve_params(params, got.sample, got.part);
  ready.label = float(label);
  carry_objects(params, objects, options.transform.augment.keep, ready.objects);
  if (options.label_map.on) carry_labels(params, reader.label_image(), options.label_map, ready.label_map);
}

/// Depends on the record's number only.
Record DataPipeline::State::replacement(const Record& bad, Worker& worker) const {
  if (!worker.others) worker.others = source->finder(false);
  const uint64_t number = (bad.number + 1) % uint64_t(source->records());
  Record next = worker.others->find(number);
  next.number = number;
  return next;
}

/// Stops the search after one bad record more than allowed, because the reader would reject that one.
void DataPipeline::State::make_one(const Task& task, int i, Worker& worker) const {
  Record record = task.records[i];
  for (int64_t passed = 0;; ++passed) {
    try {
      return make_of(record, task, i, *worker.reader);
    } catch (const SampleError& error) {
      source->check_unchanged();
      try {
        source->fail(record, error);
      } catch (const Error& told) {
        if (!bad.passes_over()) throw;
        worker.passed_over.push_back({task.first + i, record.number, told});
        if (passed == bad.most()) throw;
      }
    }
    record = replacement(record, worker);
  }
}

void DataPipeline::State::make(const Task& task, Worker& worker) {
  int i = 0;
  std::exception_ptr error;
  try {
    for (; i < task.n; ++i) make_one(task, i, worker);
  } catch (...) {
    error = std::current_exception();
  }
  try {
    source->check_unchanged();  // explains any other error
  } catch (...) {
    error = std::current_exception();
    i = 0;
  }
  if (!error && worker.passed_over.empty()) return;
  const std::lock_guard lock(mutex);
  for (BadRecord& met : worker.passed_over) task.slab->passed_over.push_back(std::move(met));
  worker.passed_over.clear();
  if (error) task.slab->note_error(task.first + i, error);
}

void DataPipeline::State::work() {
  Worker worker{source->reader(options.transform.color), nullptr, {}};
  Task task;
  std::unique_lock lock(mutex);
  while (take(task, lock)) {
    lock.unlock();
    make(task, worker);
    lock.lock();
    task.slab->left -= task.done;
    if (task.slab->left == 0) batch_ready.notify_one();
  }
}

}  // namespace cortado::data
