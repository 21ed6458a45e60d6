#include "proto/files/python_types.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>

#include "core/error.h"
#include "core/text/text.h"
#include "proto/text/write_text.h"

namespace cortado {

namespace {

using google::protobuf::FieldDescriptor;

/// "{ alpha: 3 }" without its braces.
std::string content_of(const std::string& braced) {
  const size_t open = braced.find_first_of("{<"), close = braced.find_last_of("}>");
  if (open == std::string::npos || close == std::string::npos || close < open) return "";
  const size_t begin = braced.find_first_not_of(" \t\r\n", open + 1),
               end = braced.find_last_not_of(" \t\r\n", close - 1);
  return begin >= close || end <= open ? "" : braced.substr(begin, end - begin + 1);
}

/// The options of a known type that the layer sets.
std::string known_options(const caffe::LayerParameter& layer) {
  std::vector<const FieldDescriptor*> fields;
  layer.GetReflection()->ListFields(layer, &fields);
  for (const FieldDescriptor* field : fields)
    if (!field->is_repeated() && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
        field->name().ends_with("_param") && field->name() != "transform_param" && field->name() != "loss_param")
      return to_text(layer.GetReflection()->GetMessage(layer, field));
  return "";
}

}  // namespace

PythonTypes::PythonTypes(const std::vector<std::string>& texts, const std::string& flag) {
  for (const std::string& text : texts) {
    const size_t equals = text.find('='), dot = text.rfind('.');
    const bool valid = equals != std::string::npos && equals > 0 && dot != std::string::npos && dot > equals + 1 &&
                       dot + 1 < text.size();
    if (!valid)
      throw Error(ExitCode::kUsage, Diagnostic{{},
                                               flag + "=" + text + ": a layer type and a class are expected",
                                               "write " + flag + "=MyLoss=my_module.MyLoss",
                                               {}});
    classes_[text.substr(0, equals)] = {text.substr(equals + 1, dot - equals - 1), text.substr(dot + 1)};
  }
}

void PythonTypes::apply(NetFile& file) const {
  if (empty()) return;
  for (int i = 0; i < file.net.layer_size(); ++i) {
    caffe::LayerParameter& layer = *file.net.mutable_layer(i);
    const Place place = file.positions.name_place(path_to("", "layer", i));
    const auto within = [&](const TextMistake& mistake) {
      return mistake.layer.known() && mistake.layer.line == place.line && mistake.layer.column == place.column;
    };
    std::string type = layer.type(), options;
    for (const TextMistake& mistake : file.mistakes) {
      if (!within(mistake)) continue;
      if (!mistake.type.empty()) type = mistake.type;
      if (options.empty()) options = content_of(mistake.unknown);
    }
    const auto found = classes_.find(type);
    if (found == classes_.end()) continue;
    if (layer.python_param().has_param_str()) options = layer.python_param().param_str();
    if (options.empty()) options = known_options(layer);
    layer.set_type("Python");
    caffe::PythonParameter& param = *layer.mutable_python_param();
    param.set_module(found->second.module);
    param.set_layer(found->second.name);
    if (!options.empty()) param.set_param_str(options);
    std::erase_if(file.mistakes, within);
  }
}

}  // namespace cortado
