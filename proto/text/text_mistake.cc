#include "proto/text/text_mistake.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>

#include "core/error.h"
#include "proto/cortado.pb.h"

namespace cortado {

std::vector<Diagnostic> first_of(const TextMistakes& mistakes, const std::string& rest) {
  std::vector<Diagnostic> list;
  for (size_t i = 0; i < std::min(kMaxMistakesTold, mistakes.size()); ++i) list.push_back(mistakes[i].mistake);
  if (mistakes.size() > kMaxMistakesTold) list.push_back({list.back().place, rest, {}, {}});
  return list;
}

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// Normalises a name: "InnerProduct" and "inner_product_param" both become "innerproduct".
std::string bare(const std::string& name) {
  std::string out;
  for (char c : name)
    if (c != '_') out += c >= 'A' && c <= 'Z' ? char(c + 32) : c;
  if (out.size() > 5 && out.compare(out.size() - 5, 5, "param") == 0) out.resize(out.size() - 5);
  return out;
}

/// The options message of the layer's type: "convolution_param" for a Convolution.
std::string options_of(const Message& message) {
  const auto* layer = dynamic_cast<const caffe::LayerParameter*>(&message);
  if (layer == nullptr) return {};
  const std::string type = bare(layer->type() == "Deconvolution" ? "Convolution" : layer->type());
  const google::protobuf::Descriptor* fields = message.GetDescriptor();
  for (int i = 0; i < fields->field_count(); ++i)
    if (fields->field(i)->message_type() && bare(fields->field(i)->name()) == type) return fields->field(i)->name();
  return {};
}

/// The fields of `message` that are messages with a field `name`; only that of the layer's type if it is among them.
std::vector<std::string> holders_of(const std::string& name, const Message& message) {
  const google::protobuf::Descriptor* fields = message.GetDescriptor();
  const std::string preferred = options_of(message);
  std::vector<std::string> holders;
  for (int i = 0; i < fields->field_count(); ++i) {
    const FieldDescriptor* field = fields->field(i);
    if (!field->message_type() || !field->message_type()->FindFieldByName(name)) continue;
    if (field->name() == preferred) return {preferred};
    holders.push_back(field->name());
  }
  return holders;
}

bool is_options(std::string_view name) { return name.ends_with("_param"); }

/// The nearest name in `known`. All options end alike, so only the part before "_param" is compared. Three letters or
/// less must match exactly: bn_param is not a misspelling of lrn_param.
std::string nearest_field(std::string_view name, std::vector<std::string> known) {
  if (!is_options(name)) return did_you_mean(name, known);
  constexpr size_t kEnd = 6, kShort = 3;
  if (name.size() <= kEnd + kShort) return {};
  std::erase_if(known, [](const std::string& field) { return !is_options(field); });
  for (std::string& field : known) field.resize(field.size() - kEnd);
  const std::string found = nearest(name.substr(0, name.size() - kEnd), known);
  return found.empty() ? "" : "did you mean '" + found + "_param'?";
}

std::string joined(const std::vector<std::string>& names) {
  constexpr size_t kMax = 4;
  std::string list;
  for (size_t i = 0; i < names.size() && i < kMax; ++i)
    list += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return names.size() > kMax ? list + " or others" : list;
}

}  // namespace

std::string suggest_field(const std::string& name, const std::vector<const Message*>& enclosing) {
  constexpr size_t kLongest = 100;
  if (enclosing.empty() || name.size() > kLongest) return {};
  const Message& inner = *enclosing.back();
  if (enclosing.size() > 1)
    if (const auto* same = enclosing[enclosing.size() - 2]->GetDescriptor()->FindFieldByName(name);
        same && same->message_type() == inner.GetDescriptor())
      return "close the '" + name + "' before it with }";
  if (const auto holders = holders_of(name, inner); !holders.empty()) return "move it into " + joined(holders);
  for (size_t i = enclosing.size() - 1; i-- > 0;)
    if (enclosing[i]->GetDescriptor()->FindFieldByName(name)) return "move it out of this message";
  std::vector<std::string> known;
  for (int i = 0; i < inner.GetDescriptor()->field_count(); ++i)
    known.push_back(inner.GetDescriptor()->field(i)->name());
  if (const std::string meant = nearest_field(name, known); !meant.empty()) return meant;
  if (enclosing.size() < 2) return {};
  const auto holders = holders_of(name, *enclosing[enclosing.size() - 2]);
  return holders.empty() ? "" : "move it into " + joined(holders);
}

}  // namespace cortado
