#pragma once

#include <leveldb/env.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cortado {

/// LevelDB's view of the file system: the files on the disk, overlaid with the files that the library writes, in
/// memory. Opening a database replays its logs into new tables, writes a new MANIFEST and removes old files. The
/// library sees these changes, but nothing on the disk changes. No lock is taken and no background work runs, so
/// nothing is compacted. A DB must not be deleted: its destructor waits for background work.
class ReadOnlyEnv : public leveldb::Env {
 public:
  leveldb::Status NewSequentialFile(const std::string& path, leveldb::SequentialFile** file) override;
  leveldb::Status NewRandomAccessFile(const std::string& path, leveldb::RandomAccessFile** file) override;
  leveldb::Status NewWritableFile(const std::string& path, leveldb::WritableFile** file) override;
  bool FileExists(const std::string& path) override;
  leveldb::Status GetChildren(const std::string& folder, std::vector<std::string>* names) override;
  leveldb::Status RemoveFile(const std::string& path) override;
  leveldb::Status CreateDir(const std::string&) override { return {}; }
  leveldb::Status RemoveDir(const std::string&) override { return {}; }
  leveldb::Status GetFileSize(const std::string& path, uint64_t* bytes) override;
  leveldb::Status RenameFile(const std::string& from, const std::string& to) override;
  leveldb::Status LockFile(const std::string& path, leveldb::FileLock** lock) override;
  leveldb::Status UnlockFile(leveldb::FileLock* lock) override;
  void Schedule(void (*)(void*), void*) override {}
  void StartThread(void (*)(void*), void*) override {}
  leveldb::Status GetTestDirectory(std::string* path) override;
  leveldb::Status NewLogger(const std::string& path, leveldb::Logger** logger) override;
  uint64_t NowMicros() override { return 0; }
  void SleepForMicroseconds(int) override {}

 private:
  template <typename File>
  leveldb::Status open(const std::string& path, File** file);

  std::map<std::string, std::shared_ptr<std::string>> written_;  ///< contents by path
};

}  // namespace cortado
