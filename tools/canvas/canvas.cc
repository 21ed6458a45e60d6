#include "tools/canvas/canvas.h"

#include "core/companion_library.h"
#include "core/error.h"

namespace cortado::tools {

namespace {

struct CanvasModule {
  CanvasModule() {
    decltype(&cortado_canvas) find = nullptr;
    library.find("cortado_canvas", find);
    const char* why = nullptr;
    if (find != nullptr) functions = find(&why);
    why_not = find != nullptr && why != nullptr ? why : library.why_not();
  }

  CompanionLibrary library{"libcortado_canvas.so"};
  const CortadoCanvasFunctions* functions = nullptr;
  std::string why_not;
};

const CortadoCanvasFunctions& canvas_functions() {
  static const CanvasModule module;
  if (module.functions == nullptr)
    throw Error(ExitCode::kIo, "Pango, which is needed to draw pictures, cannot be used: " + module.why_not,
                "apt install libpangocairo-1.0-0 fonts-dejavu-core (and cortado-extras, if Cortado is a package), or "
                "libpango1.0-dev and build again");
  return *module.functions;
}

}  // namespace

void Canvas::require() { canvas_functions(); }

Canvas::Canvas(const data::Image* image, int width, int height, double scale)
    : width_(width),
      height_(height),
      functions_(canvas_functions()),
      canvas_(functions_.make(image != nullptr ? image->pixels.data() : nullptr, width, height, scale),
              functions_.drop) {
  if (!canvas_)
    throw Error(ExitCode::kData,
                "cannot draw on " + std::to_string(width) + " x " + std::to_string(height) + " pixels");
}

Canvas::Canvas(int width, int height, double scale, Color background) : Canvas(nullptr, width, height, scale) {
  fill({{0, 0}, width / scale, height / scale}, background);
}

Canvas::Canvas(const data::Image& image) : Canvas(&image, image.width, image.height, 1) {}

data::Image Canvas::image() const {
  data::Image image;
  image.resize(3, height_, width_);
  functions_.copy(canvas_.get(), image.pixels.data());
  return image;
}

void Canvas::fill(const Rectangle& box, Color color) {
  functions_.fill_box(canvas_.get(), box.corner.x, box.corner.y, box.width, box.height, box.radius, color);
}

void Canvas::outline(const Rectangle& box, double line, Color color) {
  functions_.draw_box(canvas_.get(), box.corner.x, box.corner.y, box.width, box.height, box.radius, line, color);
}

void Canvas::curve(const std::vector<Point>& points, double line, Color color) {
  std::vector<double> numbers;
  for (const Point& point : points) numbers.insert(numbers.end(), {point.x, point.y});
  functions_.draw_curves(canvas_.get(), numbers.data(), points.size() / 4, line, color);
}

void Canvas::triangle(Point a, Point b, Point c, Color color) {
  const double numbers[] = {a.x, a.y, b.x, b.y, c.x, c.y};
  functions_.fill_triangle(canvas_.get(), numbers, color);
}

void Canvas::text(Point left, const std::string& text, Font font, double most, Color color) {
  functions_.draw_text(canvas_.get(), left.x, left.y, text.c_str(), font, most, color);
}

double Canvas::width_of(const std::string& text, Font font) {
  return canvas_functions().text_width(text.c_str(), font);
}

std::vector<std::string> Canvas::broken(const std::string& text, Font font, double width) {
  std::vector<std::string> lines;
  const auto take = [](void* user, const char* line, size_t size) {
    static_cast<std::vector<std::string>*>(user)->emplace_back(line, size);
  };
  canvas_functions().break_text(text.c_str(), font, width, take, &lines);
  return lines;
}

}  // namespace cortado::tools
