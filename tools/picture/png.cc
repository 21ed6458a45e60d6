// The picture as PNG, on a light page: the shapes of the SVG at twice its size, with letters of our own.
#include "data/image/png.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "tools/canvas.h"
#include "tools/picture/render.h"
#include "tools/picture/scene.h"
#include "tools/picture/text_width.h"

namespace cortado::tools {

namespace {

constexpr double kScale = 2;  // a picture that would be too large has the largest that is not
constexpr double kMaxPixels = 1.2e8, kPngMaxSide = 32000, kLeastScale = 0.5;
constexpr double kMarker = 7 * kEdgeLine;  // of an arrow's head; an SVG's marker counts in widths of its line

uint8_t hexadecimal(const char* digits) { return uint8_t(std::stoi(std::string(digits, 2), nullptr, 16)); }

Color parsed_color(const char* text) { return {hexadecimal(text + 1), hexadecimal(text + 3), hexadecimal(text + 5)}; }

double scale_for(const Scene& scene) {
  const double scale = std::min({kScale, std::sqrt(kMaxPixels / (scene.width * scene.height)),
                                 kPngMaxSide / std::max(scene.width, scene.height)});
  if (scale < kLeastScale)
    throw Error(ExitCode::kUsage, "the picture is too large to be read as a PNG", "an SVG has no such bound");
  return scale;
}

/// As wide as its letters are, at most as wide as its box has room for.
void draw_text(Canvas& canvas, const SceneText& text) {
  const TextStyle& style = style_of(text.kind);
  const double natural = glyphs_width(text.text, style.size) * (style.bold ? 1.06 : 1);
  const double width = std::min(natural, text_room(text.text, style.size, style.bold));
  canvas.text({style.begins ? text.x : text.x - width / 2, text.y}, text.text, style.size,
              style.size * (style.bold ? 0.125 : 0.085), width,
              parsed_color(style.muted ? kMutedInk.light : kInk.light));
}

void draw_contents(Canvas& canvas, const SceneGroup& group) {
  for (const SceneBox& box : group.boxes)
    canvas.box({box.x, box.y}, box.width, box.height, box.radius, parsed_color(style_of(box.kind).fill),
               box.small ? kSmallLine : kBoxLine, parsed_color(style_of(box.kind).line));
  for (const SceneText& text : group.texts) draw_text(canvas, text);
}

/// Whether four points lie on one line down or across the page.
bool is_straight(const Point* p) {
  const auto same = [](double a, double b) { return std::abs(a - b) < 0.01; };
  return std::all_of(p + 1, p + 4, [&](const Point& q) { return same(q.x, p->x); }) ||
         std::all_of(p + 1, p + 4, [&](const Point& q) { return same(q.y, p->y); });
}

Polyline flattened(const SceneCurve& curve) {
  constexpr int kSteps = 12;
  Polyline line = {curve[0]};
  for (size_t i = 0; i < curve.size(); i += 4) {
    for (int step = is_straight(&curve[i]) ? kSteps : 1; step <= kSteps; ++step) {
      const double t = double(step) / kSteps, s = 1 - t;
      const double share[] = {s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t};
      Point at;
      for (size_t k = 0; k < 4; ++k) at = {at.x + share[k] * curve[i + k].x, at.y + share[k] * curve[i + k].y};
      line.push_back(at);
    }
  }
  return line;
}

/// A line with a head like the SVG's marker: its tip almost at the end.
void draw_edge(Canvas& canvas, const SceneCurve& curve) {
  Polyline line = flattened(curve);
  const Point end = line.back(), before = line[line.size() - 2];
  const double length = std::max(std::hypot(end.x - before.x, end.y - before.y), 1e-9);
  const Point ahead{(end.x - before.x) / length, (end.y - before.y) / length};
  const auto at = [&](double along, double aside) {
    return Point{end.x + (along * ahead.x - aside * ahead.y) * kMarker,
                 end.y + (along * ahead.y + aside * ahead.x) * kMarker};
  };
  const Color color = parsed_color(kEdgeInk.light);
  line.back() = at(-0.3, 0);
  canvas.stroke(line, kEdgeLine, color);
  canvas.triangle(at(-0.9, -0.4), at(-0.9, 0.4), at(0.1, 0), color);
}

}  // namespace

std::string to_png(const Scene& scene) {
  const double scale = scale_for(scene);
  data::Image image;
  image.resize(3, int(std::ceil(scene.height * scale)), int(std::ceil(scene.width * scale)));
  Canvas canvas(image, scale);
  canvas.fill(parsed_color(kPage.light));
  draw_contents(canvas, scene.legend);
  for (const SceneGroup& group : scene.groups)
    group.edge.empty() ? draw_contents(canvas, group) : draw_edge(canvas, group.edge);
  return data::encode_png(image);
}

}  // namespace cortado::tools
