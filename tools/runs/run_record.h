#pragma once

// run.json: what was started, with which files, where and when.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cortado::runs {

/// A file that a training reads, and what its content was.
struct InputFile {
  std::string path;
  std::string kind;  ///< "data", "weights", "mean" and so on
  int64_t bytes = 0;
  std::string digest;  ///< content_digest()
};

/// One start of the program in the run.
struct Start {
  double time = 0;  ///< seconds since 1970
  int process = 0;
  std::string from;              ///< the state that it resumed from; "" at the beginning
  std::vector<std::string> set;  ///< what --set said
};

struct RunRecord {
  std::string id;      ///< 16 hexadecimal digits
  double created = 0;  ///< seconds since 1970
  std::string folder;  ///< that the program was called in: where the paths of nets and data begin
  std::string solver;  ///< as it was named
  std::vector<std::string> command;
  std::map<std::string, std::vector<std::string>> flags;  ///< those that a resume is to have again
  std::vector<std::string> weights;                       ///< that training began with
  std::string version;                                    ///< of the program
  std::map<std::string, std::string> machine;             ///< host, cpu, level, threads, memory, device, libraries
  std::vector<InputFile> inputs;
  std::vector<Start> starts;
};

/// Throws Error(kIo); the file holds its old content or the new one.
void write_record(const std::string& path, const RunRecord& record);
/// Throws Error(kIo) where it cannot be read, Error(kUsage) where it is no record of a run.
RunRecord read_record(const std::string& path);

}  // namespace cortado::runs
