/// A value calculated from many objects: the number of objects, or an aggregate of the values of a key path. Nil values
/// are ignored.
///
/// ```swift
/// let aggregates: [Aggregate] = [.count(), .sum(of: "salesRank"), .average(of: "price", as: "usual")]
/// print(aggregates.map(\.name))  // count, sum_salesRank, usual
/// ```
public struct Aggregate: Hashable, Sendable {
  /// What an aggregate calculates.
  package enum Function: String { case count, sum, average, min, max }

  /// The key of this value in the result of a group.
  public let name: String
  package let function: Function
  package let keyPath: String?

  private init(_ function: Function, _ keyPath: String?, _ name: String?) {
    self.function = function
    self.keyPath = keyPath
    self.name =
      name
      ?? ([function.rawValue] + (keyPath?.split(separator: ".").map(String.init) ?? [])).joined(
        separator: "_")
  }

  /// Counts the objects.
  public static func count(as name: String = "count") -> Aggregate { Aggregate(.count, nil, name) }
  /// Counts the objects whose key path has a value.
  public static func count(of keyPath: String, as name: String? = nil) -> Aggregate {
    Aggregate(.count, keyPath, name)
  }
  /// The sum of numbers, or 0 if there are no values. The fetch throws if a sum of integers does not fit in Int64.
  public static func sum(of keyPath: String, as name: String? = nil) -> Aggregate {
    Aggregate(.sum, keyPath, name)
  }
  /// The mean of numbers, or nil if there are no values. The mean of decimals is a decimal; any other mean is a double.
  public static func average(of keyPath: String, as name: String? = nil) -> Aggregate {
    Aggregate(.average, keyPath, name)
  }
  /// The least value, or nil if there are no values.
  public static func min(of keyPath: String, as name: String? = nil) -> Aggregate {
    Aggregate(.min, keyPath, name)
  }
  /// The greatest value, or nil if there are no values.
  public static func max(of keyPath: String, as name: String? = nil) -> Aggregate {
    Aggregate(.max, keyPath, name)
  }
}
