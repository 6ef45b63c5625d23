// Checks that the libtorch in this process stores an op where the hooks read it.
//
// RecordFunction and its callbacks have no stable ABI: their members have differed even between
// builds of one version (pytorch/pytorch#108566). So the version alone does not tell whether the
// hooks fit; a nightly, for example, reports the version of the next release.
#pragma once

namespace stepscope {

// Whether everything the hooks read in a RecordFunction, and in a thread's callbacks, is where the
// headers say that this library was compiled with. Lets libtorch fill in two user scopes of known
// contents. Only a profiler that is active on this thread sees them. False if memory runs out.
[[nodiscard]] bool libtorch_has_the_compiled_layout() noexcept;

}  // namespace stepscope
