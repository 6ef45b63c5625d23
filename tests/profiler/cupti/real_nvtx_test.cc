// What profiler/preload/nvtx.h says of NVTX, held against its own headers where the build found
// some.
#include <gtest/gtest.h>

#include "profiler/preload/nvtx.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

namespace stepscope::nvtx {

static_assert(kRangePushEx == NVTX_CBID_CORE_RangePushEx);
static_assert(kRangePushA == NVTX_CBID_CORE_RangePushA);
static_assert(kRangePop == NVTX_CBID_CORE_RangePop);
static_assert(kDomainRangePushEx == NVTX_CBID_CORE2_DomainRangePushEx);
static_assert(kDomainRangePop == NVTX_CBID_CORE2_DomainRangePop);
static_assert(kDomainRegisterStringA == NVTX_CBID_CORE2_DomainRegisterStringA);
static_assert(kDomainCreateA == NVTX_CBID_CORE2_DomainCreateA);
static_assert(static_cast<int>(Module::kCore) == NVTX_CB_MODULE_CORE);
static_assert(static_cast<int>(Module::kCore2) == NVTX_CB_MODULE_CORE2);
static_assert(kCallbacks == NVTX_ETID_CALLBACKS);
static_assert(sizeof(ExportTableCallbacks) == sizeof(NvtxExportTableCallbacks));
static_assert(offsetof(EventAttributes, message_type) ==
              offsetof(nvtxEventAttributes_t, messageType));
static_assert(offsetof(EventAttributes, message) == offsetof(nvtxEventAttributes_t, message));
static_assert(kAsciiMessage == NVTX_MESSAGE_TYPE_ASCII);
static_assert(kRegisteredMessage == NVTX_MESSAGE_TYPE_REGISTERED);
static_assert(kNoPushPopTracking == NVTX_NO_PUSH_POP_TRACKING);

TEST(RealNvtxTest, TheHeadersAgree) {
  RecordProperty("nvtx_version", NVTX_VERSION);  // what is compared is compared above
}

}  // namespace stepscope::nvtx
#else
TEST(RealNvtxTest, TheHeadersAgree) {
  GTEST_SKIP() << "no NVTX headers: install a CUDA toolkit or, with pip into .venv, nvidia-nvtx";
}
#endif
