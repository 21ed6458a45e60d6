#include "leveldb/read_only_env.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "core/files/descriptor.h"
#include "core/files/file.h"

namespace cortado {

namespace {

using leveldb::Slice;
using leveldb::Status;

/// The library distinguishes missing files from unreadable ones.
Status failure(const std::string& path, const std::string& why) {
  return file_exists(path) ? Status::IOError(path, why) : Status::NotFound(path, why);
}

/// A file for sequential or random access.
class ReadFile : public leveldb::SequentialFile, public leveldb::RandomAccessFile {
 public:
  using leveldb::RandomAccessFile::Read;

  Status Read(size_t n, Slice* bytes, char* scratch) override {
    const Status status = Read(at_, n, bytes, scratch);
    if (status.ok()) at_ += bytes->size();
    return status;
  }

  Status Skip(uint64_t n) override {
    at_ += n;
    return {};
  }

 private:
  uint64_t at_ = 0;
};

/// Reads without mmap: if another program truncates the file, a read returns less instead of raising SIGBUS.
class FileOnDisk : public ReadFile {
 public:
  FileOnDisk(Descriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  using ReadFile::Read;

  Status Read(uint64_t offset, size_t n, Slice* bytes, char* scratch) const override {
    const int64_t have = read_at(file_.fd(), scratch, n, int64_t(offset));
    if (have < 0) return Status::IOError(path_, std::strerror(errno));
    *bytes = Slice(scratch, size_t(have));
    return {};
  }

 private:
  Descriptor file_;
  std::string path_;
};

class FileInMemory : public ReadFile {
 public:
  explicit FileInMemory(std::shared_ptr<std::string> content) : content_(std::move(content)) {}
  using ReadFile::Read;

  Status Read(uint64_t offset, size_t n, Slice* bytes, char* scratch) const override {
    const std::string_view all = *content_;
    *bytes = Slice(scratch, all.substr(std::min(size_t(offset), all.size())).copy(scratch, n));
    return {};
  }

 private:
  std::shared_ptr<std::string> content_;
};

class WrittenFile : public leveldb::WritableFile {
 public:
  explicit WrittenFile(std::shared_ptr<std::string> content) : content_(std::move(content)) {}

  Status Append(const Slice& bytes) override {
    content_->append(bytes.data(), bytes.size());
    return {};
  }
  Status Close() override { return {}; }
  Status Flush() override { return {}; }
  Status Sync() override { return {}; }

 private:
  std::shared_ptr<std::string> content_;
};

struct NoLock : leveldb::FileLock {};

}  // namespace

template <typename File>
Status ReadOnlyEnv::open(const std::string& path, File** file) {
  *file = nullptr;
  if (const auto found = written_.find(path); found != written_.end()) {
    *file = new FileInMemory(found->second);
    return {};
  }
  std::string why;
  Descriptor on_disk = open_regular_file(path, why);
  if (!on_disk.ok()) return failure(path, why);
  *file = new FileOnDisk(std::move(on_disk), path);
  return {};
}

Status ReadOnlyEnv::NewSequentialFile(const std::string& path, leveldb::SequentialFile** file) {
  return open(path, file);
}

Status ReadOnlyEnv::NewRandomAccessFile(const std::string& path, leveldb::RandomAccessFile** file) {
  return open(path, file);
}

Status ReadOnlyEnv::NewWritableFile(const std::string& path, leveldb::WritableFile** file) {
  *file = new WrittenFile(written_[path] = std::make_shared<std::string>());
  return {};
}

bool ReadOnlyEnv::FileExists(const std::string& path) { return written_.contains(path) || file_exists(path); }

Status ReadOnlyEnv::GetChildren(const std::string& folder, std::vector<std::string>* names) {
  std::set<std::string> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) found.insert(entry.path().filename());
  if (error) return failure(folder, error.message());
  for (const auto& [path, content] : written_)
    if (folder_of(path) == folder) found.insert(file_name_of(path));
  names->assign(found.begin(), found.end());
  return {};
}

Status ReadOnlyEnv::RemoveFile(const std::string& path) {
  written_.erase(path);
  return {};
}

Status ReadOnlyEnv::GetFileSize(const std::string& path, uint64_t* bytes) {
  *bytes = 0;
  if (const auto found = written_.find(path); found != written_.end()) {
    *bytes = found->second->size();
    return {};
  }
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return failure(path, std::strerror(errno));
  *bytes = uint64_t(info.st_size);
  return {};
}

/// The library renames only files that it has written.
Status ReadOnlyEnv::RenameFile(const std::string& from, const std::string& to) {
  auto file = written_.extract(from);
  if (file.empty()) return Status::NotSupported(from, "cannot be renamed: read-only");
  written_[to] = std::move(file.mapped());
  return {};
}

Status ReadOnlyEnv::LockFile(const std::string&, leveldb::FileLock** lock) {
  *lock = new NoLock;
  return {};
}

Status ReadOnlyEnv::UnlockFile(leveldb::FileLock* lock) {
  delete lock;
  return {};
}

Status ReadOnlyEnv::GetTestDirectory(std::string*) { return Status::NotSupported("no test folder"); }

Status ReadOnlyEnv::NewLogger(const std::string& path, leveldb::Logger** logger) {
  *logger = nullptr;
  return Status::NotSupported(path, "no log file");
}

}  // namespace cortado
