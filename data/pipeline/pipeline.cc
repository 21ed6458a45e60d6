#include "data/pipeline/pipeline.h"

#include <algorithm>

#include "core/error.h"
#include "core/log.h"
#include "core/process/signal_waiter.h"
#include "core/rng.h"
#include "core/threads/thread_pool.h"
#include "data/pipeline/jpeg_decoding.h"
#include "data/pipeline/pipeline_state.h"
#include "data/sources/lmdb_source.h"

namespace cortado::data {

namespace {

constexpr uint64_t kSkipKey = 0x534B4950ull;  // separates this draw from others with the same seed

constexpr int kMarginColumns = 24;  // additional columns that decoding a window needs

}  // namespace

DataPipeline::State::State(PipelineOptions given_options)
    : options(std::move(given_options)),
      source(options.open ? options.open() : lmdb_source(Lmdb::open(options.source))),
      bad(options.skip_bad),
      order(source, {options.shuffle, options.seed}) {
  look_at_first();
  if (!encoded) at_once = kMaxSamplesAtOnce;
  at_once = std::min(at_once, (options.batch_size + options.threads - 1) / options.threads);
  if (options.rand_skip > 0) seek(Philox(mix_key(options.seed, kSkipKey))(0, 0).v[0] % options.rand_skip);
}

/// The first record that can be opened determines the shapes.
void DataPipeline::State::look_at_first() {
  const std::unique_ptr<RecordFinder> finder = source->finder(false);
  const std::unique_ptr<SampleReader> reader = source->reader(options.transform.color);
  for (int64_t number = 0;; ++number) {
    const Record record = finder->find(uint64_t(number));
    try {
      source->prefetch(record);
      return take_shapes(record, *reader);
    } catch (const SampleError& error) {
      source->check_unchanged();
      if (number + 1 == source->records() || number >= bad.most()) source->fail(record, error);
    }
  }
}

void DataPipeline::State::take_shapes(const Record& record, SampleReader& reader) {
  Label label;
  first = reader.open(record, label);
  encoded = reader.decodes();
  size = output_size(options.transform, first);
  const SourceWindow window =
      source_window(draw_params(options.transform, first.channels, first.height, first.width, options.seed, 0, 0));
  window_bytes = int64_t(first.channels) * window.height * std::min(window.width + kMarginColumns, first.width) *
                 (reader.holds_floats() ? int64_t(sizeof(float)) : 1);
}

void DataPipeline::State::start(Context& context, const Tensor& y) {
  if (slabs.empty()) {
    here = context.shares_host_memory() && y.spec.dtype == DType::kF32 && y.spec.layout == Layout::kPlain;
    std::vector<Slab> made(static_cast<size_t>(options.prefetch));
    if (options.cache != CacheOn::kNowhere)
      cache = std::make_unique<SampleCache>(source, options.transform.color, options.threads, bad.passes_over());
    if (!here) device.emplace(context, options.transform, options.cache == CacheOn::kDevice ? cache.get() : nullptr);
    choose_decoder(context);
    const bool nothing_copied = (here && (cache || !encoded)) || (device && device->holds_dataset());
    for (Slab& slab : made) slab.content.prepare(context, options.batch_size, nothing_copied ? 0 : window_bytes, !here);
    slabs = std::move(made);
  }
  const SignalsBlocked blocked;
  stopping = false;
  threads = start_threads(
      options.threads, [this] { work(); }, [this] { end(); });
}

/// Raw records need no decoder, and cached ones are already decoded.
void DataPipeline::State::choose_decoder(Context& context) {
  JpegDecoding& decoding = context.handle<JpegDecoding>();
  if (decoding.wanted == DecodeOn::kCpu || !device || !encoded || cache) return;
  if (bad.passes_over()) {  // a device detects bad records too late to replace them
    if (decoding.wanted == DecodeOn::kGpu)
      throw Error(ExitCode::kUsage, "--decode=gpu and --skip-bad exclude each other",
                  "use --decode=auto to decode on the CPU");
    return;
  }
  try {
    decoding.by = device->decode_jpegs([this](const Record& record, const SampleError& error) {
      source->check_unchanged();
      source->fail(record, error);
    });
    log_info() << source->path() << ": JPEGs are decoded by " << decoding.by
               << ", those that it rejects by libjpeg-turbo";
  } catch (const Error& error) {
    if (decoding.wanted == DecodeOn::kGpu) throw;
    log_info() << source->path() << ": JPEGs are decoded by libjpeg-turbo: " << error.mistakes().front().message;
  }
}

void DataPipeline::State::stop() {
  end();
  threads.clear();  // joins them
}

void DataPipeline::State::end() {
  {
    const std::lock_guard lock(mutex);
    stopping = true;
  }
  work_appeared.notify_all();
}

/// Restarts at this batch, counted from begin_position.
void DataPipeline::State::restart_at(int64_t batch) {
  stop();
  if (device) device->reset();
  for (Slab& slab : slabs) slab.begin(-1, 0);
  given = released = batch;
  handed_out = batch * options.batch_size;
  order_failed = false;
}

void DataPipeline::State::seek(uint64_t position) {
  restart_at(0);
  begin_position = position;
}

void DataPipeline::State::log_restart(Context& context, uint64_t from, uint64_t to) const {
  const uint64_t records = uint64_t(source->records());
  auto& notices = context.handle<RestartNotices>();
  if (from / records == to / records || (notices.given && !notices.all)) return;
  notices.given = true;
  log_info() << "Restarting data prefetching from start.";
}

DataPipeline::DataPipeline(PipelineOptions options) : state_(std::make_unique<State>(std::move(options))) {}
DataPipeline::~DataPipeline() {
  if (!made_here_) static_cast<void>(state_.release());  // its threads cannot be joined
}

/// The state, made anew if its threads are those of the process from which this one was forked.
DataPipeline::State& DataPipeline::running() {
  if (made_here_) return *state_;
  auto made = std::make_unique<State>(state_->options);
  made->begin_position = state_->begin_position;
  made->bad = state_->bad;
  made->restart_at(state_->given);
  static_cast<void>(state_.release());  // a thread that is not here may have locked it
  state_ = std::move(made);
  made_here_ = {};
  return *state_;
}

Shape DataPipeline::data_shape() const {
  return {state_->options.batch_size, state_->first.channels, state_->size.height, state_->size.width};
}

Shape DataPipeline::label_shape() const {
  const PipelineOptions& options = state_->options;
  const MixPlan& mix = options.transform.augment.mix;
  return mix.on() ? Shape{options.batch_size, mix.classes} : Shape{options.batch_size};
}

int64_t DataPipeline::records() const { return state_->source->records(); }
const DataSource& DataPipeline::source() const { return *state_->source; }
bool DataPipeline::shuffles() const { return state_->options.shuffle != Shuffle::kNone; }

Record DataPipeline::record(uint64_t place) const {
  const PipelineOptions& options = state_->options;
  RecordOrder order(state_->source, {options.shuffle, options.seed});
  return order.at(place);
}

uint64_t DataPipeline::place(int64_t item) const {
  return state_->place((state_->given - 1) * state_->options.batch_size + item);
}

void DataPipeline::read(Context& context, const Tensor& y, const Tensor& labels) {
  State& state = running();
  if (state.threads.empty()) state.start(context, y);
  const uint64_t from = position();
  if (state.here)
    state.read_here(context, y, labels);
  else
    state.read_on_device(context, y, labels);
  ++state.given;
  state.log_restart(context, from, position());
}

const std::vector<std::vector<Object>>& DataPipeline::objects() const { return state_->objects; }

const std::vector<std::vector<int16_t>>& DataPipeline::label_maps() const { return state_->label_maps; }

uint64_t DataPipeline::position() const {
  const PipelineOptions& options = state_->options;
  return state_->begin_position + uint64_t(options.share.over(state_->given) * options.batch_size);
}

void DataPipeline::seek(uint64_t position) { running().seek(position); }

void DataPipeline::repeat() {
  State& state = running();
  state.restart_at(state.given - 1);
}

double DataPipeline::wait_seconds() const { return state_->waited; }

}  // namespace cortado::data
