#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/lmdb/lmdb.h"

namespace cortado::data {

/// All records of a database by number, in key order.
class Records {
 public:
  explicit Records(const std::string& lmdb);  ///< throws Error as Lmdb::open does

  size_t size() const { return positions_.size(); }
  Record operator[](size_t i) const { return database_->record_at(positions_[i]); }
  const Lmdb& database() const { return *database_; }
  /// The label of a record. Throws Error(kData) naming it where it is no Datum.
  int32_t label(size_t i) const;
  /// The label of each. Throws as label() does.
  std::vector<int32_t> labels() const;
  /// Whether records have objects, by the first one.
  bool annotated() const;

 private:
  std::shared_ptr<const Lmdb> database_;
  std::vector<uint64_t> positions_;
  mutable std::vector<float> floats_;
};

/// What a key names beyond its number: "ant/3.jpg" of "00000012_ant/3.jpg", "" of "00000012".
std::string_view name_in_key(std::string_view key);

/// "00000012_ant/3.jpg": `number` and the name in another key.
std::string renumbered(int64_t number, std::string_view key);

}  // namespace cortado::data
