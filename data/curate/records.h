#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/lmdb/lmdb.h"
#include "data/sample.h"

namespace cortado::data {

/// All records of a database by index, in key order.
class Records {
 public:
  explicit Records(const std::string& lmdb);  ///< throws Error like Lmdb::open

  size_t size() const { return positions_.size(); }
  Record operator[](size_t i) const { return database_->record_at(positions_[i]); }
  const Lmdb& database() const { return *database_; }
  /// The label of a record. Throws Error(kData) with its key if it is not a Datum.
  Label label(size_t i) const;
  /// The labels of all records. Throws like label().
  std::vector<Label> labels() const;
  /// The same as classes. Throws like label(); also if one of them is not a class.
  std::vector<int32_t> classes() const;
  /// Whether records have objects, determined from the first one.
  bool annotated() const;

 private:
  template <typename Use>
  auto read(size_t i, const Use& use) const;  ///< use(the label of a record); adds the record to errors

  std::shared_ptr<const Lmdb> database_;
  std::vector<uint64_t> positions_;
  mutable std::vector<float> floats_;
};

/// The part of a key after the number: "ant/3.jpg" of "00000012_ant/3.jpg", "" of "00000012".
std::string_view name_in_key(std::string_view key);

/// "00000012_ant/3.jpg": `number` and the name from another key.
std::string renumbered(int64_t number, std::string_view key);

}  // namespace cortado::data
