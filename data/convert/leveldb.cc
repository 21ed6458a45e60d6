#include "data/convert/leveldb.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "core/file.h"
#include "core/file_error.h"
#include "data/convert/leveldb_bytes.h"
#include "data/convert/leveldb_log.h"

namespace cortado::data {

namespace {

constexpr const char* kOrder = "leveldb.BytewiseComparator";
constexpr uint64_t kMaxLevels = 64;

/// What the MANIFEST says is there.
struct Version {
  std::map<uint64_t, std::map<uint64_t, std::string>> tables;  ///< by level and number; the smallest key
  uint64_t log = 0, previous_log = 0;                          ///< older logs are in tables already
};

enum EditField {
  kComparator = 1,
  kLogNumber = 2,
  kNextFile = 3,
  kLastSequence = 4,
  kCompactPointer = 5,
  kTableRemoved = 6,
  kTableAdded = 7,
  kPreviousLog = 9
};

uint64_t level_of(LeveldbBytes& in, const std::string& file) {
  const uint64_t level = in.varint();
  if (level >= kMaxLevels) throw_damaged_leveldb(file, "it has level " + std::to_string(level));
  return level;
}

void add_table(LeveldbBytes& in, const std::string& file, Version& version) {
  const uint64_t level = level_of(in, file), number = in.varint();
  in.varint();  // its size
  version.tables[level][number] = in.text();
  in.text();  // the largest key
}

void apply_edit(std::string_view edit, const std::string& file, Version& version) {
  LeveldbBytes in(edit, file);
  while (!in.at_end()) {
    switch (in.varint()) {
      case kComparator:
        if (in.text() != kOrder) throw_damaged_leveldb(file, "its keys have an order of their own");
        break;
      case kLogNumber:
        version.log = in.varint();
        break;
      case kPreviousLog:
        version.previous_log = in.varint();
        break;
      case kNextFile:
      case kLastSequence:
        in.varint();
        break;
      case kCompactPointer:
        level_of(in, file);
        in.text();
        break;
      case kTableRemoved: {
        const uint64_t level = level_of(in, file);
        version.tables[level].erase(in.varint());
        break;
      }
      case kTableAdded:
        add_table(in, file, version);
        break;
      default:
        throw_damaged_leveldb(file, "its list of tables has a field of unknown kind");
    }
  }
}

Version read_version(const std::string& folder) {
  std::string name = read_file(join_path(folder, "CURRENT"), 4096);
  while (!name.empty() && name.back() == '\n') name.pop_back();
  if (!name.starts_with("MANIFEST-") || name.find('/') != std::string::npos)
    throw_damaged_leveldb(join_path(folder, "CURRENT"), "it names no MANIFEST");
  const std::string file = join_path(folder, name);
  LeveldbLog log(file);
  Version version;
  for (std::string edit; log.next(edit);) apply_edit(edit, file, version);
  return version;
}

std::string numbered(const std::string& folder, uint64_t number, const std::string& ending) {
  const std::string digits = std::to_string(number);
  return join_path(folder, std::string(digits.size() < 6 ? 6 - digits.size() : 0, '0') + digits + ending);
}

std::string table_file(const std::string& folder, uint64_t number) {
  const std::string file = numbered(folder, number, ".ldb");
  return file_exists(file) ? file : numbered(folder, number, ".sst");
}

/// The tables of a level, one after the other; each is open while it is read.
class Tables : public LeveldbCursor {
 public:
  explicit Tables(std::vector<std::string> files) : files_(std::move(files)) {}
  bool next(LeveldbEntry& entry) override {
    while (!table_ || !table_->next(entry)) {
      if (at_ == files_.size()) return false;
      table_ = read_leveldb_table(files_[at_++]);
    }
    return true;
  }

