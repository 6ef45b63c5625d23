#include "analyzer/modules/module_tree.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace stepscope {
namespace {

// The modules of one root as a tree, by their names.
class Tree {
 public:
  void add(ModuleTime module) {
    Node* node = &root_;
    std::string_view rest = module.name;
    for (std::size_t length = 0; !rest.empty();) {
      const std::size_t dot = std::min(rest.find('.'), rest.size());
      length += dot + (length > 0 ? 1 : 0);
      node = &node->child(std::string_view(module.name).substr(0, length), module);
      rest.remove_prefix(std::min(dot + 1, rest.size()));
    }
    node->time = std::move(module);
  }

  // Appends the modules, each before those inside it.
  void take(std::vector<ModuleTime>& modules) {
    root_.add_up();
    root_.take(modules);
  }

 private:
  struct Node {
    ModuleTime time;  // without calls if it is never called, such as a ModuleList
    std::vector<Node> children;

    Node& child(std::string_view name, const ModuleTime& like) {
      for (Node& node : children) {
        if (node.time.name == name) return node;
      }
      Node& made = children.emplace_back();
      made.time.thread = like.thread;
      made.time.root = like.root;
      made.time.name = name;
      made.time.steps = like.steps;
      return made;
    }

    void add_up() {
      Duration forward{0};
      std::int64_t held = 0;
      bool counted = false;
      double ops = 0;
      for (Node& node : children) {
        node.add_up();
        time.backward += node.time.backward;
        forward += node.time.forward;
        ops += node.time.ops;
        counted = counted || node.time.held_bytes;
        held += node.time.held_bytes.value_or(0);
        if (time.root.empty()) {
          time.root = node.time.root;
          time.steps = node.time.steps;
        }
      }
      if (time.calls > 0) return;
      time.forward = forward;
      time.ops = ops;
      if (counted) time.held_bytes = held;
    }

    void take(std::vector<ModuleTime>& modules) {
      modules.push_back(std::move(time));
      for (Node& node : children) node.take(modules);
    }
  };
  Node root_;
};

}  // namespace

std::vector<ModuleTime> in_trees(std::vector<ModuleTime> modules) {
  std::map<std::string, Tree> trees;
  for (ModuleTime& module : modules) {
    Tree& tree = trees[module.root];
    tree.add(std::move(module));
  }
  std::vector<std::vector<ModuleTime>> taken;
  for (auto& [root, tree] : trees) tree.take(taken.emplace_back());
  std::ranges::stable_sort(taken, [](const auto& a, const auto& b) {
    return a.front().forward + a.front().backward > b.front().forward + b.front().backward;
  });
  std::vector<ModuleTime> all;
  for (auto& tree : taken) std::ranges::move(tree, std::back_inserter(all));
  return all;
}

}  // namespace stepscope
