#include "data/convert/leveldb_table.h"

#include "data/convert/leveldb_bytes.h"
#include "data/convert/snappy.h"

namespace cortado::data {

namespace {

constexpr int64_t kFooter = 48, kTrailer = 5;
constexpr uint64_t kMagic = 0xDB4775248B80FB57ull;
enum Packing { kStored = 0, kSnappy = 1 };

/// Walks the entries of one block, from first to last.
class BlockWalk {
 public:
  explicit BlockWalk(const std::string& path) : path_(path) {}

  std::string& begin_new() {
    key_.clear();
    return bytes_;
  }

  /// To be called when begin_new()'s bytes are there.
  void begin() {
    LeveldbBytes end(bytes_.size() < 4 ? std::string_view() : std::string_view(bytes_).substr(bytes_.size() - 4),
                     path_);
    const uint64_t restarts = end.fixed(4);  // where keys are whole: nobody jumps here
    if (restarts > (bytes_.size() - 4) / 4) throw_damaged_leveldb(path_, "a block is shorter than it says");
    rest_ = std::string_view(bytes_).substr(0, bytes_.size() - 4 - restarts * 4);
  }

  bool next() {
    if (rest_.empty()) return false;
    LeveldbBytes in(rest_, path_);
    const uint64_t shared = in.varint(), other = in.varint(), length = in.varint();
    if (shared > key_.size()) throw_damaged_leveldb(path_, "a key shares more than there is");
    key_.resize(shared);
    key_.append(in.take(other));
    value_ = in.take(length);
    rest_ = in.rest();
    return true;
  }

  const std::string& key() const { return key_; }
  std::string_view value() const { return value_; }

 private:
  const std::string& path_;
  std::string bytes_, key_;
  std::string_view rest_, value_;
};

class Table : public LeveldbCursor {
 public:
  explicit Table(const std::string& path) : file_(path), index_(file_.path()), block_(file_.path()) {
    if (file_.size() < kFooter) throw_damaged_leveldb(path, "the table is cut off");
    LeveldbBytes footer(bytes(file_.size() - kFooter, kFooter), file_.path());
    LeveldbBytes magic(bytes(file_.size() - 8, 8), file_.path());
    if (magic.fixed(8) != kMagic) throw_damaged_leveldb(path, "the table is cut off, or is none");
    footer.varint();  // where the index of filters is, which are not needed
    footer.varint();
    open_block(footer, index_);
  }

  bool next(LeveldbEntry& entry) override {
    while (!block_.next()) {
      if (!index_.next()) return false;
      LeveldbBytes handle(index_.value(), file_.path());
      open_block(handle, block_);
    }
    const std::string_view key = block_.key();
    if (key.size() < 8) throw_damaged_leveldb(file_.path(), "a key is too short");
    LeveldbBytes tail(key.substr(key.size() - 8), file_.path());
    const uint64_t tag = tail.fixed(8);
    entry = {key.substr(0, key.size() - 8), tag >> 8, (tag & 0xFF) == 0, block_.value()};
    return true;
  }

 private:
  std::string_view bytes(int64_t from, int64_t n) const {
    return {reinterpret_cast<const char*>(file_.data()) + from, size_t(n)};
  }

  void open_block(LeveldbBytes& handle, BlockWalk& walk) {
    const uint64_t offset = handle.varint(), length = handle.varint(), size = uint64_t(file_.size());
    if (offset > size || length > size - offset || size - offset - length < uint64_t(kTrailer))
      throw_damaged_leveldb(file_.path(), "a block lies outside of the table");
    const std::string_view stored = bytes(int64_t(offset), int64_t(length));
    LeveldbBytes trailer(bytes(int64_t(offset + length), kTrailer), file_.path());
    const uint64_t packing = trailer.fixed(1);
    if (!checksum_fits(bytes(int64_t(offset), int64_t(length + 1)), uint32_t(trailer.fixed(4))))
      throw_damaged_leveldb(file_.path(), "a block is not what it was");
    std::string& out = walk.begin_new();
    if (packing == kStored)
      out = stored;
    else if (packing != kSnappy)
      throw_damaged_leveldb(file_.path(), "a block is packed in a way other than Snappy");
    else if (!unpack_snappy(stored, out))
      throw_damaged_leveldb(file_.path(), "a block cannot be unpacked");
    walk.begin();
  }

  MappedFile file_;
  BlockWalk index_, block_;
};

}  // namespace

std::unique_ptr<LeveldbCursor> read_leveldb_table(const std::string& path) { return std::make_unique<Table>(path); }

}  // namespace cortado::data