 private:
  std::vector<std::string> files_;
  size_t at_ = 0;
  std::unique_ptr<LeveldbCursor> table_;
};

/// The writes of logs: as much as LevelDB itself holds in memory.
class Writes : public LeveldbCursor {
 public:
  void add(const std::string& file) {
    LeveldbLog log(file);
    for (std::string batch; log.next(batch);) {
      LeveldbBytes in(batch, file);
      uint64_t sequence = in.fixed(8);
      for (uint64_t left = in.fixed(4); left > 0; --left, ++sequence) {
        const uint64_t kind = in.fixed(1);
        const std::string_view key = in.text(), value = kind == 1 ? in.text() : std::string_view();
        if (kind > 1) throw_damaged_leveldb(file, "a write is of unknown kind");
        Latest& latest = writes_[std::string(key)];
        if (latest.sequence <= sequence) latest = {sequence, kind == 0, std::string(value)};
      }
    }
    at_ = writes_.begin();
  }

  bool next(LeveldbEntry& entry) override {
    if (at_ == writes_.end()) return false;
    entry = {at_->first, at_->second.sequence, at_->second.removed, at_->second.value};
    ++at_;
    return true;
  }

 private:
  struct Latest {
    uint64_t sequence = 0;
    bool removed = false;
    std::string value;
  };
  std::map<std::string, Latest> writes_;
  std::map<std::string, Latest>::const_iterator at_ = writes_.end();
};

/// Logs that are in no table, oldest first.
std::vector<std::string> live_logs(const std::string& folder, const Version& version) {
  std::set<uint64_t> numbers;
  std::error_code unknown;
  for (const auto& file : std::filesystem::directory_iterator(folder, unknown)) {
    const std::string name = file.path().filename().string();
    if (!name.ends_with(".log") || name.size() > 24) continue;
    const uint64_t number = std::strtoull(name.c_str(), nullptr, 10);
    if (number >= version.log || number == version.previous_log) numbers.insert(number);
  }
  std::vector<std::string> files;
  for (const uint64_t number : numbers)
    if (number > 0) files.push_back(numbered(folder, number, ".log"));
  return files;
}

}  // namespace

bool is_leveldb(const std::string& folder) { return file_exists(join_path(folder, "CURRENT")); }

Leveldb::Leveldb(const std::string& folder) {
  if (!is_leveldb(folder))
    throw file_error(ExitCode::kData, folder, "not a LevelDB: there is no file CURRENT in this folder",
                     file_exists(join_path(folder, "data.mdb")) ? "it is an LMDB: nets read it as it is" : "");
  const Version version = read_version(folder);
  for (const auto& [level, tables] : version.tables) {
    std::vector<std::pair<std::string, std::string>> files;  // by smallest key
    for (const auto& [number, smallest] : tables) files.emplace_back(smallest, table_file(folder, number));
    std::sort(files.begin(), files.end());
    std::vector<std::string> in_order;
    for (auto& [smallest, file] : files) in_order.push_back(std::move(file));
    if (level > 0)
      add(std::make_unique<Tables>(std::move(in_order)));
    else
      for (const std::string& file : in_order) add(read_leveldb_table(file));
  }
  auto writes = std::make_unique<Writes>();
  for (const std::string& file : live_logs(folder, version)) writes->add(file);
  add(std::move(writes));
}

void Leveldb::add(std::unique_ptr<LeveldbCursor> cursor) {
  sources_.push_back({std::move(cursor), {}});
  advance(sources_.back());
}

/// Of the entries that are next, the one with the smallest key, and of these the latest.
Leveldb::Source* Leveldb::first() {
  Source* best = nullptr;
  for (Source& source : sources_) {
    if (source.ended) continue;
    const int order = best ? source.entry.key.compare(best->entry.key) : -1;
    if (order < 0 || (order == 0 && source.entry.sequence > best->entry.sequence)) best = &source;
  }
  return best;
}

bool Leveldb::next(std::string_view& key, std::string_view& value) {
  if (given_) advance(*given_);
  while ((given_ = first()) != nullptr) {
    const LeveldbEntry& entry = given_->entry;
    const bool is_older = any_ && entry.key == last_key_;
    if (!is_older) {
      last_key_ = entry.key;
      any_ = true;
      if (!entry.removed) {
        key = entry.key;
        value = entry.value;
        return true;
      }
    }
    advance(*given_);
  }
  return false;
}

}  // namespace cortado::data
