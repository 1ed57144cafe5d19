/// The values of a Core Data store that a store of cdgen cannot hold.
///
/// ```swift
/// func report(_ losses: CoreDataLosses) {
///   print(losses.count, "values cannot be taken over")
///   for loss in losses.first { print(loss.entity, loss.key ?? 0, loss.property, loss.reason) }
/// }
/// ```
public struct CoreDataLosses: Hashable, Sendable {
  /// A lost value, with the object that it belongs to.
  public struct Loss: Hashable, Sendable, CustomStringConvertible {
    /// The name of the object's entity.
    public let entity: String
    /// The object's key in its table, `Z_PK`; nil if the store has none.
    public let key: Int64?
    /// The name of the attribute or relationship.
    public let property: String
    /// The reason why the value cannot be copied. It never contains the value itself.
    public let reason: String
    /// Whether the object can be written without the value.
    public let isAcceptable: Bool

    /// `Entity p1, property: reason`.
    public var description: String {
      "\(entity)\(key.map { " p\($0)" } ?? ""), \(property): \(reason)"
    }
  }

  /// The number of losses.
  public private(set) var count = 0
  /// The number of losses that prevent their object from being written.
  public private(set) var unacceptableCount = 0
  /// The first losses, at most a thousand. Losses that prevent an object from being written take precedence over the
  /// others.
  public private(set) var first: [Loss] = []

  private static let limit = 1000

  mutating func add(_ loss: Loss) {
    count += 1
    if !loss.isAcceptable { unacceptableCount += 1 }
    if first.count < Self.limit {
      first.append(loss)
    } else if !loss.isAcceptable, let place = first.lastIndex(where: \.isAcceptable) {
      first[place] = loss
    }
  }
}

extension CoreDataLosses: CustomStringConvertible {
  /// The first twenty losses, one in a line, and the number of the others.
  public var description: String {
    let shown = first.prefix(20).map { "  \($0)" }
    let rest = count - shown.count
    return (shown + (rest > 0 ? ["  and \(rest) more"] : [])).joined(separator: "\n")
  }
}
