/// The values of a store of Core Data that have no place in a store of cdgen.
///
/// ```swift
/// func report(_ losses: CoreDataLosses) {
///   print(losses.count, "values cannot be taken over")
///   for loss in losses.first { print(loss.entity, loss.key ?? 0, loss.property, loss.reason) }
/// }
/// ```
public struct CoreDataLosses: Hashable, Sendable {
  /// A value, by the object that has it.
  public struct Loss: Hashable, Sendable, CustomStringConvertible {
    /// The object's entity.
    public let entity: String
    /// The object's number in its table, `Z_PK`; nil where the store has none.
    public let key: Int64?
    /// The attribute or relationship.
    public let property: String
    /// Why it cannot be taken over. It never has the value itself.
    public let reason: String
    /// Whether the object can be written without it.
    public let isAcceptable: Bool

    /// `Entity p1, property: reason`.
    public var description: String {
      "\(entity)\(key.map { " p\($0)" } ?? ""), \(property): \(reason)"
    }
  }

  /// How many there are.
  public private(set) var count = 0
  /// How many there are without which their object cannot be written.
  public private(set) var unacceptableCount = 0
  /// The first of them, a thousand at the most; those without which an object cannot be written are all the first
  /// of their kind.
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
  /// The first twenty, a line each, and how many more there are.
  public var description: String {
    let shown = first.prefix(20).map { "  \($0)" }
    let rest = count - shown.count
    return (shown + (rest > 0 ? ["  and \(rest) more"] : [])).joined(separator: "\n")
  }
}
