// Iterates over the tree. Every page number, offset and size is checked before use, and the depth is limited by the
// header's. So a damaged file causes an error, never an invalid read or an endless loop.
#include <algorithm>

#include "core/error.h"
#include "data/lmdb/lmdb.h"
#include "data/lmdb/lmdb_page.h"

namespace cortado::data {

const uint8_t* Lmdb::page_bytes(uint64_t number) const {
  if (number < 2 || number > last_page_) fail("page " + std::to_string(number) + " does not exist");
  if (number >= uint64_t(file_.size() / page_size_)) fail_cut_off();
  const uint8_t* bytes = file_.data() + int64_t(number) * page_size_;
  if (load<uint64_t>(bytes) != number) fail("page " + std::to_string(number) + " has another number");
  return bytes;
}

Lmdb::Page Lmdb::page(uint64_t number, bool leaf) const {
  const uint8_t* bytes = page_bytes(number);
  const int flags = load<uint16_t>(bytes + 10), lower = load<uint16_t>(bytes + 12), upper = load<uint16_t>(bytes + 14);
  if (!leaf) check_page(number);  // a leaf is checked together with its records, so that errors contain their names
  const bool right_kind =
      (flags & (kBranchPage | kLeafPage | kOverflowPage | kFixedSizeLeaf)) == (leaf ? kLeafPage : kBranchPage);
  if (!right_kind || lower < kPageHead + 2 || lower > upper || upper > page_size_)
    fail("page " + std::to_string(number) + " has another type");
  return {bytes, leaf, (lower - kPageHead) / 2};
}

const uint8_t* Lmdb::node(const Page& page, int entry) const {
  const int64_t offset = load<uint16_t>(page.bytes + kPageHead + 2 * entry);
  if (offset < kPageHead || offset + kNodeHead > page_size_) fail("an entry is outside of its page");
  const uint8_t* node = page.bytes + offset;
  if (offset + kNodeHead + load<uint16_t>(node + 6) > page_size_) fail("a key is outside of its page");
  return node;
}

Record Lmdb::record_at(uint64_t position) const {
  const Record record = locate(position);
  check(record);
  return record;
}

Record Lmdb::locate(uint64_t position) const {
  const Page leaf = page(position >> 16, true);
  const int entry = int(position & 0xFFFF);
  if (entry >= leaf.entries) fail("a leaf has too few entries");
  const uint8_t* found = node(leaf, entry);
  const uint64_t size = load<uint16_t>(found) | uint64_t(load<uint16_t>(found + 2)) << 16;
  const uint16_t flags = load<uint16_t>(found + 4), key_size = load<uint16_t>(found + 6);
  const uint8_t* key = found + kNodeHead;
  const uint8_t* value = key + key_size;
  if (flags & kNamedTable)
    refuse("it has named databases", "copy the records of one of them into a database without names");
  if (flags & kDuplicates) fail("an entry has several values");
  const uint64_t room = uint64_t(leaf.bytes + page_size_ - value);
  if ((flags & kBigValue) != 0) {
    if (room < 8) fail("a value is outside of its page");
    value = big_value(load<uint64_t>(value), size);
  } else if (size > room) {
    fail("a value is outside of its page");
  }
  return {{reinterpret_cast<const char*>(key), key_size}, {reinterpret_cast<const char*>(value), size_t(size)}};
}

Record Lmdb::record_near(double share) const {
  uint64_t number = root_;
  for (int level = 0;; ++level) {
    const bool leaf = level == depth_ - 1;
    const int entries = page(number, leaf).entries;
    const double at = share * entries;
    const int entry = std::min(int(at), entries - 1);
    if (leaf) return locate(number << 16 | uint64_t(entry));
    share = at - entry;
    number = child(number, entry);
  }
}

uint64_t Lmdb::child(uint64_t number, int entry) const {
  const uint8_t* found = node(page(number, false), entry);
  return load<uint16_t>(found) | uint64_t(load<uint16_t>(found + 2)) << 16 | uint64_t(load<uint16_t>(found + 4)) << 32;
}

const uint8_t* Lmdb::big_value(uint64_t first_page, uint64_t size) const {
  const uint8_t* bytes = page_bytes(first_page);
  const uint64_t pages = load<uint32_t>(bytes + 12);
  if ((load<uint16_t>(bytes + 10) & kOverflowPage) == 0 || kPageHead + size > pages * uint64_t(page_size_))
    fail("a value is at the wrong place");
  if (first_page + pages > uint64_t(file_.size() / page_size_)) fail_cut_off();
  return bytes + kPageHead;
}

LmdbCursor::LmdbCursor(std::shared_ptr<const Lmdb> database) : database_(std::move(database)) { seek(0); }

void LmdbCursor::descend(uint64_t number, int level) {
  for (;; ++level) {
    const bool leaf = level == database_->depth_ - 1;
    const Lmdb::Page page = database_->page(number, leaf);
    levels_[level] = {number, 0, page.entries};
    if (leaf) return;
    number = database_->child(number, 0);
  }
}

void LmdbCursor::next_leaf() {
  for (int level = database_->depth_ - 2; level >= 0; --level) {
    Level& branch = levels_[level];
    if (++branch.entry < branch.entries) return descend(database_->child(branch.page, branch.entry), level + 1);
  }
  database_->fail("it has fewer than the " + std::to_string(database_->records_) + " records in its header");
}

LmdbCursor::Level& LmdbCursor::leaf() { return levels_[database_->depth_ - 1]; }

void LmdbCursor::seek(int64_t index) {
  descend(database_->root_, 0);
  index_ = 0;
  while (index - index_ >= leaf().entries) {
    index_ += leaf().entries;
    next_leaf();
  }
  leaf().entry = int(index - index_);
  index_ = index;
}

uint64_t LmdbCursor::position() {
  if (index_ == database_->records_) seek(0);
  if (leaf().entry == leaf().entries) next_leaf();
  return leaf().page << 16 | uint64_t(leaf().entry);
}

Record LmdbCursor::next() {
  const Record record = database_->record_at(position());
  skip();
  return record;
}

Record LmdbCursor::locate_next() {
  const Record record = database_->locate(position());
  skip();
  return record;
}

void LmdbCursor::skip() {
  ++leaf().entry;
  if (++index_ == database_->records_) check_at_end();
}

void LmdbCursor::check_at_end() {
  bool more = leaf().entry < leaf().entries;
  for (int level = 0; level < database_->depth_ - 1; ++level) more |= levels_[level].entry + 1 < levels_[level].entries;
  if (more) database_->fail("it has more than the " + std::to_string(database_->records_) + " records in its header");
}

}  // namespace cortado::data
