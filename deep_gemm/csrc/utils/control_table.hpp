// The functions of control.h as a table: what a second copy of the same file calls instead of its
// own. Its layout is frozen, since two builds can only meet when they are the same file.
#pragma once

#include <deep_gemm/csrc/control.h>

namespace deep_gemm {

struct ControlTable {
  int (*init)(const char* package_root);
  void (*set_knobs)(const DgKnobs* knobs);
  void (*get_knobs)(DgKnobs* knobs);
  char* (*query)(const char* what, const char* args);
  void (*set_callback)(void (*callback)(const char* event_json));
};

extern const ControlTable kOwnControl;  // control.cpp

}  // namespace deep_gemm
