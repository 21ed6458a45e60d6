#include "data/inspect/dataset_stats.h"

#include <algorithm>
#include <cmath>

#include "data/formats/annotated_datum.h"
#include "data/formats/datum.h"
#include "data/formats/printable.h"
#include "data/lmdb/lmdb.h"
#include "data/sources/datum_reader.h"

namespace cortado::data {

namespace {

constexpr size_t kMaxTold = 20, kMaxSizes = 1000;

/// Sums of values and squares of each channel, for images of one number of channels.
struct ChannelSums {
  std::vector<double> sum, squares;
  double pixels = 0;

  template <typename T>
  void add(const T* x, const Sample& sample) {
    const size_t plane = size_t(sample.height) * size_t(sample.width), channels = size_t(sample.channels);
    const size_t pixel_step = sample.interleaved ? channels : 1, channel_step = sample.interleaved ? 1 : plane;
    sum.resize(channels);
    squares.resize(channels);
    for (size_t c = 0; c < channels; ++c) {
      double s = 0, q = 0;
      for (size_t i = 0; i < plane; ++i) {
        const double v = double(x[c * channel_step + i * pixel_step]);
        s += v;
        q += v * v;
      }
      sum[c] += s;
      squares[c] += q;
    }
    pixels += double(plane);
  }
};

void widen(DatasetStats::Range& range, int64_t value, bool first) {
  range.least = first ? value : std::min(range.least, value);
  range.most = std::max(range.most, value);
}

class Collector {
 public:
  explicit Collector(const StatsOptions& options) : options_(options) {}

  void look(Record record, bool decode) {
    ++stats_.records;
    stats_.bytes += int64_t(record.value.size());
    int32_t label = 0;
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
    if (!annotated) {
      ++stats_.per_label[label];
      return;
    }
    ++stats_.annotated;
    for (const Object& object : objects_) ++stats_.per_label[object.label];
  }

  void note_broken(const Record& record, const char* why) {
    ++stats_.records;
    stats_.bytes += int64_t(record.value.size());
    tell_broken(record, why);
  }

  DatasetStats finish() {
    const auto sums = sums_.find(stats_.channels());
    if (sums != sums_.end()) {
      for (size_t c = 0; c < sums->second.sum.size(); ++c) {
        const double mean = sums->second.sum[c] / sums->second.pixels;
        stats_.mean.push_back(mean);
        stats_.deviation.push_back(
            std::sqrt(std::max(0.0, sums->second.squares[c] / sums->second.pixels - mean * mean)));
      }
    }
    stats_.odd = finder_.found();
    return std::move(stats_);
  }

 private:
  void tell_broken(const Record& record, const char* why) {
    if (stats_.broken++ < int64_t(kMaxTold)) stats_.told_broken.push_back({printable(record.key), why});
  }

  void add(const Sample& sample, const Record& record, int32_t label) {
    measure(sample);
    ++stats_.decoded;
    pixels_ += sample.count();
    ChannelSums& sums = sums_[sample.channels];
    if (sample.bytes)
      sums.add(sample.bytes, sample);
    else
      sums.add(sample.floats, sample);
    if (options_.find_odd) finder_.look(sample, printable(record.key), label);
  }

  void measure(const Sample& sample) {
    const bool first = stats_.per_channels.empty();
    ++stats_.per_channels[sample.channels];
    const std::string size = sample.shape_str();
    if (stats_.per_size.size() < kMaxSizes || stats_.per_size.contains(size)) ++stats_.per_size[size];
    widen(stats_.height, sample.height, first);
    widen(stats_.width, sample.width, first);
    widen(stats_.short_side, std::min(sample.height, sample.width), first);
  }

  const StatsOptions& options_;
  int64_t pixels_ = 0;
  DatumReader reader_;
  std::vector<float> floats_;
  std::vector<Object> objects_;
  std::map<int, ChannelSums> sums_;
  OddImageFinder finder_;
  DatasetStats stats_;
};

}  // namespace

int DatasetStats::channels() const {
  const auto most = std::max_element(per_channels.begin(), per_channels.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == per_channels.end() ? 0 : most->first;
}

int64_t DatasetStats::classes() const {
  return per_label.empty() || per_label.begin()->first < 0 ? 0 : int64_t(per_label.rbegin()->first) + 1;
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
