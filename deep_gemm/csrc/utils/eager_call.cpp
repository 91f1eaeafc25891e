#include <deep_gemm/csrc/utils/eager_call.hpp>

#include <array>

#include <deep_jit/utils/exception.hpp>

namespace deep_gemm {
namespace {

struct Row {
  const char* op = nullptr;
  EagerFunction function = nullptr;
};

// Constant-initialised, so that it is there whichever operator's unit is initialised first.
constinit std::array<Row, 128> rows{};
constinit std::size_t num_rows = 0;

}  // namespace

const EagerValue& EagerArguments::at(std::size_t i, Kind kind) const {
  if (i >= size_ || values_[i].kind != kind) DJ_PANIC("argument {} is of another kind", i);
  return values_[i];
}

EagerRegistration::EagerRegistration(const char* op, EagerFunction function) noexcept {
  if (num_rows < rows.size()) rows[num_rows++] = {op, function};
}

int eager_index_of(std::string_view op) {
  for (std::size_t i = 0; i < num_rows; ++i)
    if (op == rows[i].op) return static_cast<int>(i);
  return -1;
}

EagerFunction eager_function_at(int index) {
  const auto at = static_cast<std::size_t>(index);
  return index >= 0 && at < num_rows ? rows[at].function : nullptr;
}

}  // namespace deep_gemm
