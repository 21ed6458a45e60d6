#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/runs/layer_watch.h"
#include "tools/runs/tensorboard/record_file.h"

namespace cortado::events {
class Event;
class Summary_Value;
}  // namespace cortado::events

namespace cortado::runs {

/// An encoded image, PNG or JPEG.
struct EncodedImage {
  int height = 0, width = 0, channels = 0;
  std::string bytes;
};

/// A hyperparameter: a number, or text.
struct Setting {
  std::string name, text;
  bool is_number = false;
};

/// An event file of TensorBoard. A failed write is logged once; only the constructor throws.
class EventFile {
 public:
  /// Creates the folder and FOLDER/events.out.tfevents.SECONDS.HOST.PROCESS. Throws Error(kIo).
  explicit EventFile(const std::string& folder);
  ~EventFile();

  /// Makes TensorBoard drop the values of earlier files from `step` on.
  void start(int64_t step);
  void scalars(int64_t step, const std::vector<std::pair<std::string, double>>& values);
  void histogram(int64_t step, const std::string& tag, const Spread& spread);
  void image(int64_t step, const std::string& tag, const EncodedImage& image);
  void text(int64_t step, const std::string& tag, const std::string& markdown);
  void graph(const std::string& graph_def);
  /// `metrics`: tags of the scalars by which runs are compared.
  void begin_session(const std::string& group, const std::vector<Setting>& settings,
                     const std::vector<std::string>& metrics);
  void end_session(bool success);

 private:
  void add(int64_t step, events::Event& event);
  void add(int64_t step, events::Summary_Value value);
  void add_plugin(const std::string& tag, const std::string& plugin, const std::string& content);

  RecordFile file_;
  bool failed_ = false;
};

}  // namespace cortado::runs
