#include "data/convert/leveldb_log.h"

#include "data/convert/leveldb_bytes.h"

namespace cortado::data {

namespace {

constexpr int64_t kBlock = 32768, kHead = 7;
enum Kind { kNone = 0, kWhole = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

}  // namespace

int LeveldbLog::fragment(std::string_view& bytes) {
  for (;;) {
    const int64_t in_block = kBlock - at_ % kBlock;
    if (in_block < kHead) {  // too little for a head: zeros
      at_ += in_block;
      continue;
    }
    if (at_ + kHead > file_.size()) return kNone;
    const std::string_view all(reinterpret_cast<const char*>(file_.data()), size_t(file_.size()));
    LeveldbBytes head(all.substr(size_t(at_), size_t(kHead)), file_.path());
    const auto checksum = uint32_t(head.fixed(4));
    const auto length = int64_t(head.fixed(2));
    const int kind = int(head.fixed(1));
    if (kind == kNone && length == 0 && checksum == 0) {  // a file that was made longer than it was needed
      at_ += in_block;
      continue;
    }
    if (at_ + kHead + length > file_.size()) return kNone;
    if (kHead + length > in_block || kind < kWhole || kind > kLast ||
        !checksum_fits(all.substr(size_t(at_ + 6), size_t(1 + length)), checksum))
      throw_damaged_leveldb(file_.path(), "a record of the log is not what it was");
    bytes = all.substr(size_t(at_ + kHead), size_t(length));
    at_ += kHead + length;
    return kind;
  }
}

bool LeveldbLog::next(std::string& record) {
  record.clear();
  for (bool begun = false;;) {
    std::string_view bytes;
    const int kind = fragment(bytes);
    if (kind == kNone) return false;
    if (begun != (kind == kMiddle || kind == kLast))
      throw_damaged_leveldb(file_.path(), "fragments of the log are out of order");
    record.append(bytes);
    if (kind == kWhole || kind == kLast) return true;
    begun = true;
  }
}

}  // namespace cortado::data
