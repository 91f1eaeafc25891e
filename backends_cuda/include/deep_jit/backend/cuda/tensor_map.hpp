// Tensor maps for the bulk tensor copy engine: a description in elements, refused in words where
// the hardware would refuse it with a number, and a cheap way to move a map to another address.
//
//   cuda::TensorMapDesc desc{.dtype = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, .sizes = {k, m},
//                            .strides_bytes = {k * 2}, .box = {64, 128},
//                            .swizzle = CU_TENSOR_MAP_SWIZZLE_128B};
//   CUtensorMap map = cuda::encode_tensor_map(desc, pointer);     // throws InvalidArgument
//   cuda::patch_tensor_map(map, other_pointer);                   // same shape, new address
//
// Dimension 0 is the contiguous one; it has no stride. Leaves tile choice and operand names to
// callers: `desc.name` only labels the error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <deep_jit/backend/cuda/driver.hpp>

namespace DJ_HIDDEN deep_jit {
namespace cuda {

struct TensorMapDesc {
  std::string_view name = "tensor";
  CUtensorMapDataType dtype = CU_TENSOR_MAP_DATA_TYPE_UINT8;
  std::vector<std::uint64_t> sizes;                 // elements, 1 to 5 dimensions
  std::vector<std::uint64_t> strides_bytes;         // of dimensions 1.. : one fewer than sizes
  std::vector<std::uint32_t> box;                   // elements copied per dimension
  std::vector<std::uint32_t> element_strides = {};  // empty: all 1
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  CUtensorMapL2promotion l2_promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
  CUtensorMapFloatOOBfill oob_fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
};

struct TensorMapRefusal {
  std::string argument;
  std::string given;
  std::string_view rule;
  std::string sentence;
  std::string fix;
};

namespace detail {

// Bits, since fp4 packs two elements into a byte. 0 = unknown to this header (left to the driver).
inline int element_bits(CUtensorMapDataType dtype) {
  switch (dtype) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
      return 8;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return 16;
    case CU_TENSOR_MAP_DATA_TYPE_UINT32:
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ:
      return 32;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      return 64;
#if CUDA_VERSION >= 12080
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B:
      return 4;
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B:  // shared memory holds 16 of them in 16 bytes
      return 8;
#endif
    default:
      return 0;
  }
}

// Bytes that the inner side of the box may span; 0 = no limit.
inline std::uint64_t swizzle_span(CUtensorMapSwizzle swizzle) {
  switch (swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_NONE:
      return 0;
    case CU_TENSOR_MAP_SWIZZLE_32B:
      return 32;
    case CU_TENSOR_MAP_SWIZZLE_64B:
      return 64;
    default:
      return 128;
  }
}

inline bool is_padded_fp4([[maybe_unused]] CUtensorMapDataType dtype) {
#if CUDA_VERSION >= 12080
  return dtype == CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B;
#else
  return false;
#endif
}

}  // namespace detail

// The first broken rule, in the order shape, alignment, stride, box. Pure: no driver call.
inline std::optional<TensorMapRefusal> first_broken_tensor_map_rule(const TensorMapDesc& desc,
                                                                    std::uint64_t address) {
  const std::size_t rank = desc.sizes.size();
  const auto refuse = [](std::string argument, std::string given, std::string_view rule,
                         std::string sentence, std::string fix) {
    return TensorMapRefusal{std::move(argument), std::move(given), rule, std::move(sentence),
                            std::move(fix)};
  };
  if (rank < 1 || rank > 5) {
    return refuse("sizes", str::format("{} dimensions", rank), "TENSOR_MAP_RANK",
                  "a tensor map has 1 to 5 dimensions",
                  "merge dimensions that are contiguous in each other");
  }
  if (desc.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE && rank < 3) {
    return refuse("interleave", str::format("{} dimensions", rank), "TENSOR_MAP_INTERLEAVE",
                  "an interleaved layout needs at least 3 dimensions", "use no interleave");
  }
  const auto count = [&](std::string_view argument, std::size_t given, std::size_t wanted) {
    return refuse(std::string(argument), str::format("{} values", given), "TENSOR_MAP_COUNTS",
                  str::format("{} dimensions need {} values here", rank, wanted),
                  "dimension 0 is contiguous and has no stride; the others have one each");
  };
  if (desc.strides_bytes.size() != rank - 1)
    return count("strides_bytes", desc.strides_bytes.size(), rank - 1);
  if (desc.box.size() != rank) return count("box", desc.box.size(), rank);
  if (!desc.element_strides.empty() && desc.element_strides.size() != rank)
    return count("element_strides", desc.element_strides.size(), rank);

  const bool wide =
      desc.interleave == CU_TENSOR_MAP_INTERLEAVE_32B || detail::is_padded_fp4(desc.dtype);
  const std::uint64_t alignment = wide ? 32 : 16;
  if (address % alignment != 0) {
    return refuse("address",
                  str::format("{:#x}, {} bytes past alignment", address, address % alignment),
                  "TENSOR_MAP_ADDRESS",
                  str::format("the first element lies on a multiple of {} bytes", alignment),
                  "copy the view to a fresh tensor, or start it at an aligned element");
  }
  for (std::size_t i = 0; i < rank; ++i) {
    if (desc.sizes[i] == 0 || desc.sizes[i] > (std::uint64_t{1} << 32)) {
      return refuse(str::format("sizes[{}]", i), str::format("{}", desc.sizes[i]),
                    "TENSOR_MAP_SIZE", "each size lies in 1 .. 2^32",
                    desc.sizes[i] == 0 ? "handle empty tensors before a map is built"
                                       : "split the dimension in two");
    }
  }
  const std::uint64_t inner_unit = detail::is_padded_fp4(desc.dtype)       ? 128
                                   : detail::element_bits(desc.dtype) == 4 ? 2
                                                                           : 1;
  if (desc.sizes[0] % inner_unit != 0) {
    return refuse("sizes[0]", str::format("{}", desc.sizes[0]), "TENSOR_MAP_FP4_SIZE",
                  str::format("packed 4-bit rows hold a multiple of {} elements", inner_unit),
                  "pad the contiguous dimension");
  }
  for (std::size_t i = 0; i + 1 < rank; ++i) {
    const std::uint64_t stride = desc.strides_bytes[i];
    if (stride % alignment != 0) {
      return refuse(str::format("strides_bytes[{}] (of dimension {})", i, i + 1),
                    str::format("{} bytes", stride), "TENSOR_MAP_STRIDE",
                    str::format("each stride is a multiple of {} bytes", alignment),
                    str::format("pad the row to {} bytes, or pass a contiguous copy",
                                (stride + alignment - 1) / alignment * alignment));
    }
    if (stride >= (std::uint64_t{1} << 40)) {
      return refuse(str::format("strides_bytes[{}] (of dimension {})", i, i + 1),
                    str::format("{} bytes", stride), "TENSOR_MAP_STRIDE_RANGE",
                    "each stride is less than 2^40 bytes", "build one map per slice");
    }
  }
  for (std::size_t i = 0; i < rank; ++i) {
    if (desc.box[i] == 0 || desc.box[i] > 256) {
      return refuse(str::format("box[{}]", i), str::format("{}", desc.box[i]), "TENSOR_MAP_BOX",
                    "each side of the box is 1 .. 256 elements",
                    "copy a longer side with several copies");
    }
    if (!desc.element_strides.empty() &&
        (desc.element_strides[i] == 0 || desc.element_strides[i] > 8)) {
      return refuse(str::format("element_strides[{}]", i),
                    str::format("{}", desc.element_strides[i]), "TENSOR_MAP_ELEMENT_STRIDE",
                    "each element stride is 1 .. 8", "leave element_strides empty");
    }
  }
  const int bits = detail::element_bits(desc.dtype);
  if (bits == 0 || desc.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE) return std::nullopt;
  const std::uint64_t inner_bits = std::uint64_t{desc.box[0]} * static_cast<std::uint64_t>(bits);
  if (inner_bits % 128 != 0) {
    return refuse("box[0]", str::format("{} elements of {} bits", desc.box[0], bits),
                  "TENSOR_MAP_BOX_BYTES", "the inner side of the box is a multiple of 16 bytes",
                  str::format("use a multiple of {} elements", 128 / bits));
  }
  const std::uint64_t span = detail::swizzle_span(desc.swizzle);
  if (span != 0 && inner_bits > span * 8) {
    return refuse(
        "box[0]", str::format("{} elements = {} bytes", desc.box[0], inner_bits / 8),
        "TENSOR_MAP_SWIZZLE_SPAN",
        str::format("a {}-byte swizzle spans at most {} bytes of the inner side", span, span),
        str::format("use at most {} elements, or a wider swizzle",
                    span * 8 / static_cast<std::uint64_t>(bits)));
  }
  return std::nullopt;
}

// "sizes (4096, 128), strides (8192) bytes, box (64, 128)"
inline std::string describe(const TensorMapDesc& desc) {
  const auto list = [](const auto& values) {
    std::string text = "(";
    for (std::size_t i = 0; i < values.size(); ++i)
      text += str::format("{}{}", i == 0 ? "" : ", ", values[i]);
    return text + ")";
  };
  return str::format("sizes {}, strides {} bytes, box {}, data type {}, swizzle {}",
                     list(desc.sizes), list(desc.strides_bytes), list(desc.box),
                     static_cast<int>(desc.dtype), static_cast<int>(desc.swizzle));
}

inline CUtensorMap encode_tensor_map(const TensorMapDesc& desc, const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (const auto refusal = first_broken_tensor_map_rule(desc, address)) {
    DJ_FAIL(kInvalidArgument,
            "cuda: tensor map of {}: {}: given {} in {}.\n  Rule {}: {}.\n  Fix: {}.", desc.name,
            refusal->argument, refusal->given, describe(desc), refusal->rule, refusal->sentence,
            refusal->fix);
  }
  CUtensorMap map;
  const std::vector<std::uint32_t> ones(desc.sizes.size(), 1);
  const auto& steps = desc.element_strides.empty() ? ones : desc.element_strides;
  const std::vector<std::uint64_t> no_stride(1, 0);  // rank 1: the driver still reads a pointer
  const auto& strides = desc.strides_bytes.empty() ? no_stride : desc.strides_bytes;
  const CUresult result = driver::lazy_cuTensorMapEncodeTiled(
      &map, desc.dtype, static_cast<cuuint32_t>(desc.sizes.size()), const_cast<void*>(pointer),
      desc.sizes.data(), strides.data(), desc.box.data(), steps.data(), desc.interleave,
      desc.swizzle, desc.l2_promotion, desc.oob_fill);
  if (result != CUDA_SUCCESS) {
    driver::fail(result,
                 str::format("cuTensorMapEncodeTiled of {} ({})", desc.name, describe(desc)),
                 __FILE__, __LINE__);
  }
  return map;
}

// Moves a map to another address of the same alignment; everything else is kept.
inline void patch_tensor_map(CUtensorMap& map, const void* pointer) {
  DJ_CUDA_DRIVER_CHECK(driver::lazy_cuTensorMapReplaceAddress(&map, const_cast<void*>(pointer)));
}

}  // namespace cuda
}  // namespace DJ_HIDDEN deep_jit
