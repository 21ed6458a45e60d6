// cortado-leveldb: writes the records of one LevelDB as a stream. A separate process, so that a damaged database cannot
// crash cortado.

#include <leveldb/db.h>
#include <leveldb/iterator.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <new>
#include <stdexcept>

#include "core/process/process_limits.h"
#include "leveldb/read_only_env.h"

namespace cortado {

namespace {

constexpr const char* kUsage =
    "cortado-leveldb reads LevelDBs for cortado, which starts it to convert one.\n"
    "\n"
    "  cortado-leveldb read FOLDER   print the records in key order: sizes of key and value in bytes (64 bits "
    "each),\n"
    "                                key, value. FOLDER is not changed\n";

/// Throws the library's error as a message that follows the folder's name.
void check(const leveldb::Status& status) {
  const std::string words = status.ToString(), damaged = "Corruption: ";
  if (status.IsCorruption()) throw std::runtime_error("damaged LevelDB: " + words.substr(damaged.size()));
  if (!status.ok()) throw std::runtime_error("cannot be read: " + words);
}

/// The total size of the files with this suffix.
int64_t bytes_in(const std::string& folder, const std::string& ending) {
  int64_t bytes = 0;
  std::error_code unknown;
  for (const auto& entry : std::filesystem::directory_iterator(folder, unknown)) {
    const auto size = entry.file_size(unknown);
    if (!unknown && entry.path().filename().string().ends_with(ending)) bytes += int64_t(size);
  }
  return bytes;
}

/// Logs are replayed into tables in memory; existing tables are read block by block.
void set_limits(const std::string& folder) {
  limit_core_files();
  limit_memory((int64_t(1) << 30) + 3 * bytes_in(folder, ".log"));
  limit_seconds(60 + bytes_in(folder, "") / 1'000'000);
}

/// Never deleted: the destructor waits for background work, which ReadOnlyEnv does not run.
leveldb::DB& open_database(const std::string& folder) {
  static ReadOnlyEnv env;
  static leveldb::DB* database = nullptr;
  leveldb::Options options;
  options.env = &env;
  options.paranoid_checks = true;
  options.max_open_files = 100;
  options.compression = leveldb::kNoCompression;  // for tables that are written to memory
  check(leveldb::DB::Open(options, folder, &database));
  return *database;
}

void put(const void* bytes, size_t n) {
  if (std::fwrite(bytes, 1, n, stdout) != n) throw std::runtime_error("cannot write to the pipe");
}

void read_records(const std::string& folder) {
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  options.fill_cache = false;
  const std::unique_ptr<leveldb::Iterator> at(open_database(folder).NewIterator(options));
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    const uint64_t sizes[] = {at->key().size(), at->value().size()};
    put(sizes, sizeof sizes);
    put(at->key().data(), at->key().size());
    put(at->value().data(), at->value().size());
  }
  check(at->status());
  if (std::fflush(stdout) != 0) throw std::runtime_error("cannot write to the pipe");
}

int run(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "--help" || command == "-h") {
    std::cout << kUsage;
    return 0;
  }
  if (command != "read" || argc != 3) {
    std::cerr << kUsage;
    return 2;
  }
  set_limits(argv[2]);
  read_records(argv[2]);
  return 0;
}

}  // namespace

}  // namespace cortado

int main(int argc, char** argv) {
  try {
    return cortado::run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::cerr << "damaged LevelDB: out of memory: reading it needs more memory than allowed for its size\n";
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
  }
  return 1;
}
