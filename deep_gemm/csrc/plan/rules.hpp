// Every reason to refuse a call, by a name that stays.
//   refuse(Rule::ScaleColumns, {"fp8_gemm_nt", "a_scale", facts.to_string()}, {128, 1024, 8});
// throws InvalidArgument or Unsupported with five parts: op, argument, given, rule, fix. Wording
// lives in rules.cpp alone. Leaves where a rule applies to ops/ and to gemm_legality.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace deep_gemm {

enum class Rule {
  None,
  // device, dtype, rank, shape
  OneDevice,
  DeviceKind,
  DtypeFp8,
  DtypeBf16,
  DtypeScale,
  DtypeOut,
  DtypeC,
  RankMatrix,
  SameK,
  ShapeD,
  ShapeC,
  // recipe and scales
  RecipeWhole,
  RecipeGranMn,
  RecipeGranK,
  ScaleRows,
  ScaleColumns,
  // strides and aliases
  UnitStride,
  OutUnitStride,
  OutRows,
  AliasLayout,
  // groups
  RankGroups,
  SameGroups,
  SomeGroups,
  GroupedK,
  GroupedAMajor,
  GroupsApart,
  GroupsContiguous,
  GroupAlignment,
  GroupAlignmentK,
  LayoutInt32,
  LayoutVector,
  LayoutLength,
  LabelRange,
  LabelTile,
  EndOrder,
  CountRange,
  KSizesGiven,
  KSizesHost,
  KSizesLength,
  KSizesMultiple,
  KSizesSum,
  KSizesLayout,
  KGroupedFlat,
  KScales,
  // indexer logits
  LogitsDtype,
  LogitsScale,
  LogitsWeights,
  LogitsInt32,
  LogitsRank,
  LogitsShape,
  LogitsContiguous,
  LogitsHeads,
  LogitsHeadDim,
  LogitsClean,
  LogitsWidth,
  LogitsSchedule,
  LogitsCache,
  LogitsAligned,
  LogitsPage,
  LogitsBlocks,
  SparseCount,
  SparseBlock,
  SparsePage,
  SparseRows,
  SparseKeys,
  SparseMetadata,
  // expert choice
  GateDtype,
  GateShape,
  GateContiguous,
  GateSizes,
  GateExperts,
  GateTopk,
  GateTogether,
  GateCopies,
  // hyper-connection
  HcDtype,
  HcSameK,
  HcSizes,
  HcSplits,
  HcOutputShape,
  HcOutputContiguous,
  HcKMajor,
  // what no kernel does
  NoKernelForDevice,
  TileRows,
  VectorBytes,
  Workspace,
  SizeLimit,
  TileAtom,
  Registers,
  SmemBytes,
  Sm90Operands,
  TmaAlignment,
  // the buffer of fused mixture-of-experts calls
  MegaPositive,
  MegaExperts,
  MegaWidth,
  MegaRing,
  MegaTypes,
  MegaLayout,
  MegaBuffer,
  // descriptions of calls (`supports`, `plan`, `precompile`)
  KnownOp,
  KnownKey,
  Described,
  // einsum
  EinsumExpression,
  EinsumRank,
  EinsumBatch,
  Count,
};

struct RuleInfo {
  Rule rule;
  const char* name;      // stable
  bool is_unsupported;   // kind: Unsupported, else InvalidArgument
  const char* sentence;  // {0}, {1}, ...: details
  const char* fix;
};

const RuleInfo& rule_info(Rule rule);

// What is refused: "fp8_gemm_nt", "a_scale", "float32 (128, 7), strides (7, 1), cpu".
struct Refused {
  std::string_view op;
  std::string_view argument;
  std::string given;
};

// One thing said about it: a number or text, put into the sentence by position.
class Detail {
 public:
  Detail(const char* text) : text_(text) {}
  Detail(std::string text) : text_(std::move(text)) {}
  Detail(std::string_view text) : text_(text) {}
  // What costs something to say is said when it is needed.
  template <std::invocable F>
  Detail(const F& make) : text_(make()) {}
  Detail(long long number) : text_(std::to_string(number)) {}
  Detail(long number) : text_(std::to_string(number)) {}
  Detail(int number) : text_(std::to_string(number)) {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string refusal_text(Rule rule, const Refused& what,
                         std::initializer_list<Detail> details = {});
[[noreturn]] void refuse(Rule rule, const Refused& what,
                         std::initializer_list<Detail> details = {});

}  // namespace deep_gemm
