/// A managed object as a constant of an expression.
///
/// CDModel does not know managed objects. The runtime creates a reference from an object's identifier, which
/// ``identifier`` holds. A reference that was read from text has only its URI, and the runtime looks the object up by
/// it.
public struct ObjectReference: Hashable, Sendable {
  /// The name of the object's entity. The checker derives the reference's type from it.
  public let entity: String

  /// The URI of the object's identifier. References of the same entity and URI are equal.
  public let uri: String

  /// The runtime's own identifier, if there is one. Equality ignores it.
  public let identifier: (any Sendable)?

  /// Creates a reference.
  public init(entity: String, uri: String, identifier: (any Sendable)? = nil) {
    self.entity = entity
    self.uri = uri
    self.identifier = identifier
  }

  public static func == (lhs: ObjectReference, rhs: ObjectReference) -> Bool {
    lhs.uri == rhs.uri && lhs.entity == rhs.entity
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(uri)
    hasher.combine(entity)
  }
}
