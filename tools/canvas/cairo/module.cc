#include "tools/canvas/cairo/module.h"

#include <pango/pangocairo.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>

namespace {

constexpr int kChannels = 3, kMaxSide = 32767;

template <auto Release>
struct Releases {
  template <typename T>
  void operator()(T* object) const {
    Release(object);
  }
};
using Layout = std::unique_ptr<PangoLayout, Releases<g_object_unref>>;
using Context = std::unique_ptr<PangoContext, Releases<g_object_unref>>;
using FontDescription = std::unique_ptr<PangoFontDescription, Releases<pango_font_description_free>>;
using FontOptions = std::unique_ptr<cairo_font_options_t, Releases<cairo_font_options_destroy>>;
using Words = std::unique_ptr<char, Releases<g_free>>;

/// Disables hinting, so that letters look the same at any scale.
void set_plain_letters(PangoContext* context) {
  const FontOptions options(cairo_font_options_create());
  cairo_font_options_set_antialias(options.get(), CAIRO_ANTIALIAS_GRAY);
  cairo_font_options_set_hint_style(options.get(), CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options.get(), CAIRO_HINT_METRICS_OFF);
  pango_cairo_context_set_font_options(context, options.get());
  pango_context_set_round_glyph_positions(context, FALSE);
}

/// Lays out the text as one paragraph. Replaces invalid UTF-8, of which Pango would warn on stderr.
Layout laid_out(PangoContext* context, const char* text, const CortadoFont& font) {
  set_plain_letters(context);
  Layout layout(pango_layout_new(context));
  const FontDescription description(pango_font_description_from_string("DejaVu Sans, sans-serif"));
  pango_font_description_set_weight(description.get(), font.bold != 0 ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
  pango_font_description_set_absolute_size(description.get(), font.size * PANGO_SCALE);
  pango_layout_set_font_description(layout.get(), description.get());
  pango_layout_set_single_paragraph_mode(layout.get(), TRUE);
  const Words valid(g_utf8_make_valid(text, -1));
  pango_layout_set_text(layout.get(), valid.get(), -1);
  return layout;
}

Context measuring_context() { return Context(pango_font_map_create_context(pango_cairo_font_map_get_default())); }

double width_of(PangoLayout* layout) {
  PangoRectangle extent;
  pango_layout_get_extents(layout, nullptr, &extent);
  return double(extent.width) / PANGO_SCALE;
}

}  // namespace

struct CortadoCanvas {
  cairo_surface_t* surface = nullptr;
  cairo_t* cairo = nullptr;
};

namespace {

void drop(CortadoCanvas* canvas) {
  cairo_destroy(canvas->cairo);
  cairo_surface_destroy(canvas->surface);
  delete canvas;
}

/// cairo's pixels are 32-bit numbers: 0, red, green, blue from the highest byte.
void copy_in(const uint8_t* pixels, int width, int height, cairo_surface_t* surface) {
  for (int y = 0; y < height; ++y) {
    unsigned char* row = cairo_image_surface_get_data(surface) + ptrdiff_t(y) * cairo_image_surface_get_stride(surface);
    for (int x = 0; x < width; ++x, pixels += kChannels) {
      const uint32_t pixel = uint32_t(pixels[2]) << 16 | uint32_t(pixels[1]) << 8 | pixels[0];
      std::memcpy(row + ptrdiff_t(x) * 4, &pixel, sizeof pixel);
    }
  }
  cairo_surface_mark_dirty(surface);
}

CortadoCanvas* make(const uint8_t* pixels, int width, int height, double scale) {
  if (width > kMaxSide || height > kMaxSide) return nullptr;
  auto* canvas = new (std::nothrow) CortadoCanvas;
  if (canvas == nullptr) return nullptr;
  canvas->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
  if (cairo_surface_status(canvas->surface) == CAIRO_STATUS_SUCCESS && pixels != nullptr)
    copy_in(pixels, width, height, canvas->surface);
  canvas->cairo = cairo_create(canvas->surface);
  cairo_scale(canvas->cairo, scale, scale);
  if (cairo_status(canvas->cairo) == CAIRO_STATUS_SUCCESS) return canvas;
  drop(canvas);
  return nullptr;
}

void copy(const CortadoCanvas* canvas, uint8_t* pixels) {
  cairo_surface_t* const surface = canvas->surface;
  cairo_surface_flush(surface);
  const int width = cairo_image_surface_get_width(surface);
  for (int y = 0; y < cairo_image_surface_get_height(surface); ++y) {
    const unsigned char* row =
        cairo_image_surface_get_data(surface) + ptrdiff_t(y) * cairo_image_surface_get_stride(surface);
    for (int x = 0; x < width; ++x) {
      uint32_t pixel;
      std::memcpy(&pixel, row + ptrdiff_t(x) * 4, sizeof pixel);
      for (int channel = 0; channel < kChannels; ++channel) *pixels++ = uint8_t(pixel >> 8 * channel);
    }
  }
}

void take_color(CortadoCanvas* canvas, CortadoColor color) {
  cairo_set_source_rgb(canvas->cairo, color.red / 255.0, color.green / 255.0, color.blue / 255.0);
}

void take_box(cairo_t* cairo, double x, double y, double width, double height, double radius) {
  if (radius <= 0) return cairo_rectangle(cairo, x, y, width, height);
  const double r = std::min({radius, width / 2, height / 2}), right = x + width, below = y + height;
  cairo_new_sub_path(cairo);
  cairo_arc(cairo, right - r, y + r, r, -M_PI_2, 0);
  cairo_arc(cairo, right - r, below - r, r, 0, M_PI_2);
  cairo_arc(cairo, x + r, below - r, r, M_PI_2, M_PI);
  cairo_arc(cairo, x + r, y + r, r, M_PI, 3 * M_PI_2);
  cairo_close_path(cairo);
}

void fill_box(CortadoCanvas* canvas, double x, double y, double width, double height, double radius,
              CortadoColor color) {
  take_color(canvas, color);
  take_box(canvas->cairo, x, y, width, height, radius);
  cairo_fill(canvas->cairo);
}

void draw_box(CortadoCanvas* canvas, double x, double y, double width, double height, double radius, double line,
              CortadoColor color) {
  take_color(canvas, color);
  cairo_set_line_width(canvas->cairo, line);
  take_box(canvas->cairo, x, y, width, height, radius);
  cairo_stroke(canvas->cairo);
}

void draw_curves(CortadoCanvas* canvas, const double* points, size_t curves, double line, CortadoColor color) {
  take_color(canvas, color);
  cairo_set_line_width(canvas->cairo, line);
  cairo_move_to(canvas->cairo, points[0], points[1]);
  for (const double* at = points; at < points + 8 * curves; at += 8)
    cairo_curve_to(canvas->cairo, at[2], at[3], at[4], at[5], at[6], at[7]);
  cairo_stroke(canvas->cairo);
}

void fill_triangle(CortadoCanvas* canvas, const double* points, CortadoColor color) {
  take_color(canvas, color);
  for (int i = 0; i < 6; i += 2) cairo_line_to(canvas->cairo, points[i], points[i + 1]);
  cairo_fill(canvas->cairo);
}

void draw_text(CortadoCanvas* canvas, double x, double y, const char* text, CortadoFont font, double most,
               CortadoColor color) {
  cairo_t* const cairo = canvas->cairo;
  const Context context(pango_cairo_create_context(cairo));
  const Layout layout = laid_out(context.get(), text, font);
  const double width = width_of(layout.get());
  take_color(canvas, color);
  cairo_save(cairo);
  cairo_translate(cairo, x, y);
  if (width > most) cairo_scale(cairo, most / width, 1);
  cairo_move_to(cairo, 0, 0);
  pango_cairo_show_layout_line(cairo, pango_layout_get_line_readonly(layout.get(), 0));
  cairo_restore(cairo);
  cairo_new_path(cairo);
}

double text_width(const char* text, CortadoFont font) {
  const Context context = measuring_context();
  return width_of(laid_out(context.get(), text, font).get());
}

void break_text(const char* text, CortadoFont font, double width, void (*take)(void*, const char*, size_t),
                void* user) {
  const Context context = measuring_context();
  const Layout layout = laid_out(context.get(), text, font);
  pango_layout_set_width(layout.get(), int(width * PANGO_SCALE));
  pango_layout_set_wrap(layout.get(), PANGO_WRAP_WORD_CHAR);
  for (const GSList* at = pango_layout_get_lines_readonly(layout.get()); at != nullptr; at = at->next) {
    const auto* line = static_cast<const PangoLayoutLine*>(at->data);
    take(user, pango_layout_get_text(layout.get()) + line->start_index, size_t(line->length));
  }
}

}  // namespace

const CortadoCanvasFunctions* cortado_canvas(const char** why) {
  static constexpr CortadoCanvasFunctions kFunctions = {make,        copy,          drop,      fill_box,   draw_box,
                                                        draw_curves, fill_triangle, draw_text, text_width, break_text};
  int families = 0;
  PangoFontFamily** list = nullptr;
  pango_font_map_list_families(pango_cairo_font_map_get_default(), &list, &families);
  g_free(list);
  *why = families > 0 ? nullptr : "no font is installed";
  return families > 0 ? &kFunctions : nullptr;
}
