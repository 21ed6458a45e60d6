#pragma once

// run.json: the command, files, place and time of a run's starts.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cortado::runs {

/// An input file of a training, with a digest of its content.
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
  std::string from;              ///< the state that it resumed from; "": none
  std::vector<std::string> set;  ///< the values of --set
};

struct RunRecord {
  std::string id;      ///< 16 hexadecimal digits
  double created = 0;  ///< seconds since 1970
  std::string folder;  ///< the working directory of the start, to which paths of nets and data are relative
  std::string solver;  ///< as the user named it
  std::vector<std::string> command;
  std::map<std::string, std::vector<std::string>> flags;  ///< the flags that a resume repeats
  std::vector<std::string> weights;                       ///< the weights that training started from
  std::string version;                                    ///< of the program
  std::map<std::string, std::string> machine;             ///< host, cpu, level, threads, memory, device, libraries
  std::vector<InputFile> inputs;
  std::map<std::string, std::vector<int64_t>> shapes{};  ///< of the net's data, with one row, by blob; older runs: none
  std::vector<Start> starts;
};

/// Throws Error(kIo). The file keeps its old content or gets the new one.
void write_record(const std::string& path, const RunRecord& record);
/// Throws Error(kIo) if it cannot be read, Error(kUsage) if it is not the record of a run.
RunRecord read_record(const std::string& path);

}  // namespace cortado::runs
