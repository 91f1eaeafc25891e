#include <deep_gemm/csrc/utils/eager_call.hpp>

#include <algorithm>
#include <array>

#include <deep_gemm/csrc/utils/schemas.hpp>

namespace deep_gemm {
namespace {

// Constant-initialised, so that it is there whichever operator's unit is initialised first.
constinit std::array<EagerOperator, 128> rows{};
constinit std::size_t num_rows = 0;

ArgumentType argument_type_of(std::string_view argument) {
  using Kind = ArgumentType::Kind;
  std::string_view type = argument.substr(0, argument.find(' '));
  ArgumentType answer;
  answer.is_optional = type.ends_with('?');
  if (answer.is_optional) type.remove_suffix(1);
  type = type.substr(0, type.find('('));  // Tensor(d!)
  answer.kind = type == "Tensor"                    ? Kind::Tensor
                : type == "SymInt" || type == "int" ? Kind::Int
                : type == "bool"                    ? Kind::Bool
                : type == "float"                   ? Kind::Float
                : type == "str"                     ? Kind::Text
                                                    : Kind::Other;
  return answer;
}

bool has_types_of_schema(const EagerOperator& row) {
  const std::string_view name = row.name;
  for (std::size_t i = 0; i < kNumSchemas; ++i) {
    const std::string_view schema = kSchemas[i];
    if (schema.substr(0, schema.find('(')) != name) continue;
    const std::vector<ArgumentType> types = argument_types_of(schema);
    return std::equal(types.begin(), types.end(), row.types, row.types + row.num_arguments) &&
           schema.ends_with(row.returns_tensor ? "-> Tensor" : "-> ()");
  }
  return false;
}

}  // namespace

EagerRegistration::EagerRegistration(const EagerOperator& op) noexcept {
  if (num_rows < rows.size() && op.num_arguments <= kMaxEagerArguments) rows[num_rows++] = op;
}

int eager_index_of(std::string_view op) {
  for (std::size_t i = 0; i < num_rows; ++i)
    if (op == rows[i].name) return has_types_of_schema(rows[i]) ? static_cast<int>(i) : -1;
  return -1;
}

const EagerOperator* eager_operator_at(long long index) {
  return index >= 0 && index < static_cast<long long>(num_rows)
             ? &rows[static_cast<std::size_t>(index)]
             : nullptr;
}

std::vector<ArgumentType> argument_types_of(std::string_view schema) {
  std::vector<ArgumentType> types;
  std::string_view rest = schema.substr(schema.find('(') + 1);
  rest = rest.substr(0, rest.rfind(") -> "));
  while (!rest.empty()) {
    const std::size_t end = rest.find(", ");
    types.push_back(argument_type_of(rest.substr(0, end)));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 2);
  }
  return types;
}

}  // namespace deep_gemm
