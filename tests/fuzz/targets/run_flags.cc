// The flags of a run's record, run.json, as a resume reads them. Every value that is accepted must have the flag's
// kind.
#include "tests/fuzz/fuzzed.h"
#include "tools/program/command.h"
#include "tools/runs/run_record.h"

void cortado::fuzz::fuzz(std::string_view input) {
  using namespace tools;
  static const Command train = train_command();
  expect_answer([&] {
    const runs::RunRecord record = runs::read_record(FuzzedFile(input).path());
    Arguments arguments = parse_flags(flags_of(train), train.operands, {"--solver=s.prototxt"});
    arguments.add(record.flags);
    for (const auto& [name, values] : arguments.given()) {
      switch (arguments.kind(name)) {
        case FlagKind::kSwitch:
          arguments.on(name);
          break;
        case FlagKind::kInteger:
          arguments.integer(name);
          break;
        case FlagKind::kNumber:
          arguments.number(name);
          break;
        case FlagKind::kText:
          arguments.text(name);
          arguments.texts(name);
          arguments.each(name);
      }
    }
  });
}
