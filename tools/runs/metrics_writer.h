#pragma once

// metrics.jsonl: one JSON object per event and line. Each line is one write, so that a killed run leaves at most one
// incomplete line, and a resumed run appends. A line that does not fit on the disk leaves nothing. NaN and infinities,
// which JSON does not have, are the strings "NaN", "Inf" and "-Inf".
//   {"t":1.25,"ev":"train","iter":100,"loss":0.3,"lr":0.01,"img_s":5321,"data_wait":0.018,"rss":81788928,
//    "outputs":{"loss":0.31}}
//   {"t":2.5,"ev":"test","iter":100,"net":0,"outputs":{"accuracy":0.9},"best":{"accuracy":[0.92,50]}}
// ev is run_start (with "schema":1, and the tests' scores with the direction in which each is better:
// "scores":[{"name":"accuracy","best":"highest","main":true}]), resume, train, test, snapshot, warn, nan, error, stop
// or run_end. t is Unix time, rss the resident memory in bytes. img_s (images per second) and data_wait (the share of
// time waiting for data) cover the time since the last train event.

#include <string>

#include "core/files/descriptor.h"
#include "solvers/observer.h"
#include "tools/runs/pace.h"

namespace cortado::runs {

class MetricsWriter : public TrainObserver {
 public:
  /// Opens `path` for appending, creating it. It may be a pipe or a device. Throws Error(kIo).
  explicit MetricsWriter(const std::string& path);
  /// Writes to `file`, which is open for reading and appending; `path` is for errors. Throws Error(kIo).
  MetricsWriter(const std::string& path, Descriptor file);

  void on_start(const Progress& progress, const std::vector<TestScore>& scores) override;
  void on_resume(const Progress&, const std::string& state_path) override;
  void on_display(const Progress&, const std::vector<Score>& outputs) override;
  void on_test(const Progress&, int net, const std::vector<Score>&, const std::vector<BestTestScore>&) override;
  void on_snapshot(const Progress&, const std::string& state_path) override;
  void on_warning(const Progress&, const std::string& text) override;
  void on_diverged(const Progress&, const std::string& text) override;
  void on_end(const Progress&, Outcome) override;

  /// Records that the training failed, with the reason.
  void write_error(const std::string& text);

 private:
  /// Writes {"t":..,"ev":`event`,"iter":.. `more`}. A full disk is reported once and then ignored.
  void write(const char* event, const Progress& progress, const std::string& more);

  std::string path_;
  Progress latest_;  ///< the latest that was reported
  Pace pace_;
  Descriptor file_;
  bool failed_ = false;
};

}  // namespace cortado::runs
