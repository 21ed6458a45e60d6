#include "data/convert/leveldb.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "core/error.h"
#include "core/files/descriptor.h"
#include "core/files/file.h"
#include "core/process/program_path.h"

namespace cortado::data {

namespace {

constexpr const char* kProgram = "cortado-leveldb";
constexpr size_t kPartBytes = size_t(1) << 20;
constexpr uint64_t kLeveldbMaxBytes = uint64_t(1) << 31;  // of a key or a value; a Datum is smaller

void check_is_leveldb(const std::string& folder) {
  const std::string current = join_path(folder, "CURRENT");
  if (!file_exists(current))
    throw file_error(ExitCode::kData, folder, "not a LevelDB: the file CURRENT is missing",
                     file_exists(join_path(folder, "data.mdb")) ? "it is an LMDB: use it without a conversion" : "");
  std::string why;
  if (!open_regular_file(current, why).ok()) throw file_error(ExitCode::kIo, current, "cannot read: " + why);
}

}  // namespace

Leveldb::Leveldb(const std::string& folder) : folder_(folder) {
  check_is_leveldb(folder);
  if (companion_path(kProgram).empty())
    throw file_error(ExitCode::kData, folder,
                     "a LevelDB, and this program was built without LevelDB: cortado-leveldb is missing",
                     "apt install libleveldb-dev, then cmake --preset release && cmake --build build");
  try {
    process_ = std::make_unique<HelperProcess>(kProgram, std::vector<std::string>{"read", folder});
  } catch (const std::runtime_error& error) {
    fail(error.what());
  }
}

void Leveldb::fail(const std::string& what) const {
  throw file_error(ExitCode::kData, folder_, what,
                   "copy the dataset again, or create an LMDB from the original images by `cortado convert`");
}

/// Reads the next `n` bytes, in parts, so that memory is allocated only for existing data. Returns false if there are
/// fewer.
bool Leveldb::take(std::string& out, size_t n) {
  out.clear();
  while (out.size() < n) {
    const size_t have = out.size(), part = std::min(n - have, kPartBytes);
    out.resize(have + part);
    size_t got = 0;
    try {
      got = process_->receive(out.data() + have, part);
    } catch (const std::runtime_error& error) {
      fail(std::string("cannot be read: ") + error.what());
    }
    out.resize(have + got);
    if (got == 0) return false;
  }
  return true;
}

bool Leveldb::next(std::string_view& key, std::string_view& value) {
  uint64_t sizes[2];
  bool whole = take(head_, sizeof sizes);
  if (!whole && head_.empty()) {
    if (const std::string reason = process_->finish("reading"); !reason.empty()) fail(reason);
    return false;
  }
  if (whole) {
    std::memcpy(sizes, head_.data(), sizeof sizes);
    if (sizes[0] > kLeveldbMaxBytes || sizes[1] > kLeveldbMaxBytes) fail("damaged LevelDB: a record is too long");
    whole = take(record_, size_t(sizes[0] + sizes[1]));
  }
  if (!whole) {
    const std::string reason = process_->finish("reading");
    fail(reason.empty() ? "its reader ended too early" : reason);
  }
  key = std::string_view(record_).substr(0, sizes[0]);
  value = std::string_view(record_).substr(sizes[0]);
  if (any_ && key <= last_key_) fail("damaged LevelDB: its keys are out of order");
  any_ = true;
  last_key_ = key;
  return true;
}

}  // namespace cortado::data
