// Two passes: the first reads headers only and adds the sizes, so that a dataset that does not fit is reported at once.
// The second decodes.
#include "data/pipeline/sample_cache.h"

#include <unistd.h>

#include <cstring>
#include <exception>
#include <mutex>

#include "core/error.h"
#include "core/files/file.h"
#include "core/process/signal_waiter.h"
#include "core/text/text.h"
#include "core/threads/thread_pool.h"

namespace cortado::data {

namespace {

constexpr int64_t kSampleCacheAlign = 64;

/// Memory that is available without swapping; the page cache counts as free.
int64_t available_bytes() {
  const std::string info = read_file("/proc/meminfo", 1 << 20);
  const size_t at = info.find("MemAvailable:");
  if (at == std::string::npos) return int64_t(::sysconf(_SC_AVPHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  return std::strtoll(info.c_str() + at + std::strlen("MemAvailable:"), nullptr, 10) * 1024;
}

}  // namespace

SampleCache::SampleCache(std::shared_ptr<const DataSource> source, ColorMode mode, int threads, bool keeps_bad)
    : source_(std::move(source)), keeps_bad_(keeps_bad) {
  const int64_t bytes = measure(mode), available = available_bytes();
  if (bytes > available)
    throw file_error(
        ExitCode::kDevice, source_->path(),
        "the decoded dataset takes " + mebibytes(bytes) + ", but only " + mebibytes(available) + " are free",
        "remove data_param.cache and cache_on, so that records are decoded in each epoch");
  block_ = Arena(size_t(bytes));
  std::mutex mutex;
  std::exception_ptr error;
  std::vector<std::jthread> workers;
  workers.reserve(size_t(threads));
  const SignalsBlocked blocked;
  for (int worker = 0; worker < threads; ++worker)
    workers.push_back(start_thread([&, worker] {
      try {
        decode(size_t(worker), size_t(threads), mode);
      } catch (...) {
        const std::lock_guard lock(mutex);
        error = std::current_exception();
      }
    }));
  workers.clear();  // joins them
  source_->check_unchanged();
  if (error) std::rethrow_exception(error);
  records_ = {};
}

int64_t SampleCache::measure(ColorMode mode) {
  const std::unique_ptr<RecordFinder> finder = source_->finder(false);
  const std::unique_ptr<SampleReader> reader = source_->reader(mode);
  int64_t bytes = 0;
  for (int64_t i = 0; i < source_->records(); ++i) {
    records_.push_back(finder->find(uint64_t(i)));
    records_.back().number = uint64_t(i);
    try {
      Label label;
      const Sample sample = reader->open(records_.back(), label);
      samples_.push_back(sample);
      labels_.push_back(label);
      offsets_.push_back(bytes);
      bytes += (sample.count() * (reader->holds_floats() ? 4 : 1) + kSampleCacheAlign - 1) / kSampleCacheAlign *
               kSampleCacheAlign;
    } catch (const SampleError& error) {
      source_->check_unchanged();
      note_bad(records_.back(), error);
      samples_.emplace_back();
      labels_.push_back(0);
      offsets_.push_back(bytes);
    }
  }
  return bytes;
}

bool SampleCache::is_bad(const Record& record) {
  const std::lock_guard lock(mutex_);
  return bad_.contains(record.number);
}

/// A bad record is reported when it is requested. Throws Error(kData) at once unless bad records are kept.
void SampleCache::note_bad(const Record& record, const SampleError& error) {
  if (!keeps_bad_) source_->fail(record, error);
  const std::lock_guard lock(mutex_);
  bad_.emplace(record.number, error);
}

void SampleCache::decode(size_t first, size_t step, ColorMode mode) {
  const std::unique_ptr<SampleReader> reader = source_->reader(mode);
  for (size_t i = first; i < records_.size(); i += step) {
    if (is_bad(records_[i])) continue;  // no memory is allocated for it
    try {
      Label label;
      source_->prefetch(records_[i]);
      const Sample whole = reader->open(records_[i], label);
      const SourceWindow window{0, 0, whole.height, whole.width, whole.height, whole.width};
      uint8_t* to = reinterpret_cast<uint8_t*>(block_.data() + offsets_[i]);
      samples_[i] = reader->read_part(window, false, [to](size_t) { return to; }).sample;
    } catch (const SampleError& error) {
      note_bad(records_[i], error);
    }
  }
}

}  // namespace cortado::data
