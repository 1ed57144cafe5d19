// The sort of keys, slots and indices. All sequences share the code for an array, because the compiler would otherwise copy
// the whole sort for each type of sequence.

extension Sequence where Element == Int64 {
  /// The numbers in ascending order.
  func ascending() -> [Int64] {
    var numbers = Array(self)
    numbers.sort()
    return numbers
  }
}

extension Sequence where Element == Int {
  /// The numbers in ascending order.
  func ascending() -> [Int] {
    var numbers = Array(self)
    numbers.sort()
    return numbers
  }
}
