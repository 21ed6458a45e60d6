#pragma once

namespace cortado {

class BatchMemory;
class DataCursor;
class DynamicRows;
class ReadsClasses;
class RecordSource;
class Scoring;
class WrittenInPython;

/// What a layer is besides a Layer: each pointer is the layer itself, or null.
struct LayerRoles {
  bool needs_host = false;  ///< forward() waits for the host (data, files): no part of work that is recorded once
  bool views_x = false;     ///< every y is x[0] in another shape, or one more name of it
  DataCursor* cursor = nullptr;
  RecordSource* records = nullptr;  ///< then cursor, too
  BatchMemory* memory = nullptr;
  DynamicRows* rows = nullptr;
  Scoring* scoring = nullptr;
  ReadsClasses* classes = nullptr;
  WrittenInPython* python = nullptr;
};

}  // namespace cortado
