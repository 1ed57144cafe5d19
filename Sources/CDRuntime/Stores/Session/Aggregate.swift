/// One value of many objects: their count, or what the values of a key path come to. Nil counts for nothing.
///
/// ```swift
/// let aggregates: [Aggregate] = [.count(), .sum(of: "salesRank"), .average(of: "price", as: "usual")]
/// print(aggregates.map(\.name))  // count, sum_salesRank, usual
/// ```
public struct Aggregate: Hashable, Sendable {
  enum Function: String { case count, sum, average, min, max }

  /// The name of the value among those of a group.
  public let name: String
  let function: Function
  let keyPath: String?

  private init(_ function: Function, _ keyPath: String?, _ name: String?) {
    self.function = function
    self.keyPath = keyPath
    self.name =
      name
      ?? ([function.rawValue] + (keyPath?.split(separator: ".").map(String.init) ?? [])).joined(
        separator: "_")
  }

  /// How many objects there are.
  public static func count(as name: String = "count") -> Aggregate { Aggregate(.count, nil, name) }
  /// How many objects have a value.
  public static func count(of keyPath: String, as name: String? = nil) -> Aggregate {
    Aggregate(.count, keyPath, name)
  }
  /// The sum of numbers: 0 of none. One of integers that is beyond Int64 throws.
  public static func sum(of keyPath: String, as name: String? = nil) -> Aggregate {
    Aggregate(.sum, keyPath, name)
  }
  /// The mean of numbers: nil of none, a decimal of decimals, else a double.
  public static func average(of keyPath: String, as name: String? = nil) -> Aggregate {
    Aggregate(.average, keyPath, name)
  }
  /// The least value: nil of none.
  public static func min(of keyPath: String, as name: String? = nil) -> Aggregate {
    Aggregate(.min, keyPath, name)
  }
  /// The greatest value: nil of none.
  public static func max(of keyPath: String, as name: String? = nil) -> Aggregate {
    Aggregate(.max, keyPath, name)
  }
}
