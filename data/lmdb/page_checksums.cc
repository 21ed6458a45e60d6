#include "data/lmdb/page_checksums.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "core/files/crc.h"
#include "core/files/file.h"
#include "core/log.h"
#include "data/lmdb/lmdb_page.h"

namespace cortado::data {

namespace {

constexpr const char* kFile = "checksums";
constexpr std::string_view kPageChecksumsMagic = "cortado crc32c 1";
constexpr size_t kPageSize = 16, kPages = 24, kMetas = 32, kPageChecksumsMetaBytes = 16, kTableCrc = 64, kHeadCrc = 68,
                 kHead = 72;
constexpr int64_t kSizeInMeta = 40, kTransaction = 144;
constexpr size_t kPagesAtOnce = 64;

std::string_view piece(const uint8_t* bytes, size_t size) { return {reinterpret_cast<const char*>(bytes), size}; }

uint32_t crc_of_meta(const uint8_t* page, int64_t size) {
  constexpr int64_t kBehind = kTransaction + 8;
  return crc32c_of(piece(page + kBehind, size_t(size - kBehind)), crc32c_of(piece(page, kTransaction)));
}

template <typename T>
void store_at(std::string& head, size_t at, T value) {
  std::memcpy(head.data() + at, &value, sizeof value);
}

std::string head_of(const MappedFile& data, int64_t page_size, uint32_t table_crc) {
  std::string head(kHead, '\0');
  std::memcpy(head.data(), kPageChecksumsMagic.data(), kPageChecksumsMagic.size());
  store_at(head, kPageSize, uint32_t(page_size));
  store_at(head, kPages, uint64_t(data.size() / page_size));
  for (int meta = 0; meta < 2; ++meta) {
    const uint8_t* page = data.data() + meta * page_size;
    store_at(head, kMetas + size_t(meta) * kPageChecksumsMetaBytes, load<uint64_t>(page + kTransaction));
    store_at(head, kMetas + size_t(meta) * kPageChecksumsMetaBytes + 8, crc_of_meta(page, page_size));
  }
  store_at(head, kTableCrc, table_crc);
  store_at(head, kHeadCrc, crc32c_of(std::string_view(head).substr(0, kHeadCrc)));
  return head;
}

/// Calls `take` with the numbers of all pages, in blocks.
template <typename Take>
void for_crcs(const MappedFile& data, int64_t page_size, Take&& take) {
  std::array<uint32_t, kPagesAtOnce> crcs;
  const size_t pages = size_t(data.size() / page_size);
  for (size_t at = 0; at < pages; at += kPagesAtOnce) {
    const size_t count = std::min(kPagesAtOnce, pages - at);
    crc32c_of_blocks(data.data() + at * size_t(page_size), size_t(page_size), count, crcs.data());
    take(piece(reinterpret_cast<const uint8_t*>(crcs.data()), count * sizeof(uint32_t)));
  }
}

}  // namespace

void write_page_checksums(const std::string& folder) {
  const MappedFile data(join_path(folder, "data.mdb"));
  const int64_t page_size = load<uint32_t>(data.data() + kSizeInMeta);
  std::vector<char> table;
  for_crcs(data, page_size, [&](std::string_view crcs) { table.insert(table.end(), crcs.begin(), crcs.end()); });
  const std::string_view numbers(table.data(), table.size());
  AtomicFile file(join_path(folder, kFile), int64_t(kHead + numbers.size()));
  file.append(head_of(data, page_size, crc32c_of(numbers)));
  file.append(numbers);
  file.commit();
}

bool is_lmdb_file(const std::string& name) {
  return std::find(std::begin(kLmdbFiles), std::end(kLmdbFiles), name) != std::end(kLmdbFiles);
}

PageChecksums::PageChecksums(const MappedFile& data) : data_(data), file_(join_path(folder_of(data.path()), kFile)) {}

std::unique_ptr<const PageChecksums> PageChecksums::beside(const MappedFile& data, int64_t page_size) {
  const std::string path = join_path(folder_of(data.path()), kFile);
  if (!file_exists(path)) return nullptr;
  auto checksums = std::make_unique<PageChecksums>(data);
  std::string why = checksums->read_head(page_size);
  if (why.empty() && checksums->state_ == State::kOutdated)
    why = "a program that does not update checksums has changed the dataset";
  if (why.empty()) return checksums;
  log_warning() << path << " is not used: " << why << "; the dataset is read without checks";
  return nullptr;
}

/// Returns why the file is unusable, or "".
std::string PageChecksums::read_head(int64_t page_size) {
  page_size_ = page_size;
  const std::string_view head = piece(file_.data(), std::min<size_t>(size_t(file_.size()), kHead));
  if (head.size() < kHead || !head.starts_with(kPageChecksumsMagic) ||
      load<uint32_t>(file_.data() + kHeadCrc) != crc32c_of(head.substr(0, kHeadCrc)))
    return "it is damaged";
  pages_ = load<uint64_t>(file_.data() + kPages);
  if (uint64_t(file_.size()) != kHead + pages_ * sizeof(uint32_t)) return "it is truncated";
  if (int64_t(load<uint32_t>(file_.data() + kPageSize)) != page_size_) return "it belongs to another dataset";
  state_ = state_of_metas();
  seen_ = std::make_unique<std::atomic<uint8_t>[]>(pages_ / 8 + 1);
  return {};
}

PageChecksums::State PageChecksums::state_of_metas() const {
  uint64_t newest = 0;
  for (int meta = 0; meta < 2; ++meta)
    newest = std::max(newest, load<uint64_t>(file_.data() + kMetas + size_t(meta) * kPageChecksumsMetaBytes));
  int other_contents = 0;
  bool other_number = false, committed = false;
  for (int meta = 0; meta < 2; ++meta) {
    const uint8_t *page = data_.data() + meta * page_size_,
                  *stored = file_.data() + kMetas + size_t(meta) * kPageChecksumsMetaBytes;
    const uint64_t transaction = load<uint64_t>(page + kTransaction);
    const bool other_content = crc_of_meta(page, page_size_) != load<uint32_t>(stored + 8);
    other_contents += other_content;
    committed |= other_content && transaction > newest && transaction % 2 == uint64_t(meta);
    other_number |= !other_content && transaction != load<uint64_t>(stored);
  }
  if (other_contents == 2 || (committed && !other_number)) return State::kOutdated;
  return other_contents == 1 || other_number ? State::kDamagedMeta : State::kCurrent;
}

bool PageChecksums::agree(uint64_t first, uint64_t count) const {
  if (first + count > pages_) return true;
  std::atomic<uint8_t>& seen = seen_[first / 8];
  const auto bit = uint8_t(1u << first % 8);
  if ((seen.load(std::memory_order_relaxed) & bit) != 0) return true;
  std::array<uint32_t, kPagesAtOnce> crcs;
  for (uint64_t at = 0; at < count; at += kPagesAtOnce) {
    const size_t some = size_t(std::min<uint64_t>(kPagesAtOnce, count - at));
    crc32c_of_blocks(data_.data() + (first + at) * uint64_t(page_size_), size_t(page_size_), some, crcs.data());
    const uint8_t* wanted = file_.data() + kHead + (first + at) * sizeof(uint32_t);
    if (std::memcmp(crcs.data(), wanted, some * sizeof(uint32_t)) != 0 && is_whole()) return false;
  }
  seen.fetch_or(bit, std::memory_order_relaxed);
  return true;
}

/// Verifies the list itself before it is used to report damage.
bool PageChecksums::is_whole() const {
  const std::string_view table = piece(file_.data() + kHead, pages_ * sizeof(uint32_t));
  const bool whole = !file_.damaged() && crc32c_of(table) == load<uint32_t>(file_.data() + kTableCrc);
  if (!whole) log_warning() << file_.path() << " is damaged, and not used";
  return whole;
}

}  // namespace cortado::data
