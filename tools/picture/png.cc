// The picture as PNG, on a light page: the shapes of the SVG at twice their size.
#include "data/image/png.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "tools/canvas/canvas.h"
#include "tools/picture/render.h"
#include "tools/picture/scene.h"
#include "tools/picture/text_width.h"

namespace cortado::tools {

namespace {

constexpr double kScale = 2;  // reduced to the largest possible scale for large pictures
constexpr double kMaxPixels = 1.2e8, kPngMaxSide = 32000, kLeastScale = 0.5;
constexpr double kMarker = 7 * kEdgeLine;  // an arrow's head; an SVG's marker is measured in line widths

uint8_t hexadecimal(const char* digits) { return uint8_t(std::stoi(std::string(digits, 2), nullptr, 16)); }

Color parsed_color(const char* text) { return {hexadecimal(text + 1), hexadecimal(text + 3), hexadecimal(text + 5)}; }

double scale_for(const Scene& scene) {
  const double scale = std::min({kScale, std::sqrt(kMaxPixels / (scene.width * scene.height)),
                                 kPngMaxSide / std::max(scene.width, scene.height)});
  if (scale < kLeastScale)
    throw Error(ExitCode::kUsage, "the picture is too large for a legible PNG", "write an SVG, which has no limit");
  return scale;
}

/// Draws text at its own width, or at the width of its box if that is smaller.
void draw_text(Canvas& canvas, const SceneText& text) {
  const TextStyle& style = style_of(text.kind);
  const Font font{style.size, style.bold};
  const double most = text_room(text.text, style.size, style.bold);
  const double width = style.begins ? 0 : std::min(Canvas::width_of(text.text, font), most);
  canvas.text({text.x - width / 2, text.y}, text.text, font, most,
              parsed_color(style.muted ? kMutedInk.light : kInk.light));
}

void draw_contents(Canvas& canvas, const SceneGroup& group) {
  for (const SceneBox& box : group.boxes) {
    const Rectangle shape{{box.x, box.y}, box.width, box.height, box.radius};
    canvas.fill(shape, parsed_color(style_of(box.family).fill));
    canvas.outline(shape, box.small ? kSmallLine : kBoxLine, parsed_color(style_of(box.family).line));
  }
  for (const SceneText& text : group.texts) draw_text(canvas, text);
}

/// Draws a line with a head like the SVG's marker: its tip is almost at the end.
void draw_edge(Canvas& canvas, SceneCurve curve) {
  const Point end = curve.back();
  const auto before = std::find_if(curve.rbegin(), curve.rend(),
                                   [&](const Point& p) { return std::hypot(end.x - p.x, end.y - p.y) > 1e-6; });
  if (before == curve.rend()) return;
  const double length = std::hypot(end.x - before->x, end.y - before->y);
  const Point ahead{(end.x - before->x) / length, (end.y - before->y) / length};
  const auto at = [&](double along, double aside) {
    return Point{end.x + (along * ahead.x - aside * ahead.y) * kMarker,
                 end.y + (along * ahead.y + aside * ahead.x) * kMarker};
  };
  const Color color = parsed_color(kEdgeInk.light);
  curve.back() = at(-0.3, 0);
  canvas.curve(curve, kEdgeLine, color);
  canvas.triangle(at(-0.9, -0.4), at(-0.9, 0.4), at(0.1, 0), color);
}

}  // namespace

std::string to_png(const Scene& scene) {
  const double scale = scale_for(scene);
  Canvas canvas(int(std::ceil(scene.width * scale)), int(std::ceil(scene.height * scale)), scale,
                parsed_color(kPage.light));
  draw_contents(canvas, scene.legend);
  for (const SceneGroup& group : scene.groups)
    group.edge.empty() ? draw_contents(canvas, group) : draw_edge(canvas, group.edge);
  return data::encode_png(canvas.image());
}

}  // namespace cortado::tools
