#include "data/inspect/dataset_stats.h"

#include <algorithm>
#include <cmath>

#include "data/formats/datum.h"
#include "data/formats/text.h"
#include "data/lmdb/lmdb.h"
#include "data/sources/datum_reader.h"

namespace cortado::data {

namespace {

constexpr size_t kMaxListed = 20, kMaxSizes = 1000, kMaxSampled = 1000;

constexpr int kSeenSide = 256;  ///< images whose shorter side is at least twice this are averaged in blocks

/// The values of one channel of an image.
template <typename T>
struct Plane {
  const T* x;
  size_t height, width, step;  ///< step: distance between pixels

  /// The average of the block of `side` x `side` pixels at this position.
  double block(size_t row, size_t column, size_t side) const {
    double sum = 0;
    for (size_t y = row; y < row + side; ++y)
      for (size_t i = y * width + column; i < y * width + column + side; ++i) sum += double(x[i * step]);
    return sum / double(side * side);
  }
};

/// Means over images of each channel's mean and mean square, for images with the same number of channels.
struct ChannelSums {
  std::vector<double> value, square;
  double images = 0;

  template <typename T>
  void add(const T* x, const Sample& sample) {
    const size_t height = size_t(sample.height), width = size_t(sample.width), channels = size_t(sample.channels);
    value.resize(channels);
    square.resize(channels);
    const size_t step = sample.interleaved ? channels : 1, channel_step = sample.interleaved ? 1 : height * width;
    for (size_t c = 0; c < channels; ++c) add_channel(c, Plane<T>{x + c * channel_step, height, width, step});
    images += 1;
  }

 private:
  template <typename T>
  void add_channel(size_t c, const Plane<T>& plane) {
    const size_t side = std::max<size_t>(1, std::min(plane.height, plane.width) / kSeenSide);
    const size_t rows = plane.height / side, columns = plane.width / side;
    double sum = 0, squares = 0;
    for (size_t row = 0; row < rows; ++row)
      for (size_t column = 0; column < columns; ++column) {
        const double v = plane.block(row * side, column * side, side);
        sum += v;
        squares += v * v;
      }
    value[c] += sum / double(rows * columns);
    square[c] += squares / double(rows * columns);
  }
};

class Collector {
 public:
  explicit Collector(const StatsOptions& options)
      : options_(options), finder_(options.finder ? *options.finder : own_finder_) {}

  void look(Record record, bool decode) {
    ++stats_.records;
    stats_.bytes += int64_t(record.value.size());
    Label label = 0;
    const bool annotated = is_annotated(record.value);
    if (annotated) record.value = parse_annotated_datum(record.value, objects_);
    try {
      const DatumView datum = parse_datum(record.value, floats_);
      label = datum.label;
      stats_.encoded += !datum.encoded.empty();
      const bool enough = options_.most_pixels > 0 && pixels_ >= options_.most_pixels;
      if (decode && !enough)
        add(reader_.read(record, label), record, label);
      else
        measure(reader_.open(record, label));
    } catch (const SampleError& error) {
      return tell_broken(record, error.what());
    }
    if (!annotated) return is_class(label) ? count(record, class_of(label)) : stats_.numbers.add(label);
    ++stats_.annotated;
    for (const Object& object : objects_) count(record, object.label);
  }

  void note_broken(const Record& record, const char* why) {
    ++stats_.records;
    stats_.bytes += int64_t(record.value.size());
    tell_broken(record, why);
  }

  DatasetStats finish() {
    const auto sums = sums_.find(stats_.channels());
    if (sums != sums_.end()) {
      for (size_t c = 0; c < sums->second.value.size(); ++c) {
        const double mean = sums->second.value[c] / sums->second.images;
        stats_.mean.push_back(mean);
        stats_.deviation.push_back(
            std::sqrt(std::max(0.0, sums->second.square[c] / sums->second.images - mean * mean)));
      }
    }
    stats_.odd = finder_.take();
    return std::move(stats_);
  }

 private:
  void tell_broken(const Record& record, const char* why) {
    if (stats_.broken++ < int64_t(kMaxListed)) stats_.listed_broken.push_back({printable(record.key), why});
  }

  void count(const Record& record, int32_t label) {
    ++stats_.per_label[label];
    if (stats_.samples.size() >= kMaxSampled && !stats_.samples.contains(label)) return;
    std::vector<std::string>& samples = stats_.samples[label];
    const std::string key = printable(record.key);
    if (samples.size() < DatasetStats::kMaxSamples && (samples.empty() || samples.back() != key))
      samples.push_back(key);
  }

  void add(const Sample& sample, const Record& record, Label label) {
    measure(sample);
    ++stats_.decoded;
    pixels_ += sample.count();
    ChannelSums& sums = sums_[sample.channels];
    if (sample.bytes)
      sums.add(sample.bytes, sample);
    else
      sums.add(sample.floats, sample);
    if (options_.find_odd) finder_.look(sample, printable(record.key), label, options_.set);
  }

  void measure(const Sample& sample) {
    ++stats_.per_channels[sample.channels];
    const std::string size = sample.shape_str();
    if (stats_.per_size.size() < kMaxSizes || stats_.per_size.contains(size)) ++stats_.per_size[size];
    ++stats_.height.counts[sample.height];
    ++stats_.width.counts[sample.width];
    ++stats_.short_side.counts[std::min(sample.height, sample.width)];
  }

  const StatsOptions& options_;
  int64_t pixels_ = 0;
  DatumReader reader_;
  std::vector<float> floats_;
  std::vector<Object> objects_;
  std::map<int, ChannelSums> sums_;
  OddImageFinder own_finder_;
  OddImageFinder& finder_;
  DatasetStats stats_;
};

}  // namespace

int64_t DatasetStats::Lengths::quantile(double share) const {
  int64_t images = 0, passed = 0;
  for (const auto& [length, count] : counts) images += count;
  for (const auto& [length, count] : counts) {
    passed += count;
    if (double(passed) > share * double(images)) return length;
  }
  return most();
}

int DatasetStats::channels() const {
  const auto most = std::max_element(per_channels.begin(), per_channels.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == per_channels.end() ? 0 : most->first;
}

int64_t DatasetStats::classes() const {
  return per_label.empty() || per_label.begin()->first < 0 || numbers.count > 0
             ? 0
             : int64_t(per_label.rbegin()->first) + 1;
}

DatasetStats dataset_stats(const std::string& lmdb, const StatsOptions& options) {
  const std::shared_ptr<const Lmdb> database = Lmdb::open(lmdb);
  LmdbCursor cursor(database);
  Collector collector(options);
  const int64_t n = database->records(), wanted = options.most_decoded > 0 ? std::min(n, options.most_decoded) : n;
  for (int64_t i = 0; i < n; ++i) {
    const Record record = cursor.locate_next();
    if (database->is_whole(record))
      collector.look(record, (i + 1) * wanted / n > i * wanted / n);
    else
      collector.note_broken(record, "it does not match its checksum");
    if (options.progress && (i + 1) % 16 == 0) options.progress(i + 1, n);
  }
  database->check_unchanged();
  if (options.progress) options.progress(n, n);
  return collector.finish();
}

}  // namespace cortado::data
