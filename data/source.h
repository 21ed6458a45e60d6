#pragma once

// The interface of datasets for the pipeline: records by number, from a database or from files in a list. A source is
// shared by threads. A RecordFinder finds records for one order, and a SampleReader opens records for one thread.

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/object.h"
#include "data/record.h"
#include "data/sample.h"

namespace cortado::data {

/// Finds records; not thread-safe. Cheap for consecutive numbers, and for random ones if that was announced.
class RecordFinder {
 public:
  virtual ~RecordFinder() = default;
  virtual Record find(uint64_t number) = 0;  ///< number < records(). Throws Error(kData)
  /// Starts loading `count` records from `first` on, without waiting.
  virtual void read_ahead(uint64_t first, uint64_t count) {
    (void)first;
    (void)count;
  }
};

/// Converts records to samples in two steps: open() returns the sample's size, and read_part() at least a window of it.
/// Reuses its buffers, so each thread needs its own, and nothing is allocated after they have grown.
class SampleReader {
 public:
  virtual ~SampleReader() = default;

  /// Returns the sample without its elements, and its label. Throws SampleError.
  virtual Sample open(const Record& record, Label& label) = 0;
  virtual bool holds_floats() const = 0;  ///< the opened record has floats, not bytes
  virtual bool decodes() const = 0;       ///< its elements are not in a record: read_part() decodes them, which is slow
  /// The image file of the opened record, valid until the next open() and while the record is; "" if the sample is not
  /// the content of an image file.
  virtual std::string_view file() const { return {}; }
  virtual const std::vector<Object>& objects() const;  ///< in the opened record; empty if it has none
  /// The label image of the opened record: one channel of bytes, valid until the next call. Throws SampleError; also
  /// if there is none.
  virtual Sample label_image() { throw SampleError("it has no label image"); }

  /// Reads at least the window of the opened record, which must still be valid. Elements are written to memory from
  /// `place`; with `may_view`, elements that are in the record are not copied. Throws SampleError.
  virtual SamplePart read_part(const SourceWindow& window, bool may_view, const PixelPlace& place) = 0;
};

using LabelVisit = std::function<void(const Record& record, Label label)>;

inline const std::vector<Object>& SampleReader::objects() const {
  static const std::vector<Object> none;
  return none;
}

/// The number of records of a source whose sequence has no end, and so no epochs.
constexpr int64_t kEndless = std::numeric_limits<int64_t>::max();

class DataSource {
 public:
  virtual ~DataSource() = default;

  virtual const std::string& path() const = 0;  ///< as the user specified it
  virtual int64_t records() const = 0;          ///< at least 1; kEndless if records are drawn without end
  virtual int64_t bytes() const = 0;            ///< that one epoch reads from disk; 0: unknown

  /// `anywhere`: numbers will be in random order.
  virtual std::unique_ptr<RecordFinder> finder(bool anywhere) const = 0;
  virtual std::unique_ptr<SampleReader> reader(ColorMode mode) const = 0;

  /// Calls `visit` with records and their labels in the source's order, without opening images: with all records if
  /// there are up to `most`, otherwise with about `most` evenly spaced ones. Does nothing if labels are not part of the
  /// records. Throws Error(kData).
  virtual void visit_labels(int64_t most, const LabelVisit& visit) const {
    (void)most;
    (void)visit;
  }

  virtual bool has_objects() const { return false; }  ///< records contain objects

  /// Loads a record's bytes into memory, so that later reads do not wait, and verifies its checksum if the source has
  /// one. Call it before using the bytes. Throws SampleError.
  virtual void prefetch(const Record& record) const { (void)record; }
  /// Throws Error(kData) if the dataset was truncated or changed during reading. Cheap.
  virtual void check_unchanged() const {}
  /// Throws the Error(kData) with the dataset and the record.
  [[noreturn]] virtual void fail(const Record& record, const SampleError& error) const = 0;
};

}  // namespace cortado::data
