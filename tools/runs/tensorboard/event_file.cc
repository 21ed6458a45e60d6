#include "tools/runs/tensorboard/event_file.h"

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <system_error>

#include "core/error.h"
#include "core/files/file.h"
#include "core/log.h"
#include "core/process/unix_seconds.h"
#include "tools/runs/environment.h"
#include "tools/runs/tensorboard/events.pb.h"

namespace cortado::runs {

namespace {

constexpr int kStrings = 7, kTensors = 2, kText = 1, kNumber = 3;

/// A new file for each start. TensorBoard reads the files of a folder in the order of their names.
std::string new_path(const std::string& folder) {
  std::error_code failure;
  make_folders(folder, failure);
  if (failure) throw Error(ExitCode::kIo, "cannot create the folder " + folder + ": " + failure.message());
  const std::string stem =
      join_path(folder, "events.out.tfevents." + std::to_string(int64_t(unix_seconds())) + "." + host_name() + ".");
  for (int64_t number = ::getpid();; ++number)
    if (const std::string path = stem + std::to_string(number); !file_exists(path)) return path;
}

}  // namespace

EventFile::EventFile(const std::string& folder) : file_(new_path(folder)) {
  events::Event event;
  event.set_file_version("brain.Event:2");
  add(0, event);
}

EventFile::~EventFile() = default;

void EventFile::add(int64_t step, events::Event& event) {
  event.set_wall_time(unix_seconds());
  event.set_step(step);
  if (file_.append(event.SerializeAsString()) || failed_) return;
  failed_ = true;
  log_warning() << "events are lost: cannot write to " << file_.path();
}

void EventFile::add(int64_t step, events::Summary_Value value) {
  events::Event event;
  *event.mutable_summary()->add_value() = std::move(value);
  add(step, event);
}

void EventFile::start(int64_t step) {
  events::Event event;
  event.mutable_session_log()->set_status(events::SessionLog::START);
  add(step, event);
}

void EventFile::scalars(int64_t step, const std::vector<std::pair<std::string, double>>& values) {
  events::Event event;
  for (const auto& [tag, value] : values) {
    events::Summary::Value& one = *event.mutable_summary()->add_value();
    one.set_tag(tag);
    one.set_simple_value(float(value));
  }
  if (!values.empty()) add(step, event);
}

void EventFile::histogram(int64_t step, const std::string& tag, const Spread& spread) {
  events::Summary::Value value;
  value.set_tag(tag);
  events::Histogram& histogram = *value.mutable_histo();
  histogram.set_min(spread.least);
  histogram.set_max(spread.most);
  histogram.set_num(double(spread.count));
  histogram.set_sum(spread.sum);
  histogram.set_sum_squares(spread.squares);
  const double width = (spread.most - spread.least) / Spread::kBins;
  for (int i = 0; i < Spread::kBins; ++i) {
    histogram.add_bucket_limit(i + 1 < Spread::kBins && width > 0 ? spread.least + width * (i + 1) : spread.most);
    histogram.add_bucket(double(spread.bins[size_t(i)]));
  }
  add(step, std::move(value));
}

void EventFile::image(int64_t step, const std::string& tag, const EncodedImage& image) {
  events::Summary::Value value;
  value.set_tag(tag);
  value.mutable_image()->set_height(image.height);
  value.mutable_image()->set_width(image.width);
  value.mutable_image()->set_colorspace(image.channels);
  value.mutable_image()->set_encoded_image_string(image.bytes);
  add(step, std::move(value));
}

void EventFile::text(int64_t step, const std::string& tag, const std::string& markdown) {
  events::Summary::Value value;
  value.set_tag(tag + "/text_summary");
  value.mutable_metadata()->mutable_plugin_data()->set_plugin_name("text");
  value.mutable_metadata()->set_data_class(kTensors);
  value.mutable_tensor()->set_dtype(kStrings);
  value.mutable_tensor()->mutable_tensor_shape();
  value.mutable_tensor()->add_string_val(markdown);
  add(step, std::move(value));
}

void EventFile::graph(const std::string& graph_def) {
  events::Event event;
  event.set_graph_def(graph_def);
  add(0, event);
}

void EventFile::add_plugin(const std::string& tag, const std::string& plugin, const std::string& content) {
  events::Summary::Value value;
  value.set_tag(tag);
  value.mutable_metadata()->mutable_plugin_data()->set_plugin_name(plugin);
  value.mutable_metadata()->mutable_plugin_data()->set_content(content);
  value.mutable_metadata()->set_data_class(kTensors);
  value.mutable_tensor()->set_dtype(kStrings);
  value.mutable_tensor()->mutable_tensor_shape()->add_dim();
  add(0, std::move(value));
}

void EventFile::begin_session(const std::string& group, const std::vector<Setting>& settings,
                              const std::vector<std::string>& metrics) {
  events::HParams all;
  for (const Setting& setting : settings) {
    events::HParams::Info& info = *all.mutable_experiment()->add_hparam_infos();
    info.set_name(setting.name);
    info.set_type(setting.is_number ? kNumber : kText);
  }
  for (const std::string& tag : metrics) all.mutable_experiment()->add_metric_infos()->mutable_name()->set_tag(tag);
  all.mutable_experiment()->set_time_created_secs(unix_seconds());
  add_plugin("_hparams_/experiment", "hparams", all.SerializeAsString());

  events::HParams own;
  for (const Setting& setting : settings) {
    google::protobuf::Value& value = (*own.mutable_session_start_info()->mutable_hparams())[setting.name];
    if (setting.is_number)
      value.set_number_value(std::strtod(setting.text.c_str(), nullptr));
    else
      value.set_string_value(setting.text);
  }
  own.mutable_session_start_info()->set_group_name(group);
  own.mutable_session_start_info()->set_start_time_secs(unix_seconds());
  add_plugin("_hparams_/session_start_info", "hparams", own.SerializeAsString());
}

void EventFile::end_session(bool success) {
  events::HParams end;
  end.mutable_session_end_info()->set_status(success ? 1 : 2);
  end.mutable_session_end_info()->set_end_time_secs(unix_seconds());
  add_plugin("_hparams_/session_end_info", "hparams", end.SerializeAsString());
}

}  // namespace cortado::runs
