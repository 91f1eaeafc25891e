// What an extension that is built with pybind11 shows of its runtime in Python.
//
//   auto jit = deep_jit::create_lazy_jit<deep_jit::Host>(config);
//   PYBIND11_MODULE(_C, module) { deep_jit::register_python_api(module, jit); }
//   # Python: _C.get_jit().cache_key(source), .compile_without_load(name, source), .counters()
//
// The one header that needs pybind11; nothing else of the core knows Python. Leaves launching to
// the extension's own functions.
#pragma once

#include <memory>
#include <string>

#include <pybind11/pybind11.h>

#include <deep_jit/runtime/runtime.hpp>
#include <deep_jit/utils/lazy.hpp>
#include <deep_jit/utils/macros.hpp>

namespace DJ_HIDDEN deep_jit {

// `jit` is copied into the module: the runtime is built when get_jit() is first called.
template <class B>
void register_python_api(pybind11::module_& module, const LazyInit<Runtime<B>>& jit) {
  using Jit = Runtime<B>;
  // Why module_local: two extensions in one process may both embed a runtime.
  pybind11::class_<Jit, std::shared_ptr<Jit>>(module, "Runtime", pybind11::module_local())
      .def(
          "cache_key", [](Jit& self, const std::string& source) { return self.cache_key(source); },
          pybind11::arg("source"), "Request digest of the source with the default options.")
      .def(
          "compile_without_load",
          [](Jit& self, const std::string& name, const std::string& source) {
            return self.compile_without_load(name, source).string();
          },
          pybind11::arg("name"), pybind11::arg("source"), "Folder of the compiled entry.")
      .def(
          "config", [](Jit& self) { return self.config.to_json().dump(); },
          "The configuration as JSON text.")
      .def(
          "counters",
          [](Jit& self) {
            const Counters& counters = self.events.counters;
            pybind11::dict answer;
            answer["compiles"] = counters.compiles.load();
            answer["disk_hits"] = counters.disk_hits.load();
            answer["memory_hits"] = counters.memory_hits.load();
            answer["loads"] = counters.loads.load();
            answer["compile_ms"] = counters.compile_ms.load();
            answer["load_ms"] = counters.load_ms.load();
            return answer;
          },
          "What the runtime did so far.");
  module.def("get_jit", [jit] { return jit.get(); }, "The runtime; built at the first call.");
}

}  // namespace DJ_HIDDEN deep_jit
