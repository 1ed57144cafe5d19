/// A step of a key path: the part after a dot or in brackets.
package indirect enum PathStep: Hashable, Sendable {
  /// A property's name, or the key of a dictionary.
  case key(String)
  /// A collection operator such as `@count` or `@sum`: the name without its `@`. See `CollectionOperator`.
  case collectionOperator(String)
  /// `SELF` after a dot, or `#self`: the value itself, as in `prices.@sum.SELF`.
  case itself
  /// A key that a variable supplies. It can be read, but the checker refuses it.
  case variable(String)
  /// `[expression]`: an element of an array by its number, counted from 0, or of a dictionary by its key.
  case index(ValueExpression)
  /// `[FIRST]`: the first element; nil for an empty array.
  case first
  /// `[LAST]`: the last element; nil for an empty array.
  case last
  /// `[SIZE]`: the number of elements.
  case size
}

/// The collection operators that a key path may use. Others can be read, but the checker and the evaluator refuse them.
package enum CollectionOperator: String, Hashable, Sendable, CaseIterable {
  /// The operator of that name, such as `@count` and `@sum`, as in Core Data. `@sum`, `@avg`, `@min` and `@max` ignore
  /// nil.
  case count, sum, avg, min, max, distinctUnionOfObjects, unionOfObjects
}
