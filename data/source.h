#pragma once

// A dataset as the pipeline sees it: records by number, whether they are values of a database or files that a list
// names. A source is shared by threads and holds what all of them read; a RecordFinder walks it for one order, a
// SampleReader opens records for one thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/object.h"
#include "data/record.h"
#include "data/sample.h"

namespace cortado::data {

/// Finds records; not thread-safe. Cheap where numbers follow each other, or come from anywhere if that was announced.
class RecordFinder {
 public:
  virtual ~RecordFinder() = default;
  virtual Record find(uint64_t number) = 0;  ///< number < records(). Throws Error(kData)
  /// Begins to bring in `count` records from `first` on, and does not wait.
  virtual void read_ahead(uint64_t first, uint64_t count) {
    (void)first;
    (void)count;
  }
};

/// Turns records into samples, in two steps: open() tells how large the sample is, then read_part() gives at least a
/// window of it. Keeps its buffers, so there is one for each thread, and nothing is allocated once they have grown.
class SampleReader {
 public:
  virtual ~SampleReader() = default;

  /// The sample without its elements. Throws SampleError.
  virtual Sample open(const Record& record, int32_t& label) = 0;
  virtual bool holds_floats() const = 0;  ///< what open() opened has floats, not bytes
  virtual bool decodes() const = 0;       ///< its elements lie in no record: read_part() makes them, which takes long
  /// The image file that open() opened, until the next open() and while the record is there; "" where the sample is
  /// none, or is not what the file holds.
  virtual std::string_view file() const { return {}; }
  virtual const std::vector<Object>& objects() const;  ///< in what open() opened; none where records have none

  /// What open() opened, at least the window of it, while the record is there. Elements come into `place`'s memory, but
  /// where `may_view` those that lie in the record are left there. Throws SampleError.
  virtual SamplePart read_part(const SourceWindow& window, bool may_view, const PixelPlace& place) = 0;
};

using LabelVisit = std::function<void(const Record& record, int32_t label)>;

inline const std::vector<Object>& SampleReader::objects() const {
  static const std::vector<Object> none;
  return none;
}

class DataSource {
 public:
  virtual ~DataSource() = default;

  virtual const std::string& path() const = 0;  ///< as the user gave it
  virtual int64_t records() const = 0;          ///< at least 1
  virtual int64_t bytes() const = 0;            ///< that one epoch reads from disk; 0: not known

  /// `anywhere`: numbers will come in no order.
  virtual std::unique_ptr<RecordFinder> finder(bool anywhere) const = 0;
  virtual std::unique_ptr<SampleReader> reader(ColorMode mode) const = 0;

  /// Shows records with their labels in the source's order and opens no image: all of them where there are up to
  /// `most`, else about `most` that lie evenly. None where labels are no part of the records. Throws Error(kData).
  virtual void visit_labels(int64_t most, const LabelVisit& visit) const {
    (void)most;
    (void)visit;
  }

  virtual bool has_objects() const { return false; }  ///< records say what is where in their images

  /// Brings a record's bytes to memory, so that reading them afterwards does not wait, and checks them where the source
  /// has something to check them by; to be called before they are used. Throws SampleError.
  virtual void prefetch(const Record& record) const { (void)record; }
  /// Throws Error(kData) when the dataset was cut off or changed under its readers. Cheap.
  virtual void check_unchanged() const {}
  /// The Error(kData) that names the dataset and the record.
  [[noreturn]] virtual void fail(const Record& record, const SampleError& error) const = 0;
};

}  // namespace cortado::data
