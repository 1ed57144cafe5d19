/// A managed object as a constant of an expression.
///
/// CDModel knows no objects. The runtime makes a reference of an object's identifier, which it keeps in
/// ``identifier``; a reference that was read from text has its URI alone, and the runtime looks that up.
public struct ObjectReference: Hashable, Sendable {
  /// The entity's name, by which the checker knows the reference's type.
  public let entity: String

  /// The URI of the object's identifier. References of the same entity and URI are equal.
  public let uri: String

  /// The runtime's own identifier, where there is one. It takes no part in equality.
  public let identifier: (any Sendable)?

  /// A reference as given.
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
