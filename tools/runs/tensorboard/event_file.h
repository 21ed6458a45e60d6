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

/// An image as a file's content: PNG or JPEG.
struct EncodedImage {
  int height = 0, width = 0, channels = 0;
  std::string bytes;
};

/// One name and its value, as a hyperparameter is shown: text, unless it is a number.
struct Setting {
  std::string name, text;
  bool is_number = false;
};

/// An event file of TensorBoard's. Where the disk refuses an event, that is logged once; nothing throws then.
class EventFile {
 public:
  /// Makes FOLDER/events.out.tfevents.SECONDS.HOST.PROCESS, and the folder. Throws Error(kIo).
  explicit EventFile(const std::string& folder);
  ~EventFile();

  /// What earlier files of the folder say of steps from `step` on is to be forgotten.
  void start(int64_t step);
  void scalars(int64_t step, const std::vector<std::pair<std::string, double>>& values);
  void histogram(int64_t step, const std::string& tag, const Spread& spread);
  void image(int64_t step, const std::string& tag, const EncodedImage& image);
  void text(int64_t step, const std::string& tag, const std::string& markdown);
  void graph(const std::string& graph_def);
  /// `metrics`: tags of scalars that runs are compared by.
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
