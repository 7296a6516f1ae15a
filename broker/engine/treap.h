#pragma once

#include <cstdint>

namespace gearstalk {

// A binary search tree of nodes with two links of their own and no link upwards; a number that
// follows from each node keeps it balanced (a treap). The root is a pointer; nullptr: it is empty.
// All that is done to it costs O(log n) steps, from the root; at both ends these are few nodes,
// which stay in the cache. `Links` has `Left(node)`, `Right(node)`, references to the links, and
// `Weight(node)`, a hash of something that does not change while the node is in a tree. `Before`
// is a strict order of the nodes; what it reads does not change either.
template <typename Node, typename Links>
class Treap {
 public:
  // Whether the node is the first now.
  template <typename Before>
  static bool Insert(Node*& root, Node* node, Before before) {
    bool first = true;
    Node** at = &root;
    while (*at != nullptr && Links::Weight(**at) >= Links::Weight(*node)) {
      const bool left = before(*node, **at);
      first = first && left;
      at = left ? &Links::Left(**at) : &Links::Right(**at);
    }
    Node** lower = &Links::Left(*node);
    Node** upper = &Links::Right(*node);
    for (Node* rest = *at; rest != nullptr;) {
      if (before(*rest, *node)) {
        first = false;
        *lower = rest;
        lower = &Links::Right(*rest);
        rest = *lower;
      } else {
        *upper = rest;
        upper = &Links::Left(*rest);
        rest = *upper;
      }
    }
    *lower = *upper = nullptr;
    *at = node;
    return first;
  }

  // Whether the node was the first.
  template <typename Before>
  static bool Remove(Node*& root, Node* node, Before before) {
    bool first = true;
    Node** at = &root;
    while (*at != node) {
      // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): the node is in the tree
      const bool left = before(*node, **at);
      first = first && left;
      at = left ? &Links::Left(**at) : &Links::Right(**at);
    }
    Node* lower = Links::Left(*node);
    Node* upper = Links::Right(*node);
    first = first && lower == nullptr;
    while (lower != nullptr && upper != nullptr) {
      Node*& above = Links::Weight(*lower) >= Links::Weight(*upper) ? lower : upper;
      const bool is_lower = &above == &lower;
      *at = above;
      at = is_lower ? &Links::Right(*above) : &Links::Left(*above);
      above = *at;
    }
    *at = lower != nullptr ? lower : upper;
    return first;
  }

  // nullptr: it is empty.
  static Node* First(Node* root) {
    if (root == nullptr) return nullptr;
    while (Node* const left = Links::Left(*root)) root = left;
    return root;
  }

  // In order, until `visit` returns false. Goes as deep as the tree.
  template <typename Visit>
  static bool VisitAll(Node* root, Visit& visit) {
    return root == nullptr || (VisitAll(Links::Left(*root), visit) && visit(*root) &&
                               VisitAll(Links::Right(*root), visit));
  }
};

// Weights for nodes that are known by a number.
inline std::uint64_t MixedBits(std::uint64_t number) {
  number *= 0x9E3779B97F4A7C15U;
  number ^= number >> 32U;
  return number * 0xD6E8FEB86659FD93U;
}

}  // namespace gearstalk
