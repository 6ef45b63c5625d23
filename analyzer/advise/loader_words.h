// What the name of a wait tells of a PyTorch loader: "DataLoader(batch_size=8, num_workers=2)", or
// "Trainer: DataLoader(batch_size=8)" of Hugging Face's (profiler/python/stepscope/_torch.py).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stepscope {

bool is_data_loader(std::string_view name);

// Whether the Trainer made it, from its own arguments.
bool is_loader_of_trainer(std::string_view name);

// The value of one of its options; nothing where the program left it out, or gave PyTorch's
// default.
std::optional<std::string_view> loader_option(std::string_view name, std::string_view option);

}  // namespace stepscope
