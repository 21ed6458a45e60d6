// `cortado data bench`: measures how fast a net's data layer reads when nothing else runs.
#include <sys/resource.h>

#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/device/device_memory.h"
#include "core/tensor.h"
#include "core/text/text.h"
#include "data/pipeline/jpeg_decoding.h"
#include "tools/data/data_command.h"
#include "tools/options/flags.h"
#include "tools/options/run_options.h"
#include "tools/output/terminal.h"

namespace cortado::tools {

namespace {

/// The result of `seconds` of reading.
struct Pace {
  int64_t images = 0;
  double seconds = 0, cpu_seconds = 0, wait_share = 0;
  double images_per_second() const { return double(images) / seconds; }
  double cpu_ms_per_image() const { return 1000 * cpu_seconds / double(images); }
};

/// CPU seconds of all threads of this process.
double cpu_clock() {
  rusage used = {};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) { return double(time.tv_sec) + 1e-6 * double(time.tv_usec); };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// Reads batches into one buffer of the context's device for at least `seconds`.
class DataBenchReader {
 public:
  DataBenchReader(data::DataPipeline& pipeline, Context& context)
      : pipeline_(pipeline),
        context_(context),
        images_(context, size_t(pipeline.data_shape().count()) * sizeof(float)),
        labels_(context, size_t(pipeline.label_shape().count()) * sizeof(float)),
        x_{{pipeline.data_shape()}, context.device, images_.data()},
        label_{{pipeline.label_shape()}, context.device, labels_.data()} {}

  Pace run(double seconds) {
    using Clock = std::chrono::steady_clock;
    const double waited = pipeline_.wait_seconds(), cpu = cpu_clock();
    const Clock::time_point from = Clock::now();
    Pace pace;
    while (pace.seconds < seconds) {
      pipeline_.read(context_, x_, label_);
      pace.images += pipeline_.data_shape()[0];
      synchronize(context_);
      pace.seconds = std::chrono::duration<double>(Clock::now() - from).count();
    }
    pace.wait_share = (pipeline_.wait_seconds() - waited) / pace.seconds;
    pace.cpu_seconds = cpu_clock() - cpu;
    return pace;
  }

 private:
  data::DataPipeline& pipeline_;
  Context& context_;
  DeviceMemory images_, labels_;
  Tensor x_, label_;
};

}  // namespace

int run_data_bench(const Arguments& arguments) {
  CommandContext context(arguments);
  choose_decoder(arguments, context);
  data::PipelineOptions options = pipeline_options_of(arguments);
  options.skip_bad = skip_bad_of(arguments);
  data::DataPipeline pipeline(options);
  DataBenchReader reader(pipeline, context);
  const double seconds = arguments.number("seconds");
  reader.run(seconds / 4);  // a warm-up, which starts threads and reads the file into the page cache
  const Pace pace = reader.run(seconds);
  const std::string shape = pipeline.data_shape().str();
  const bool endless = pipeline.records() == data::kEndless;
  const data::JpegDecoding& decoding = context.handle<data::JpegDecoding>();
  if (arguments.on("json")) {
    const nlohmann::ordered_json json = {
        {"source", options.source},
        {"records", endless ? nlohmann::ordered_json() : nlohmann::ordered_json(pipeline.records())},
        {"shape", shape},
        {"data_threads", options.threads},
        {"threads", context.threads},
        {"device", context.device.str()},
        {"images", pace.images},
        {"seconds", pace.seconds},
        {"images_per_second", pace.images_per_second()},
        {"cpu_ms_per_image", pace.cpu_ms_per_image()},
        {"wait_share", pace.wait_share},
        {"jpegs_by", decoding.by},
        {"decoded_on_device", decoding.on_device}};
    std::cout << json.dump(2) << "\n";
    return 0;
  }
  std::cout << options.source << ": "
            << (endless ? "records without end" : count_of(pipeline.records(), "record", "records")) << ", batches of "
            << shape << "\n"
            << number_text("%.0f", pace.images_per_second()) << " img/s over " << number_text("%.1f", pace.seconds)
            << " s with " << count_of(options.threads, "data thread", "data threads") << ", waiting "
            << number_text("%.1f", 100 * pace.wait_share) << "% of the time; "
            << number_text("%.3f", pace.cpu_ms_per_image()) << " ms of CPU an image\n";
  if (decoding.on_device > 0)
    std::cout << count_of(decoding.on_device, "image", "images") << " decoded by " << decoding.by << "\n";
  return 0;
}

}  // namespace cortado::tools
