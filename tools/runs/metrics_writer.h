#pragma once

// metrics.jsonl: one JSON object per event and line, written whole and at once, so that a killed run leaves at most one
// torn line and a resumed one appends. A line that the disk has no room for leaves nothing. Numbers that JSON does not
// know are the strings "NaN", "Inf" and "-Inf".
//   {"t":1.25,"ev":"train","iter":100,"loss":0.3,"lr":0.01,"img_s":5321,"data_wait":0.018,"rss":81788928,
//    "outputs":{"loss":0.31}}
//   {"t":2.5,"ev":"test","iter":100,"net":0,"outputs":{"accuracy":0.9},"best":{"accuracy":[0.92,50]}}
// ev is run_start (with "schema":1), resume, train, test, snapshot, warn, nan, error, stop or run_end; t is Unix time,
// rss the bytes of memory that the process has; img_s and data_wait, images per second and the share of waiting for
// data, are of the time since the train event before.

#include <string>

#include "solvers/observer.h"
#include "tools/runs/pace.h"

namespace cortado::runs {

class MetricsWriter : public TrainObserver {
 public:
  /// Opens `path` to append, creating it. Throws Error(kIo).
  explicit MetricsWriter(const std::string& path);
  ~MetricsWriter() override;
  MetricsWriter(const MetricsWriter&) = delete;
  MetricsWriter& operator=(const MetricsWriter&) = delete;

  void on_start(const Progress&) override;
  void on_resume(const Progress&, const std::string& state_path) override;
  void on_display(const Progress&, const std::vector<Score>& outputs) override;
  void on_test(const Progress&, int net, const std::vector<Score>&, const std::vector<BestTestScore>&) override;
  void on_snapshot(const Progress&, const std::string& state_path) override;
  void on_warning(const Progress&, const std::string& text) override;
  void on_diverged(const Progress&, const std::string& text) override;
  void on_end(const Progress&, Outcome) override;

  /// The training could not go on: `text` says why.
  void write_error(const std::string& text);

 private:
  /// Writes {"t":..,"ev":`event`,"iter":.. `more`}; a disk that is full is reported once and then ignored.
  void write(const char* event, const Progress& progress, const std::string& more);

  std::string path_;
  Progress latest_;  ///< that was told
  Pace pace_;
  int file_ = -1;
  bool failed_ = false;
};

}  // namespace cortado::runs
