// The shapes of an op's inputs as text: "[[64,784],[128],[]]", one entry per input; a tensor list
// is a list of shapes, and anything but a tensor is [].
#pragma once

#include <ATen/record_function.h>

#include <string_view>

namespace stepscope {

// Call only inside a start callback that requested inputs. Valid until the thread's next call.
std::string_view shapes_text(const at::RecordFunction& fn);

}  // namespace stepscope
