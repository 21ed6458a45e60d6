#include "data/convert/compute_mean.h"

#include "data/lmdb/lmdb.h"
#include "data/sources/datum_reader.h"

namespace cortado::data {

namespace {

/// Sums every element over samples of one size.
class MeanSum {
 public:
  void add(const Sample& sample) {
    if (count_++ == 0) start(sample);
    if (sample.channels != first_.channels || sample.height != first_.height || sample.width != first_.width)
      throw SampleError("the image is " + sample.shape_str() + ", but the first one is " + first_.shape_str(),
                        "use mean_value instead, or resize the images when converting");
    if (sample.bytes != nullptr)
      add(sample.bytes, sample);
    else
      add(sample.floats, sample);
  }

  caffe::BlobProto mean() const {
    caffe::BlobProto blob;
    blob.set_num(1);
    blob.set_channels(first_.channels);
    blob.set_height(first_.height);
    blob.set_width(first_.width);
    for (const double sum : sums_) blob.add_data(float(sum / double(count_)));
    return blob;
  }

 private:
  void start(const Sample& sample) {
    first_ = sample;
    sums_.assign(size_t(sample.count()), 0.0);
  }

  template <typename T>
  void add(const T* x, const Sample& sample) {
    const size_t plane = size_t(sample.height) * size_t(sample.width), channels = size_t(sample.channels);
    const size_t pixel_step = sample.interleaved ? channels : 1, channel_step = sample.interleaved ? 1 : plane;
    for (size_t c = 0; c < channels; ++c)
      for (size_t i = 0; i < plane; ++i) sums_[c * plane + i] += double(x[c * channel_step + i * pixel_step]);
  }

  Sample first_;
  int64_t count_ = 0;
  std::vector<double> sums_;
};

}  // namespace

caffe::BlobProto compute_mean(const std::string& lmdb, const Progress& progress) {
  const std::shared_ptr<const Lmdb> database = Lmdb::open(lmdb);
  LmdbCursor cursor(database);
  DatumReader reader;
  MeanSum sum;
  for (int64_t i = 0; i < database->records(); ++i) {
    const Record record = cursor.next();
    try {
      Label label;
      sum.add(reader.read(record, label));
    } catch (const SampleError& error) {
      database->check_unchanged();
      throw_bad_record(*database, record.key, error);
    }
    if (progress && (i + 1) % 1000 == 0) progress(i + 1, database->records());
  }
  database->check_unchanged();
  if (progress) progress(database->records(), database->records());
  return sum.mean();
}

}  // namespace cortado::data
