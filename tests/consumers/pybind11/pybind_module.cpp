// An extension of the older kind: pybind11 and register_python_api, with two back ends.
#include <deep_jit/backend/cuda/backend.hpp>
#include <deep_jit/backend/host/backend.hpp>
#include <deep_jit/python_api.hpp>

namespace {

const deep_jit::Config& config() {
  static const deep_jit::Config value("/", "PYBIND_CONSUMER");
  return value;
}

auto g_host = deep_jit::create_lazy_jit<deep_jit::Host>(config());
auto g_cuda = deep_jit::create_lazy_jit<deep_jit::CUDA>(config());

}  // namespace

PYBIND11_MODULE(pybind_module, module) {
  deep_jit::register_python_api(module, g_host);
  auto cuda = module.def_submodule("cuda");
  deep_jit::register_python_api(cuda, g_cuda);
}
