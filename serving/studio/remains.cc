#include "studio/remains.h"

#include <exception>

#include "core/files/made_folders.h"
#include "core/files/temporary_folder.h"
#include "core/log.h"
#include "studio/bin.h"
#include "studio/dataset_reports.h"
#include "studio/preparations.h"
#include "tools/runs/run_finder.h"
#include "tools/runs/run_folder.h"

namespace cortado::studio {

namespace {

void remove_unfinished_reports(const Folder& folder) {
  for (const std::string& run : runs::RunFinder().find(folder.root())) remove_leftovers(runs::RunPaths(run).report);
}

}  // namespace

void remove_remains(const Folder& folder) {
  TemporaryFolder::remove_left(kTemporaryName);
  for (void (*const remove)(const Folder&) :
       {+[](const Folder& all) { all.remove_left(); }, remove_origins_without_items, remove_unfinished_datasets,
        remove_unfinished_preparations, remove_unfinished_reports})
    try {
      remove(folder);
    } catch (const std::exception& error) {
      log_warning() << "what a killed studio left cannot be removed: " << error.what();
    }
}

}  // namespace cortado::studio
