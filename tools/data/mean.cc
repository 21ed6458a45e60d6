// `cortado mean`: accepts compute_image_mean's flags and operands.
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "core/log.h"
#include "data/convert/compute_mean.h"
#include "formats/npy.h"
#include "tools/options/run_options.h"
#include "tools/output/output_name.h"
#include "tools/output/progress.h"
#include "tools/program/command.h"

namespace cortado::tools {

namespace {

std::vector<double> channel_averages(const caffe::BlobProto& mean) {
  const int64_t channels = mean.channels();
  std::vector<double> means(size_t(channels), 0.0);
  const int64_t plane = channels > 0 ? mean.data_size() / channels : 0;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < plane; ++i) means[size_t(c)] += mean.data(int(c * plane + i));
    means[size_t(c)] /= double(std::max<int64_t>(plane, 1));
  }
  return means;
}

int run_mean(const Arguments& arguments) {
  const std::vector<std::string>& operands = arguments.operands();
  check_backend(arguments, "read");
  const std::string output = operands.size() > 1 ? operands[1] : arguments.text("output");
  const std::string format = format_promised(output, "a mean", {{"binaryproto", {".binaryproto"}}, {"npy", {".npy"}}});
  if (!output.empty()) check_may_replace(arguments, output);
  CountedProgress progress("mean");
  const caffe::BlobProto mean = data::compute_mean(operands[0], progress.callback());
  progress.finish();
  if (!output.empty()) {
    if (format == "npy")
      write_npy(output, {mean.channels(), mean.height(), mean.width()}, mean.data().data());
    else
      write_file_atomically(output, mean.SerializeAsString());
    log_info() << "Write to " << output;
  }
  const std::vector<double> means = channel_averages(mean);
  for (size_t c = 0; c < means.size(); ++c) log_info() << "mean_value channel [" << c << "]: " << means[c];
  if (arguments.on("json")) {
    const nlohmann::ordered_json json = {{"shape", {mean.channels(), mean.height(), mean.width()}},
                                         {"channel_means", means}};
    std::cout << json.dump(2) << "\n";
  }
  return 0;
}

}  // namespace

Command mean_command() {
  return {.name = "mean",
          .summary = "Compute the mean image of a dataset",
          .flags = {output_flag("FILE", "a .binaryproto, or .npy (channels x height x width)"), backend_flag(),
                    force_flag(), json_flag()},
          .operands = {"LMDB [FILE]", "the dataset; FILE is the output, as for compute_image_mean", 1, 2},
          .examples = {{"cortado mean train_lmdb -o mean.binaryproto",
                        "for transform_param { mean_file: \"mean.binaryproto\" }"},
                       {"cortado mean train_lmdb -o mean.npy", "for numpy.load(), and for mean_file"}},
          .run = run_mean};
}

}  // namespace cortado::tools
