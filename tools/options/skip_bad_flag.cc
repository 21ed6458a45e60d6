#include "tools/options/skip_bad_flag.h"

#include "data/pipeline/bad_records.h"

namespace cortado::tools {

Flag skip_bad_flag() {
  return {.name = "skip-bad",
          .kind = FlagKind::kInteger,
          .value = "N",
          .help =
              "pass over up to N records of each dataset that cannot be used, and name them; the next record stands "
              "in. One more is an error, exit code 4",
          .fallback = "0",
          .least = 0,
          .most = 1000000000};
}

void heed_skip_bad(const Arguments& arguments) { data::pass_over_bad_records(arguments.integer("skip-bad")); }

}  // namespace cortado::tools
