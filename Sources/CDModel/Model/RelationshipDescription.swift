/// A relationship as it was declared.
public struct RelationshipDescription: Hashable, Sendable {
  /// The relationship's name in the model.
  public var name: String
  /// The entity of the related objects.
  public var destination: String
  /// Whether the value is a collection of objects and not one.
  public var isToMany: Bool
  /// Whether nil, or no object at all, is a valid value.
  public var isOptional: Bool
  /// The relationship of the destination that leads back; nil for one that is one-sided on purpose.
  public var inverse: String?
  /// What happens to the related objects when an object that has this relationship is deleted.
  public var deleteRule: DeleteRule
  /// Whether a to-many relationship keeps the order of its objects.
  public var isOrdered: Bool
  /// The fewest objects of a to-many relationship; nil for no bound.
  public var minimumCount: Int?
  /// The most objects of a to-many relationship; nil for no bound.
  public var maximumCount: Int?

  /// The name in Swift, where it is not the relationship's.
  public var propertyName: String?
  /// The name in the version that this one is based on; `Entity.name` if it was another entity's.
  public var renamedFrom: String?
  /// Text that changes the entity's data hash, so that stores are migrated, and has no other effect.
  public var hashModifier: String?
  /// Free keys and values, which cdgen keeps and does not read.
  public var info: [String: String]
  /// What the relationship is, for the readers of the schema and of the generated code.
  public var doc: String?

  /// A relationship as given; what is left out is the schema language's rule.
  public init(
    name: String, destination: String, isToMany: Bool = false, isOptional: Bool = true,
    inverse: String? = nil, deleteRule: DeleteRule = .nullify, isOrdered: Bool = false,
    minimumCount: Int? = nil, maximumCount: Int? = nil, propertyName: String? = nil,
    renamedFrom: String? = nil, hashModifier: String? = nil, info: [String: String] = [:],
    doc: String? = nil
  ) {
    self.name = name
    self.destination = destination
    self.isToMany = isToMany
    self.isOptional = isOptional
    self.inverse = inverse
    self.deleteRule = deleteRule
    self.isOrdered = isOrdered
    self.minimumCount = minimumCount
    self.maximumCount = maximumCount
    self.propertyName = propertyName
    self.renamedFrom = renamedFrom
    self.hashModifier = hashModifier
    self.info = info
    self.doc = doc
  }

  /// The name of the Swift property, not yet escaped where it is a keyword.
  public var swiftName: String { propertyName ?? name }
}

/// What happens to related objects when an object is deleted.
public enum DeleteRule: String, Hashable, Sendable, CaseIterable {
  /// They lose their reference to it.
  case nullify
  /// They are deleted as well.
  case cascade
  /// The save fails while there are any.
  case deny
  /// Nothing: they may be left with a reference to an object that is gone.
  case noAction
}
