#pragma once

#include <cstdint>
#include <string_view>

namespace cortado::data {

/// One record: views of the source's memory, valid as long as the source is there.
struct Record {
  std::string_view key;    ///< its name in messages
  std::string_view value;  ///< its bytes, where they are in memory already
  uint64_t number = 0;     ///< which one it is; RecordOrder sets it
};

}  // namespace cortado::data
