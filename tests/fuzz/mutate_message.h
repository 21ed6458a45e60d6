#pragma once

// Mutations that leave a prototxt one: libFuzzer's own rarely get a name or a number past the parser.

#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>

namespace cortado::fuzz {

/// Changes the text of a message like `prototype` in place: a field set, left out, repeated or exchanged; where it is
/// no such text, and else now and then, bytes as libFuzzer does. Returns the new size, `most` at most.
size_t mutate_text(const google::protobuf::Message& prototype, uint8_t* data, size_t size, size_t most, unsigned seed);

}  // namespace cortado::fuzz
