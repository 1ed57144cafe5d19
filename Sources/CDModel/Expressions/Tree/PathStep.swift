/// A step of a key path: what stands behind a dot or in brackets.
public indirect enum PathStep: Hashable, Sendable {
  /// A property's name, or the key of a dictionary.
  case key(String)
  /// `@count`, `@sum` and so on: the name without its `@`. See ``CollectionOperator``.
  case collectionOperator(String)
  /// `SELF` behind a dot, or `#self`: the value itself, as in `prices.@sum.SELF`.
  case itself
  /// A key that a variable gives. It is read, and no checked expression has it.
  case variable(String)
  /// `[expression]`: an element of an array by its number from 0, or of a dictionary by its key.
  case index(ValueExpression)
  /// `[FIRST]`: nil of an empty array.
  case first
  /// `[LAST]`: nil of an empty array.
  case last
  /// `[SIZE]`: the count of elements.
  case size
}

/// The collection operators that a key path may have. Others are read, and refused by the checker and when
/// evaluated.
public enum CollectionOperator: String, Hashable, Sendable, CaseIterable {
  /// `@count`, `@sum` and so on, under Core Data's names. nil does not count in `@sum`, `@avg`, `@min` and `@max`.
  case count, sum, avg, min, max, distinctUnionOfObjects, unionOfObjects
}
