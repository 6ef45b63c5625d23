// Symbols that libstepscope exports for its own companions (the hook libraries), not for users.
#pragma once

#define STEPSCOPE_INTERNAL __attribute__((visibility("default")))
