/// A relationship as declared in the schema.
public struct RelationshipDescription: Hashable, Sendable {
  /// The relationship's name in the model.
  public var name: String
  /// The entity of the related objects.
  public var destination: String
  /// Whether the value is a collection of objects instead of one object.
  public var isToMany: Bool
  /// Whether the relationship may have no object.
  public var isOptional: Bool
  /// The relationship of the destination that leads back; nil if the relationship deliberately has no inverse.
  public var inverse: String?
  /// What happens to the related objects when an object that has this relationship is deleted.
  public var deleteRule: DeleteRule
  /// Whether a to-many relationship keeps the order of its objects.
  public var isOrdered: Bool
  /// The minimum number of objects of a to-many relationship; nil for no limit.
  public var minimumCount: Int?
  /// The maximum number of objects of a to-many relationship; nil for no limit.
  public var maximumCount: Int?

  /// The name in Swift, if it differs from the relationship's name.
  public var propertyName: String?
  /// The relationship's name in the version that this one is based on; `Entity.name` if another entity had it.
  public var renamedFrom: String?
  /// A text whose only effect is to change the entity's data hash, so that stores are migrated.
  public var hashModifier: String?
  /// Free keys and values. cdgen keeps them, but does not use them.
  public var info: [String: String]
  /// A description for readers of the schema and of the generated code.
  public var doc: String?

  /// Creates a relationship. The default values are those of the schema language.
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

  /// The name of the Swift property. A keyword is not escaped yet.
  public var swiftName: String { propertyName ?? name }
}

/// What happens to the related objects when an object is deleted.
public enum DeleteRule: String, Hashable, Sendable, CaseIterable {
  /// The related objects lose their reference to the deleted object.
  case nullify
  /// The related objects are deleted too.
  case cascade
  /// The save fails while there are related objects.
  case deny
  /// Nothing happens: related objects may keep a reference to a deleted object.
  case noAction

  /// Whether the deletion of an object takes it out of its relationship at once. If not, its related objects still
  /// refer to it until the deletion is saved.
  package var separates: Bool {
    switch self {
    case .nullify, .cascade: true
    case .deny, .noAction: false
    }
  }

  /// Whether the rule deletes related objects, or refuses the deletion because of them.
  package var needsRelatedObjects: Bool { owns || refusesDeletion }

  /// Whether the object owns its related objects: they are deleted with it.
  package var owns: Bool {
    switch self {
    case .cascade: true
    case .nullify, .deny, .noAction: false
    }
  }

  /// Whether the object cannot be deleted while there are related objects.
  package var refusesDeletion: Bool {
    switch self {
    case .deny: true
    case .nullify, .cascade, .noAction: false
    }
  }

  /// Whether related objects may keep a reference to the deleted object.
  package var leavesReferences: Bool {
    switch self {
    case .noAction: true
    case .nullify, .cascade, .deny: false
    }
  }
}
