// One function an operator, for both ways in: torch's dispatcher, and the shortcut past it.
//   bool run(Call& call, const Arg& a, const std::optional<Arg>& c, std::int64_t n, bool flag) {
//     ...; return launch_warm(...) if call.is_warm(), else true;
//   }
//   DG_OPERATOR("bf16_gemm_nt", &run);      // beside the operator, at namespace scope
// Both conversions of the arguments are made from the function's type, which is compared with the
// schema before the shortcut is given out. A ReturningCall as first parameter: the operator returns
// what was allocated. Leaves registering to utils/ and what may run warm to the functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <torch/csrc/stable/library.h>

#include <deep_gemm/csrc/launch/prepared.hpp>
#include <deep_gemm/csrc/ops/args.hpp>
#include <deep_gemm/csrc/utils/eager_call.hpp>
#include <deep_gemm/csrc/utils/registry.hpp>

namespace deep_gemm::ops {

// A tensor among the arguments.
struct Arg {
  const TensorFacts& facts;
  const Tensor* tensor = nullptr;  // null: a warm call
};

inline const Tensor* tensor_of(const std::optional<Arg>& arg) {
  return arg ? arg->tensor : nullptr;
}
inline std::optional<TensorFacts> facts_of(const std::optional<Arg>& arg) {
  return arg ? std::optional<TensorFacts>(arg->facts) : std::nullopt;
}

// Through the dispatcher: the result is a tensor of torch's.
class TorchCall final : public ReturningCall {
 public:
  TorchCall() : ReturningCall(false) {}
  void* allocate(const NewMatrix& matrix, const TensorFacts& like) override;
  const Tensor& result() const { return *result_; }

 private:
  std::optional<Tensor> result_;
};

// The tensor that a call which is not warm has allocated.
inline const Tensor& result_of(const ReturningCall& call) {
  return static_cast<const TorchCall&>(call).result();
}

// Launches what an earlier call prepared; false: nothing is ready.
template <class Problem, class Addresses>
bool launch_warm(Call& call, const Problem& problem, const Placement& placement, const Knobs& knobs,
                 const Addresses& at) {
  const auto prepared = find_prepared<Addresses>(problem, placement, knobs);
  if (prepared == nullptr) return false;
  call.launching();
  return prepared->launch(at);
}

namespace detail {

// How a parameter is handed over: `Torch` by the dispatcher, kept in `Held`; or a value, warm.
template <class T, ArgumentType::Kind kKind, bool kIsOptional>
struct PlainParameter {
  using Torch = T;
  static constexpr ArgumentType kType{kKind, kIsOptional};
  struct Held {
    explicit Held(const T& given) : value(given) {}
    const T& get() const { return value; }
    T value;
  };
};

template <class P>
struct Parameter;

template <>
struct Parameter<const Arg&> {
  using Torch = Tensor;
  static constexpr ArgumentType kType{ArgumentType::Kind::Tensor, false};
  struct Held {
    explicit Held(const Tensor& given) : tensor(given), facts(facts_of(given)) {}
    Arg get() const { return {facts, &tensor}; }
    const Tensor& tensor;
    TensorFacts facts;
  };
  static Arg warm(const EagerValue& value) { return {value.facts}; }
};

template <>
struct Parameter<const std::optional<Arg>&> {
  using Torch = std::optional<Tensor>;
  static constexpr ArgumentType kType{ArgumentType::Kind::Tensor, true};
  struct Held {
    explicit Held(const Torch& given) : tensor(given ? &*given : nullptr) {
      if (tensor != nullptr) facts = facts_of(*tensor);
    }
    std::optional<Arg> get() const {
      return tensor == nullptr ? std::nullopt : std::optional<Arg>(Arg{facts, tensor});
    }
    const Tensor* tensor;
    TensorFacts facts;
  };
  static std::optional<Arg> warm(const EagerValue& value) {
    return value.is_none ? std::nullopt : std::optional<Arg>(Arg{value.facts});
  }
};

template <>
struct Parameter<std::int64_t> : PlainParameter<std::int64_t, ArgumentType::Kind::Int, false> {
  static std::int64_t warm(const EagerValue& value) { return value.integer; }
};

template <>
struct Parameter<std::optional<std::int64_t>>
    : PlainParameter<std::optional<std::int64_t>, ArgumentType::Kind::Int, true> {
  static Torch warm(const EagerValue& value) {
    return value.is_none ? std::nullopt : Torch(value.integer);
  }
};

template <>
struct Parameter<bool> : PlainParameter<bool, ArgumentType::Kind::Bool, false> {
  static bool warm(const EagerValue& value) { return value.integer != 0; }
};

template <>
struct Parameter<std::optional<double>>
    : PlainParameter<std::optional<double>, ArgumentType::Kind::Float, true> {
  static Torch warm(const EagerValue& value) {
    return value.is_none ? std::nullopt : Torch(value.number);
  }
};

template <>
struct Parameter<std::string_view> : PlainParameter<std::string, ArgumentType::Kind::Text, false> {
  static std::string_view warm(const EagerValue& value) { return value.text; }
};

template <auto kRun, class Function = decltype(kRun)>
struct Operator;

template <auto kRun, class C, class... P>
struct Operator<kRun, bool (*)(C&, P...)> {
  static constexpr bool kReturns = std::is_same_v<C, ReturningCall>;

  static std::conditional_t<kReturns, Tensor, void> run(typename Parameter<P>::Torch... given) {
    TorchCall call;
    const std::tuple<typename Parameter<P>::Held...> held(given...);
    std::apply([&call](const auto&... one) { kRun(call, one.get()...); }, held);
    if constexpr (kReturns) return call.result();
  }

  static bool warm(ReturningCall& call, const EagerValue* values) {
    return [&]<std::size_t... kI>(std::index_sequence<kI...>) {
      return kRun(call, Parameter<P>::warm(values[kI])...);
    }(std::index_sequence_for<P...>{});
  }

  static constexpr ArgumentType kTypes[] = {Parameter<P>::kType...};

  static EagerOperator eager(const char* name) {
    return {name, &warm, kTypes, sizeof...(P), kReturns};
  }
};

}  // namespace detail

// At namespace scope. The function is a pointer to one, without commas.
#define DG_OPERATOR(NAME, FUNCTION)                                                      \
  DG_REGISTER_OP(NAME, TORCH_BOX((&::deep_gemm::ops::detail::Operator<FUNCTION>::run))); \
  const ::deep_gemm::EagerRegistration DG_CONCAT(                                        \
      eager_, __COUNTER__)(::deep_gemm::ops::detail::Operator<FUNCTION>::eager(NAME))

}  // namespace deep_gemm::ops
