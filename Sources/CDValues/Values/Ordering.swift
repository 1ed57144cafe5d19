// Sorting by code that exists once.
//
// The compiler copies the standard library's sort for each type of elements and of sequences, and each copy takes it a
// tenth of a second. These functions sort the numbers of the elements instead, so that one copy serves all types. A
// comparison takes longer that way. So they are for lists that are short, or sorted once for an opening or an error. A long
// list that is sorted for each fetch or save uses the standard library.

extension Sequence {
  /// The elements in order, with equal ones in the order that they had.
  @inline(never) @_semantics("optimize.sil.specialize.generic.never")
  package func ordered(by precedes: (Element, Element) -> Bool) -> [Element] {
    let elements = Array(self)
    return sortedNumbers(elements.count) { precedes(elements[$0], elements[$1]) }.map { elements[$0] }
  }
}

extension Sequence where Element: Comparable {
  /// The elements in ascending order.
  @inline(never) @_semantics("optimize.sil.specialize.generic.never")
  package func ordered() -> [Element] { ordered(by: <) }
}

extension Dictionary where Key: Comparable {
  /// The pairs in the order of their keys.
  @inline(never) @_semantics("optimize.sil.specialize.generic.never")
  package func orderedByKey() -> [Element] { ordered { $0.key < $1.key } }
}

/// The numbers less than a count, in the order of the elements that they stand for.
private func sortedNumbers(_ count: Int, _ precedes: (Int, Int) -> Bool) -> [Int] {
  (0..<count).sorted(by: precedes)
}
