#pragma once

// HDF5 files, read and written by the program `cortado-hdf5` beside this one: libhdf5 can crash on a damaged file, and
// does so there. What comes back is checked here, and whatever goes wrong is an Error about the file.

#include <memory>
#include <string>
#include <vector>

#include "core/exit_code.h"
#include "formats/helper_process.h"
#include "formats/tensor_header.h"

namespace cortado {

/// What to read of a file, and how an error about it is to look.
struct Hdf5Request {
  std::string path;
  /// Datasets that must be there, or groups ("data/") of which all that hold numbers or text are taken; empty:
  /// everything.
  std::vector<std::string> names;
  bool values = true;                   ///< false: entries() alone
  double most_growth = 8;               ///< how many times its own size, and 64 MiB more, the values may take as floats
  ExitCode code = ExitCode::kSnapshot;  ///< of an Error about what is in it
};

/// Reads one file, from front to back. All functions throw Error: kIo where the file cannot be opened, else the
/// request's code.
class Hdf5Reader {
 public:
  explicit Hdf5Reader(Hdf5Request request);

  const std::vector<TensorEntry>& entries() const { return entries_; }

  /// The values of the next entry, as floats; `out` takes its shape's count.
  void read(float* out);
  /// The bytes of the next entry, as they are.
  std::string read_bytes();
  /// Passes the next entry over.
  void skip();
  /// Throws unless the program ended well. To be called after the last entry.
  void finish();

  [[noreturn]] void fail(const std::string& message, const std::string& hint = {}) const;

 private:
  void read_head();
  void take(char* bytes, size_t n);
  [[noreturn]] void fail_early();

  Hdf5Request request_;
  std::unique_ptr<HelperProcess> process_;
  std::vector<TensorEntry> entries_;
  size_t next_ = 0;
  std::vector<char> part_;
};

/// Writes a file, atomically: without commit() the path keeps its old content. The tensors are known before the first
/// value.
class Hdf5Writer {
 public:
  /// Throws Error(kIo) where it cannot be written or this build has no HDF5.
  Hdf5Writer(const std::string& path, const std::vector<TensorEntry>& entries);
  ~Hdf5Writer();
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  void add(const void* bytes, size_t n);  ///< values, in the entries' order
  std::string commit();                   ///< once, last; the digest of the file's bytes

 private:
  std::string path_, temporary_;
  std::unique_ptr<HelperProcess> process_;
};

/// Writes a file whose datasets grow: each add() gives rows for all of them, and is on its way to the disk when it
/// returns.
class Hdf5Appender {
 public:
  explicit Hdf5Appender(const std::string& path);  ///< throws Error(kIo), also where another writes it
  ~Hdf5Appender();
  Hdf5Appender(const Hdf5Appender&) = delete;
  Hdf5Appender& operator=(const Hdf5Appender&) = delete;

  /// `values[i]` are the floats of entries[i].
  void add(const std::vector<TensorEntry>& entries, const std::vector<const float*>& values);
  void commit();  ///< once, last

 private:
  /// That no other writer in this process has the file: the last one would replace what the other wrote.
  struct Claim {
    explicit Claim(const std::string& path);
    ~Claim();
    const std::string path;
  };

  std::string path_, temporary_;
  Claim claim_;
  std::unique_ptr<HelperProcess> process_;
};

}  // namespace cortado
