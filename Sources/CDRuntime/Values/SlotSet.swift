/// A set of slot numbers.
package struct SlotSet: Hashable, Sendable {
  private var low: UInt64 = 0
  /// The slots from 64 on, which few entities have.
  private var high: Set<Int> = []

  init() {}

  /// Checks the usual case first: a save compares two sets for each updated object, and `high` is nearly always empty
  /// in both.
  package static func == (first: SlotSet, second: SlotSet) -> Bool {
    first.low == second.low && (first.high.isEmpty && second.high.isEmpty || first.high == second.high)
  }

  /// Whether the set has no slots.
  package var isEmpty: Bool { low == 0 && high.isEmpty }

  /// Returns whether the set has a slot.
  package func contains(_ slot: Int) -> Bool {
    slot < 64 ? low & (1 << UInt64(slot)) != 0 : high.contains(slot)
  }

  mutating func insert(_ slot: Int) {
    if slot < 64 { low |= 1 << UInt64(slot) } else { high.insert(slot) }
  }

  mutating func remove(_ slot: Int) {
    if slot < 64 { low &= ~(1 << UInt64(slot)) } else { high.remove(slot) }
  }
}

extension SlotSet {
  init(_ slot: Int) {
    self.init()
    insert(slot)
  }
}
