// `cortado data sheet`: images as training sees them, with their labels, on one sheet. What normalising did is undone:
// a value v is shown as v / scale + mean (of a mean image, its channel's average).
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <numeric>

#include "core/device_memory.h"
#include "core/error.h"
#include "core/file.h"
#include "core/tensor.h"
#include "data/labels.h"
#include "data/png.h"
#include "tools/data_command.h"
#include "tools/run_options.h"
#include "tools/small_font.h"

namespace cortado::tools {

namespace {

constexpr int kGap = 4, kLeastSide = 64, kMostSide = 16000;

/// Images and labels of some batches, on the host.
struct Images {
  Shape shape;        ///< of one batch
  Shape label_shape;  ///< batch, or batch x classes
  std::vector<float> values, labels;
};

Images read_images(data::DataPipeline& pipeline, Context& context, int64_t count) {
  Images images{pipeline.data_shape(), pipeline.label_shape(), {}, {}};
  const int64_t batches = (count + images.shape[0] - 1) / images.shape[0];
  std::vector<float> x(size_t(images.shape.count())), labels(size_t(images.label_shape.count()));
  for (int64_t b = 0; b < batches; ++b) {
    pipeline.read(context, plain_view(images.shape, x.data()), plain_view(images.label_shape, labels.data()));
    images.values.insert(images.values.end(), x.begin(), x.end());
    images.labels.insert(images.labels.end(), labels.begin(), labels.end());
  }
  return images;
}

/// What was subtracted from channel c, about.
float mean_of(const data::TransformPlan& plan, int64_t c) {
  if (plan.mean) {
    const size_t area = plan.mean->values.size() / size_t(plan.mean->channels);
    const auto from = plan.mean->values.begin() + int64_t(area) * c;
    return float(std::accumulate(from, from + int64_t(area), 0.0) / double(area));
  }
  if (plan.mean_values.empty()) return 0;
  return plan.mean_values[plan.mean_values.size() == 1 ? 0 : size_t(c)];
}

/// The label, or the classes that a mixture has, most of it first: "cat", "12", "3+7".
std::string label_text(const Images& images, int64_t i, const std::vector<std::string>& names) {
  const auto name = [&](int64_t label) {
    return label >= 0 && size_t(label) < names.size() ? names[size_t(label)] : std::to_string(label);
  };
  if (images.label_shape.axes() == 1) return name(std::llround(images.labels[size_t(i)]));
  const int64_t classes = images.label_shape[1];
  std::vector<std::pair<float, int64_t>> shares;
  for (int64_t k = 0; k < classes; ++k)
    if (const float share = images.labels[size_t(i * classes + k)]; share > 0) shares.push_back({-share, k});
  std::sort(shares.begin(), shares.end());
  std::string text;
  for (const auto& [share, k] : shares) text += (text.empty() ? "" : "+") + name(k);
  return text;
}

/// Where images go: small ones are enlarged by a whole factor.
struct Grid {
  Grid(const Shape& shape, int64_t count, int64_t wanted_columns)
      : factor(int(std::max<int64_t>(1, kLeastSide / std::min(shape[2], shape[3])))),
        cell_width(int(shape[3]) * factor + kGap),
        cell_height(int(shape[2]) * factor + kTextHeight + 2 * kGap) {
    const double ideal = std::sqrt(double(count) * cell_height / cell_width * 1.5);
    columns = int(std::clamp<int64_t>(wanted_columns > 0 ? wanted_columns : std::llround(ideal), 1, count));
    rows = int((count + columns - 1) / columns);
    if (columns * cell_width > kMostSide || rows * cell_height > kMostSide)
      throw usage_error("the sheet would be larger than " + std::to_string(kMostSide) + " pixels",
                        "a smaller --count, or another --columns");
  }
  int factor, cell_width, cell_height, columns = 1, rows = 1;
};

void draw_image(const Images& images, int64_t i, const data::TransformPlan& plan, int factor, int left, int top,
                data::Image& sheet) {
  const int64_t channels = images.shape[1], height = images.shape[2], width = images.shape[3];
  const float* image = images.values.data() + i * channels * height * width;
  for (int64_t c = 0; c < 3; ++c) {
    const int64_t from = channels >= 3 ? c : 0;
    const float mean = mean_of(plan, from), scale = plan.scale == 0 ? 1 : plan.scale;
    for (int64_t y = 0; y < height * factor; ++y)
      for (int64_t x = 0; x < width * factor; ++x) {
        const float value = image[(from * height + y / factor) * width + x / factor] / scale + mean;
        const size_t at = (size_t(top + y) * size_t(sheet.width) + size_t(left + x)) * 3 + size_t(c);
        sheet.pixels[at] = uint8_t(std::lround(std::clamp(value, 0.0f, 255.0f)));
      }
  }
}

}  // namespace

int run_data_sheet(const Arguments& arguments) {
  const std::string output = arguments.text("output"), ending = std::filesystem::path(output).extension();
  if (output.empty()) throw usage_error("--output=FILE is missing", "the PNG to write");
  if (!ending.empty() && ending != ".png") throw usage_error("'" + output + "' does not end in .png", "the sheet is a PNG");
  Context context = make_context(arguments);
  use_device(context, Device());
  const data::PipelineOptions options = pipeline_options_of(arguments);
  std::vector<std::string> names;
  if (arguments.has("labels")) names = data::read_labels(arguments.text("labels"));
  data::DataPipeline pipeline(options);
  pipeline.seek(uint64_t(arguments.integer("epoch")) * uint64_t(pipeline.records()));
  const int64_t count = arguments.integer("count");
  const Grid grid(pipeline.data_shape(), count, arguments.integer("columns"));
  const Images images = read_images(pipeline, context, count);
  data::Image sheet;
  sheet.resize(3, grid.rows * grid.cell_height + kGap, grid.columns * grid.cell_width + kGap);
  std::fill(sheet.pixels.begin(), sheet.pixels.end(), uint8_t(32));
  for (int64_t i = 0; i < count; ++i) {
    const int left = int(i % grid.columns) * grid.cell_width + kGap;
    const int top = int(i / grid.columns) * grid.cell_height + kGap;
    draw_image(images, i, options.transform, grid.factor, left, top, sheet);
    const size_t letters = size_t(std::max(1, (grid.cell_width - kGap) / kTextAdvance));
    draw_text(sheet, left, top + grid.cell_height - kTextHeight - kGap - kGap / 2,
              label_text(images, i, names).substr(0, letters));
  }
  write_file_atomically(output, data::encode_png(sheet));
  std::cout << output << ": " << count << " images of " << pipeline.data_shape().str() << ", "
            << sheet.width << "x" << sheet.height << " pixels\n";
  return 0;
}

}  // namespace cortado::tools
