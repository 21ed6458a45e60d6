// `cortado data sheet`: images as training reads them, with their labels, on one sheet. Undoes normalisation: a value v
// is shown as v / scale + mean (of a mean image, its channel's average). Long labels are wrapped, not truncated.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>
#include <numeric>

#include "core/device/device_memory.h"
#include "core/error.h"
#include "core/files/file.h"
#include "core/tensor.h"
#include "data/formats/labels.h"
#include "data/image/png.h"
#include "data/inspect/class_names.h"
#include "tools/canvas/canvas.h"
#include "tools/data/data_command.h"
#include "tools/options/run_options.h"
#include "tools/output/output_name.h"

namespace cortado::tools {

namespace {

constexpr int kCellMargin = 4, kLeastSide = 64, kDataSheetMaxSide = 16000, kLineHeight = 14;
constexpr uint8_t kBackground = 32;
constexpr Font kLetters{11, false};

/// Images and labels of some batches, in host memory.
struct Images {
  Shape shape;        ///< of one batch
  Shape label_shape;  ///< batch, or batch x classes
  std::vector<float> values, labels;
  std::vector<std::vector<data::Object>> objects;  ///< in each image; none if records have no objects
};

Images read_images(data::DataPipeline& pipeline, Context& context, int64_t count) {
  Images images{pipeline.data_shape(), pipeline.label_shape(), {}, {}, {}};
  const int64_t batches = (count + images.shape[0] - 1) / images.shape[0];
  std::vector<float> x(size_t(images.shape.count())), labels(size_t(images.label_shape.count()));
  for (int64_t b = 0; b < batches; ++b) {
    pipeline.read(context, plain_view(images.shape, x.data()), plain_view(images.label_shape, labels.data()));
    images.values.insert(images.values.end(), x.begin(), x.end());
    images.labels.insert(images.labels.end(), labels.begin(), labels.end());
    images.objects.insert(images.objects.end(), pipeline.objects().begin(), pipeline.objects().end());
  }
  return images;
}

/// The value subtracted from channel c; an average for a mean image.
float mean_of(const data::TransformPlan& plan, int64_t c) {
  if (plan.mean) {
    const size_t area = plan.mean->values.size() / size_t(plan.mean->channels);
    const auto from = plan.mean->values.begin() + int64_t(area) * c;
    return float(std::accumulate(from, from + int64_t(area), 0.0) / double(area));
  }
  if (plan.mean_values.empty()) return 0;
  return plan.mean_values[plan.mean_values.size() == 1 ? 0 : size_t(c)];
}

/// The label, the classes of a mixture by descending share, or those of the objects: "cat", "12", "3+7".
std::string label_text(const Images& images, int64_t i, const std::map<int32_t, std::string>& names, bool has_objects) {
  const auto name = [&](int64_t label) {
    const auto name = names.find(label);
    return name == names.end() ? std::to_string(label) : name->second;
  };
  if (has_objects) {
    std::string text;
    for (const data::Object& object : images.objects[size_t(i)]) text += (text.empty() ? "" : "+") + name(object.label);
    return text.empty() ? "nothing" : text;
  }
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

/// The positions of images. Small ones are enlarged by a whole factor.
struct Grid {
  Grid(const Shape& shape, int64_t count, int64_t wanted_columns, const std::vector<std::string>& texts)
      : factor(
            int(std::max<int64_t>(1, (kLeastSide + std::min(shape[2], shape[3]) - 1) / std::min(shape[2], shape[3])))),
        image_height(int(shape[2]) * factor),
        cell_width(int(shape[3]) * factor + kCellMargin) {
    for (const std::string& text : texts) {
      labels.push_back(Canvas::broken(text, kLetters, cell_width - kCellMargin));
      cell_height = std::max(cell_height, int(labels.back().size()) * kLineHeight);
    }
    cell_height += image_height + 2 * kCellMargin;
    const double ideal = std::sqrt(double(count) * cell_height / cell_width * 1.5);
    columns = int(std::clamp<int64_t>(wanted_columns > 0 ? wanted_columns : std::llround(ideal), 1, count));
    rows = int((count + columns - 1) / columns);
    if (columns * cell_width > kDataSheetMaxSide || rows * cell_height > kDataSheetMaxSide)
      throw usage_error("the sheet is larger than " + std::to_string(kDataSheetMaxSide) + " pixels",
                        "use a smaller --count, or other --columns");
  }
  int factor, image_height, cell_width, cell_height = 0, columns = 1, rows = 1;
  std::vector<std::vector<std::string>> labels;  ///< wrapped into lines
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

void draw_boxes(const std::vector<data::Object>& objects, int left, int top, int width, int height, Canvas& canvas) {
  for (const data::Object& object : objects) {
    const auto& box = object.box;
    canvas.outline(
        {{left + box.x0 * width, top + box.y0 * height}, (box.x1 - box.x0) * width, (box.y1 - box.y0) * height}, 1.2,
        {255, 220, 0});
  }
}

data::Image drawn(const Images& images, const Grid& grid, const data::TransformPlan& plan) {
  data::Image sheet;
  sheet.resize(3, grid.rows * grid.cell_height + kCellMargin, grid.columns * grid.cell_width + kCellMargin);
  std::fill(sheet.pixels.begin(), sheet.pixels.end(), kBackground);
  const auto left_of = [&](size_t i) { return int(i) % grid.columns * grid.cell_width + kCellMargin; };
  const auto top_of = [&](size_t i) { return int(i) / grid.columns * grid.cell_height + kCellMargin; };
  for (size_t i = 0; i < grid.labels.size(); ++i)
    draw_image(images, int64_t(i), plan, grid.factor, left_of(i), top_of(i), sheet);
  Canvas canvas(sheet);
  for (size_t i = 0; i < grid.labels.size(); ++i) {
    const int left = left_of(i), top = top_of(i);
    draw_boxes(images.objects[i], left, top, int(images.shape[3]) * grid.factor, grid.image_height, canvas);
    double baseline = top + grid.image_height;
    for (const std::string& line : grid.labels[i])
      canvas.text({double(left), baseline += kLineHeight}, line, kLetters, grid.cell_width - kCellMargin,
                  {255, 255, 255});
  }
  return canvas.image();
}

/// By label: the names of --labels, else those next to the dataset.
std::map<int32_t, std::string> sheet_names(const Arguments& arguments, const data::DataSource& source) {
  if (!arguments.has("labels")) return data::class_names_of(source.path(), source.has_objects());
  std::map<int32_t, std::string> names;
  for (const std::string& name : data::read_labels(arguments.text("labels"))) names[int32_t(names.size())] = name;
  return names;
}

}  // namespace

int run_data_sheet(const Arguments& arguments) {
  const std::string output = arguments.text("output"), ending = std::filesystem::path(output).extension();
  if (!ending.empty() && ending != ".png")
    throw usage_error("'" + output + "' does not end in .png", "choose a name that ends in .png");
  check_may_replace(arguments, output);
  ContextOptions on_host = context_options(arguments);
  on_host.device = {};
  CommandContext context(arguments, on_host);
  const data::PipelineOptions options = pipeline_options_of(arguments);
  data::DataPipeline pipeline(options);
  const std::map<int32_t, std::string> names = sheet_names(arguments, pipeline.source());
  if (arguments.integer("at-epoch") > 0 && pipeline.records() == data::kEndless)
    throw usage_error("--at-epoch: " + options.source + " is drawn from without end, so it has no epochs");
  pipeline.seek(uint64_t(arguments.integer("at-epoch")) * uint64_t(pipeline.records()));
  const int64_t count = arguments.integer("count");
  const Images images = read_images(pipeline, context, count);
  std::vector<std::string> texts;
  for (int64_t i = 0; i < count; ++i) texts.push_back(label_text(images, i, names, pipeline.source().has_objects()));
  const Grid grid(pipeline.data_shape(), count, arguments.integer("columns"), texts);
  const data::Image sheet = drawn(images, grid, options.transform);
  write_file_atomically(output, data::encode_png(sheet));
  std::cout << output << ": " << count << " images of " << pipeline.data_shape().str() << ", " << sheet.width << "x"
            << sheet.height << " pixels\n";
  return 0;
}

}  // namespace cortado::tools
