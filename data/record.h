#pragma once

#include <cstdint>
#include <string_view>

namespace cortado::data {

/// One record: views of the source's memory, valid during the source's lifetime.
struct Record {
  std::string_view key;    ///< its name in messages
  std::string_view value;  ///< its bytes, if they are in memory
  uint64_t number = 0;     ///< its index; set by RecordOrder
  uint64_t place = 0;      ///< in the order of all epochs, for draws; set by the pipeline
};

}  // namespace cortado::data
