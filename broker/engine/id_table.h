#pragma once

#include <array>
#include <cstdint>
#include <new>
#include <utility>

#include "broker/base/check.h"
#include "broker/engine/slab.h"

namespace gearstalk {

// A map from rising 64-bit ids to pointers: a radix tree of 64-way nodes. Ids given out one after
// the other share leaves, so a dense table costs 8.2 bytes an entry, grows without ever rehashing,
// and is walked in id order. Empty nodes are freed. Id 0 is not used.
template <typename T>
class IdTable {
 public:
  IdTable() = default;
  IdTable(const IdTable&) = delete;
  IdTable& operator=(const IdTable&) = delete;
  ~IdTable() {
    if (root_ != nullptr) Free(root_, height_);
    if (spare_ != nullptr) FreeNode(spare_);
  }

  std::size_t size() const { return size_; }

  T* Find(std::uint64_t id) const {
    if (!Fits(id)) return nullptr;
    const Node* node = root_;
    for (int level = height_; level > 0 && node != nullptr; --level) {
      node = static_cast<const Node*>(node->slots[Digit(id, level)]);
    }
    return node == nullptr ? nullptr : static_cast<T*>(node->slots[Digit(id, 0)]);
  }

  // `id` must not be present.
  void Insert(std::uint64_t id, T* item) {
    while (!Fits(id)) Grow();
    Node* node = root_;
    for (int level = height_; level > 0; --level) {
      void*& slot = node->slots[Digit(id, level)];
      if (slot == nullptr) {
        slot = MakeNode();
        ++node->used;
      }
      node = static_cast<Node*>(slot);
    }
    GS_DCHECK(node->slots[Digit(id, 0)] == nullptr);
    node->slots[Digit(id, 0)] = item;
    ++node->used;
    ++size_;
  }

  // `id` must be present.
  void Erase(std::uint64_t id) {
    Node* node = root_;
    for (int level = height_; level > 0; --level) {
      node = static_cast<Node*>(node->slots[Digit(id, level)]);
    }
    node->slots[Digit(id, 0)] = nullptr;
    --size_;
    if (--node->used == 0) DropEmpty(id);
  }

  // The entry with the lowest id above `after`, or nullptr.
  T* Next(std::uint64_t after) const {
    if (root_ == nullptr || after == UINT64_MAX || !Fits(after + 1)) return nullptr;
    return First(root_, height_, after + 1);
  }

 private:
  static constexpr int kBits = 6;
  static constexpr int kMaxHeight = 10;  // 11 levels of 6 bits hold 64 bits
  struct Node {
    std::array<void*, 1 << kBits> slots{};
    std::uint32_t used = 0;
  };

  Node* MakeNode() {
    if (spare_ != nullptr) return std::exchange(spare_, nullptr);
    return new (BlockAllocate(sizeof(Node))) Node;
  }
  // The lowest node of `id` is empty: it goes, and so do those above that have no other, but for
  // the root. Not inlined: few calls need the array.
  [[gnu::noinline]] void DropEmpty(std::uint64_t id) {
    std::array<Node*, kMaxHeight + 1> path{};
    Node* next = root_;
    for (int level = height_; level >= 0; --level) {
      path[static_cast<std::size_t>(level)] = next;
      if (level > 0) next = static_cast<Node*>(next->slots[Digit(id, level)]);
    }
    for (int level = 1; level <= height_; ++level) {
      Keep(path[static_cast<std::size_t>(level - 1)]);
      Node* const above = path[static_cast<std::size_t>(level)];
      above->slots[Digit(id, level)] = nullptr;
      if (--above->used > 0) return;
    }
  }
  // The node is empty. One is kept: a queue that is mostly empty needs it again at once.
  void Keep(Node* node) {
    if (spare_ != nullptr) return FreeNode(node);
    spare_ = node;
  }
  static void FreeNode(Node* node) { BlockFree(node, sizeof(Node)); }

  static std::size_t Digit(std::uint64_t id, int level) {
    return static_cast<std::size_t>(id >> (level * kBits)) & ((1U << kBits) - 1);
  }

  bool Fits(std::uint64_t id) const {
    if (root_ == nullptr) return false;
    return height_ == kMaxHeight || id >> ((height_ + 1) * kBits) == 0;
  }

  void Grow() {
    Node* node = MakeNode();
    if (root_ != nullptr) {
      node->slots[0] = root_;
      node->used = 1;
      ++height_;
    }
    root_ = node;
  }

  static T* First(const Node* node, int level, std::uint64_t from) {
    for (std::size_t digit = Digit(from, level); digit < node->slots.size(); ++digit) {
      if (void* slot = node->slots[digit]; slot != nullptr) {
        if (level == 0) return static_cast<T*>(slot);
        if (T* found = First(static_cast<const Node*>(slot), level - 1, from)) return found;
      }
      from = 0;
    }
    return nullptr;
  }

  static void Free(Node* node, int level) {
    if (level > 0) {
      for (void* slot : node->slots) {
        if (slot != nullptr) Free(static_cast<Node*>(slot), level - 1);
      }
    }
    FreeNode(node);
  }

  Node* root_ = nullptr;
  Node* spare_ = nullptr;
  int height_ = 0;  // level of the root; leaves are level 0
  std::size_t size_ = 0;
};

}  // namespace gearstalk
