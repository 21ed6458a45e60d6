#include "proto/text/write_text.h"

#include <google/protobuf/text_format.h>

#include "core/error.h"

namespace cortado {

std::string to_text(const google::protobuf::Message& message) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetPrintMessageFieldsInIndexOrder(true);
  printer.SetUseUtf8StringEscaping(true);
  std::string text;
  if (!printer.PrintToString(message, &text)) throw_internal("a message that cannot be printed");
  return text;
}

}  // namespace cortado
