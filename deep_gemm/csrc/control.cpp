#include <deep_gemm/csrc/control.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>

#include <deep_gemm/csrc/control_queries.hpp>
#include <deep_gemm/csrc/launch/jit.hpp>
#include <deep_gemm/csrc/launch/jit_cuda.hpp>
#include <deep_gemm/csrc/utils/control_table.hpp>
#include <deep_gemm/csrc/utils/registry.hpp>
#include <deep_gemm/csrc/utils/state.hpp>

namespace deep_gemm {
namespace {

static_assert(sizeof(DgKnobs) == sizeof(Knobs), "the two lists of knobs are one list");

// malloc: the caller gives it back through dg_free, which may be another copy's.
char* copy_of(const std::string& text) {
  auto* bytes = static_cast<char*>(std::malloc(text.size() + 1));
  if (bytes != nullptr) std::memcpy(bytes, text.c_str(), text.size() + 1);
  return bytes;
}

std::string error_text(std::string_view kind, std::string_view message) {
  deep_jit::json error = deep_jit::json::object(), answer = deep_jit::json::object();
  error["kind"] = kind;
  error["message"] = message;
  answer["error"] = std::move(error);
  return answer.dump();
}

int own_init(const char* root) {
  try {
    set_package_root(root == nullptr ? "" : root);
    std::error_code ignored;
    const bool has_headers =
        std::filesystem::exists(package_root() / "include/deep_gemm/host/gemm.hpp", ignored);
    return has_headers && registry().error.empty() ? 0 : 1;
  } catch (...) {
    return 1;
  }
}

void own_set_knobs(const DgKnobs* knobs) {
  if (knobs == nullptr) return;
  set_knobs(std::bit_cast<Knobs>(*knobs));
}

void own_get_knobs(DgKnobs* knobs) {
  if (knobs == nullptr) return;
  *knobs = std::bit_cast<DgKnobs>(current_knobs());
}

char* own_query(const char* what, const char* args) {
  try {
    return copy_of(answer_query(what == nullptr ? "" : what, args == nullptr ? "" : args).dump());
  } catch (const deep_jit::exception::Exception& error) {
    return copy_of(error_text(deep_jit::exception::kind_name(error.kind()), error.message()));
  } catch (const std::exception& error) {
    return copy_of(error_text("Internal", error.what()));
  }
}

std::function<void(const deep_jit::Event&)> json_callback(void (*callback)(const char*)) {
  if (callback == nullptr) return {};
  return [callback](const deep_jit::Event& event) {
    deep_jit::json text = deep_jit::json::object();
    text["event"] = deep_jit::event_name(event.kind);
    text["name"] = event.name;
    text["request"] = event.request;
    text["ms"] = event.ms;
    callback(text.dump().c_str());
  };
}

void own_set_callback(void (*callback)(const char*)) {
  try {
    host_jit().events.set_callback(json_callback(callback));
    cuda_jit().events.set_callback(json_callback(callback));
  } catch (...) {
    // No runtime, no events.
  }
}

const ControlTable& control() {
  const ControlTable* owner = registry().owner;
  return owner == nullptr ? kOwnControl : *owner;
}

}  // namespace

const ControlTable kOwnControl = {own_init, own_set_knobs, own_get_knobs, own_query,
                                  own_set_callback};

}  // namespace deep_gemm

DG_EXPORT const char* dg_namespace() { return deep_gemm::registry().ns.c_str(); }

DG_EXPORT int dg_init(const char* package_root) { return deep_gemm::control().init(package_root); }

DG_EXPORT void dg_set_knobs(const DgKnobs* knobs) { deep_gemm::control().set_knobs(knobs); }

DG_EXPORT void dg_get_knobs(DgKnobs* knobs) { deep_gemm::control().get_knobs(knobs); }

DG_EXPORT char* dg_query(const char* what, const char* args) {
  return deep_gemm::control().query(what, args);
}

DG_EXPORT void dg_set_callback(void (*callback)(const char* event_json)) {
  deep_gemm::control().set_callback(callback);
}

DG_EXPORT void dg_free(char* answer) { std::free(answer); }
