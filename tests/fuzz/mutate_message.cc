#include "tests/fuzz/mutate_message.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "layers/registry.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace cortado::fuzz {

namespace {

using namespace google::protobuf;

constexpr int64_t kWhole[] = {0, 1, -1, 2, 3, 4, 5, 7, 8, 16, 31, 255, 1 << 16, INT32_MAX, INT32_MIN};
constexpr double kReal[] = {0, 1, -1, 0.5, 2, 1e-30, 1e30, -1e-7, std::numeric_limits<double>::infinity(), NAN};

class Silent : public io::ErrorCollector {
  void AddError(int, io::ColumnNumber, const std::string&) override {}
};

class Mutation {
 public:
  explicit Mutation(unsigned seed) : draw_(seed) {}

  template <typename List>
  auto& pick(List& list) {
    return list[draw_() % std::size(list)];
  }
  bool chance(int of) { return draw_() % unsigned(of) == 0; }

  void apply(Message& message) {
    collect(message);
    Message& chosen = *pick(messages_);
    const Descriptor& type = *chosen.GetDescriptor();
    if (type.field_count() == 0) return;
    std::vector<const FieldDescriptor*> present;
    chosen.GetReflection()->ListFields(chosen, &present);
    const bool sets = present.empty() || chance(2);
    const FieldDescriptor& field = sets ? *type.field(int(draw_() % unsigned(type.field_count()))) : *pick(present);
    if (sets || chance(3)) return set(chosen, field);
    field.is_repeated() ? change_list(chosen, field) : chosen.GetReflection()->ClearField(&chosen, &field);
  }

 private:
  /// All messages in it, and all strings, which refer to each other.
  void collect(Message& message) {
    messages_.push_back(&message);
    const Reflection& of = *message.GetReflection();
    std::vector<const FieldDescriptor*> present;
    of.ListFields(message, &present);
    for (const FieldDescriptor* field : present) {
      const int count = field->is_repeated() ? of.FieldSize(message, field) : 1;
      for (int i = 0; i < count; ++i) {
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
          collect(field->is_repeated() ? *of.MutableRepeatedMessage(&message, field, i)
                                       : *of.MutableMessage(&message, field));
        else if (field->type() == FieldDescriptor::TYPE_STRING)
          texts_.push_back(field->is_repeated() ? of.GetRepeatedString(message, field, i)
                                                : of.GetString(message, field));
      }
    }
  }

  void change_list(Message& message, const FieldDescriptor& field) {
    const Reflection& of = *message.GetReflection();
    const int size = of.FieldSize(message, &field);
    if (chance(3)) return of.RemoveLast(&message, &field);
    if (chance(2) || field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
      return of.SwapElements(&message, &field, int(draw_() % unsigned(size)), int(draw_() % unsigned(size)));
    const auto copy =
        std::unique_ptr<Message>(of.GetRepeatedMessage(message, &field, int(draw_() % unsigned(size))).New());
    copy->CopyFrom(of.GetRepeatedMessage(message, &field, int(draw_() % unsigned(size))));
    of.AddMessage(&message, &field)->CopyFrom(*copy);
  }

  std::string text() {
    if (!texts_.empty() && !chance(3)) return pick(texts_);
    static const std::vector<const LayerType*> types = all_layer_types();
    return chance(8) ? "" : pick(types)->name;
  }

  std::string bytes() { return std::string(4 * (draw_() % 16), char(draw_())); }

  void set(Message& message, const FieldDescriptor& field) {
    const Reflection& of = *message.GetReflection();
    const int64_t whole = pick(kWhole);
    const double real = chance(2) ? double(whole) : pick(kReal);
#define CORTADO_SET(Type, value) \
  return field.is_repeated() ? of.Add##Type(&message, &field, value) : of.Set##Type(&message, &field, value)
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        CORTADO_SET(Int32, int32_t(whole));
      case FieldDescriptor::CPPTYPE_INT64:
        CORTADO_SET(Int64, whole);
      case FieldDescriptor::CPPTYPE_UINT32:
        CORTADO_SET(UInt32, uint32_t(whole));
      case FieldDescriptor::CPPTYPE_UINT64:
        CORTADO_SET(UInt64, uint64_t(whole));
      case FieldDescriptor::CPPTYPE_FLOAT:
        CORTADO_SET(Float, float(real));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        CORTADO_SET(Double, real);
      case FieldDescriptor::CPPTYPE_BOOL:
        CORTADO_SET(Bool, chance(2));
      case FieldDescriptor::CPPTYPE_STRING:
        CORTADO_SET(String, field.type() == FieldDescriptor::TYPE_BYTES ? bytes() : text());
      case FieldDescriptor::CPPTYPE_ENUM:
        CORTADO_SET(Enum, field.enum_type()->value(int(draw_() % unsigned(field.enum_type()->value_count()))));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        field.is_repeated() ? of.AddMessage(&message, &field) : of.MutableMessage(&message, &field);
    }
#undef CORTADO_SET
  }

  std::minstd_rand draw_;
  std::vector<Message*> messages_;
  std::vector<std::string> texts_;
};

template <typename Parse, typename Print>
size_t mutate(const Message& prototype, std::span<uint8_t> data, size_t most, unsigned seed, const Parse& parse,
              const Print& print) {
  Mutation mutation(seed);
  const auto change_bytes = [&] { return LLVMFuzzerMutate(data.data(), data.size(), most); };
  if (mutation.chance(4)) return change_bytes();
  const std::unique_ptr<Message> message(prototype.New());
  if (!parse(std::string(data.begin(), data.end()), *message)) return change_bytes();
  mutation.apply(*message);
  const std::string changed = print(*message);
  if (changed.size() > most) return change_bytes();
  std::memcpy(data.data(), changed.data(), changed.size());
  return changed.size();
}

}  // namespace

size_t mutate_text(const Message& prototype, uint8_t* data, size_t size, size_t most, unsigned seed) {
  const auto parse = [](const std::string& text, Message& message) {
    Silent silent;
    TextFormat::Parser parser;
    parser.RecordErrorsTo(&silent);
    parser.SetRecursionLimit(50);
    return parser.ParseFromString(text, &message);
  };
  const auto print = [](const Message& message) {
    std::string text;
    TextFormat::PrintToString(message, &text);
    return text;
  };
  return mutate(prototype, {data, size}, most, seed, parse, print);
}

size_t mutate_binary(const Message& prototype, uint8_t* data, size_t size, size_t most, unsigned seed) {
  const auto parse = [](const std::string& bytes, Message& message) { return message.ParsePartialFromString(bytes); };
  const auto print = [](const Message& message) { return message.SerializePartialAsString(); };
  return mutate(prototype, {data, size}, most, seed, parse, print);
}

}  // namespace cortado::fuzz
