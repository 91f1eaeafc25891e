// Devices and the driver below them, against the simulated runtime.
#include <deep_jit/backend/ascend/device.hpp>

#include <thread>

#include "tests/backends_ascend/ascend_fixture.hpp"
#include "tests/support/check.hpp"

namespace {

using namespace deep_jit;

// Device 2 is known neither to CANN's attribute nor to the table, device 3 to the table alone.
const AscendDir& shared_dir() {
  static const AscendDir dir = [] {
    setenv("ASCEND_SIM_SOCS", "Ascend910B2,Ascend950PR_9589,Ascend999X,Ascend310P3", 1);
    return AscendDir();
  }();
  return dir;
}

}  // namespace

TEST(AscendDevice, PropertiesAreReadPerDevice) {
  shared_dir();
  const ascend::Device a2(0), next(1);
  CHECK_EQ(a2.get_soc_name(), std::string("Ascend910B2"));
  CHECK_EQ(a2.get_num_sms(), 24);
  CHECK_EQ(a2.get_num_ai_cores(), 24);
  CHECK_EQ(a2.get_num_cube_cores(), 24);
  CHECK_EQ(a2.get_num_vector_cores(), 48);
  CHECK_EQ(a2.get_num_ub_bytes(), 192 * 1024);
  CHECK_EQ(a2.get_npu_arch(), std::string("dav-2201"));
  CHECK_EQ(next.get_npu_arch(), std::string("dav-3510"));
  CHECK_EQ(next.get_num_lanes(), 32);
  CHECK_EQ(next.get_num_l2_cache_bytes(), 128 << 20);
  CHECK_EQ(ascend::Device::count(), 4);
  const long calls = sim().calls("aclrtGetDeviceInfo");
  CHECK(ascend::Device(1).get_prop() == next.get_prop());
  CHECK_EQ(sim().calls("aclrtGetDeviceInfo"), calls);
}

TEST(AscendDevice, AnOlderReleaseWithoutTheAttributeIsReadOffTheTable) {
  shared_dir();
  sim().is_old(1);
  CHECK_EQ(ascend::Device(3).get_npu_arch(), std::string("dav-2002"));
  sim().is_old(0);
}

TEST(AscendDevice, AnUnknownSocIsSaidAndAnIndexThatIsNotThereIsRefused) {
  shared_dir();
  CHECK_THROWS(ascend::Device(2).get_npu_arch(), kUnsupported, "SOC_KNOWN");
  for (const int index : {-1, 4})
    CHECK_THROWS(ascend::Device(index), kInvalidArgument, "DEVICE_INDEX");
}

TEST(AscendDevice, AThreadsOwnDeviceIsLeftInPlace) {
  shared_dir();
  DJ_ACL_CHECK(acl::lazy_aclrtSetDevice(1));
  {
    const ascend::DeviceScope scope(0);
    CHECK_EQ(ascend::Device::current_index(), 0);
  }
  CHECK_EQ(ascend::Device::current_index(), 1);
  std::thread([] {
    CHECK_EQ(ascend::Device::current_index(), 0);  // none: what its first use would take
    {
      const ascend::DeviceScope scope(3);
    }
    CHECK_EQ(ascend::Device::current_index(), 3);  // it had none, so it keeps this one
  }).join();
}

TEST(AscendDriver, AFailedCallHasTheRuntimesWordsTheCodeAndAWayOut) {
  shared_dir();
  DJ_ACL_CHECK(acl::lazy_aclrtSetDevice(0));
  void* memory = nullptr;
  sim().fail("aclrtMalloc", 1, ACL_ERROR_RT_DEVICE_OOM);
  const auto allocate = [&] {
    DJ_ACL_CHECK(acl::lazy_aclrtMalloc(&memory, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    return 0;
  };
  CHECK_THROWS(allocate(), kDevice, "207018: EZ9999: simulated: aclrtMalloc fails as asked for");
  sim().fail("aclrtMalloc", 1, ACL_ERROR_RT_DEVICE_OOM);
  CHECK_THROWS(allocate(), kDevice, "device memory is full");
  CHECK_EQ(allocate(), 0);
  acl::lazy_aclrtFree(memory);
}

TEST(AscendDriver, ASecondInitialisationIsNoError) {
  shared_dir();
  // As where torch_npu came first: aclInit answers that it was done.
  CHECK_EQ(acl::lazy_aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
  acl::ensure_initialized();
}

CHECK_MAIN()
