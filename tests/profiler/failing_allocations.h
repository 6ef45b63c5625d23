// Lets an allocation of a test fail.
#pragma once

namespace stepscope {

// Whether this build can: a sanitizer brings an operator new of its own.
bool allocations_can_fail();

// How many allocations by operator new on this thread succeed before one fails; negative: none
// fails.
extern thread_local int allocations_until_failure;

}  // namespace stepscope
