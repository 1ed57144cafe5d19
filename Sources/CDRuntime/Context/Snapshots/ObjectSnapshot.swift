/// The values of an object as a value that can be passed anywhere: to another actor, to a preview, or as JSON.
/// Generated classes have such a type if `model.yaml` says `snapshots: true`.
///
/// A snapshot has all attributes of its entity. A related object is present as its identifier. Changing a snapshot
/// changes no object.
///
/// ```swift
/// func json(of snapshots: [some ObjectSnapshot]) throws -> Data {
///   try JSONEncoder().encode(snapshots)
/// }
/// let data = try json(of: Book.objects(in: context).map(\.snapshot))
/// ```
public protocol ObjectSnapshot: Codable, Hashable, Identifiable, Sendable {
  /// The identifier of the object that had the values.
  var objectID: ManagedObjectID { get }
}

extension ObjectSnapshot {
  /// The object's identifier, unless its class has an attribute named `id`.
  public var id: ManagedObjectID { objectID }
}

/// A relationship in a snapshot: the identifiers of the related objects.
@_spi(Generated) public struct SnapshotRelation {
  let slot: Int
  let ids: [ManagedObjectID]

  /// Creates a to-one relationship.
  public init(_ slot: Int, one id: ManagedObjectID?) {
    self.slot = slot
    ids = id.map { [$0] } ?? []
  }

  /// Creates a to-many relationship.
  public init(_ slot: Int, many ids: [ManagedObjectID]) {
    self.slot = slot
    self.ids = ids
  }
}

/// The objects that a snapshot's relationships lead to, in one context. It is made before the first change, so that a
/// missing object prevents all changes.
@_spi(Generated) public struct SnapshotObjects {
  fileprivate private(set) var objects: [(relationship: RelationshipPlan, objects: [ManagedObject])] = []

  /// Finds the objects for a new object.
  ///
  /// - Throws: ``SnapshotError``; ``FetchError`` if the context's model has no such entity; ``StoreError`` if the store
  ///   cannot be read.
  public init(_ relations: [SnapshotRelation], of entity: String, in context: ManagedObjectContext) throws {
    guard let plan = context.model.entity(entity) else { throw FetchError.unknownEntity(entity) }
    // Without a hook, a new object has no related objects that the snapshot lacks.
    for relation in relations where !relation.ids.isEmpty || plan.hasLifecycle {
      try add(relation, plan, context)
    }
  }

  /// Finds the objects of the relationships that differ from those of an object.
  fileprivate init(_ relations: [SnapshotRelation], for object: ManagedObject) throws {
    let plan = object.scope.plan
    object._willRead()
    guard let context = object.scope.context, !object.isInaccessible, !object.isDeleted else {
      throw SnapshotError.inaccessible(entity: plan.name, id: object.objectID)
    }
    for relation in relations where !object.has(relation) { try add(relation, plan, context) }
  }

  private mutating func add(
    _ relation: SnapshotRelation, _ plan: EntityPlan, _ context: ManagedObjectContext
  ) throws {
    guard let relationship = plan.relationship(relation.slot) else { return }
    let destination = context.model.entities[relationship.destination]
    objects.append(
      (
        relationship,
        try relation.ids.map { id in
          guard let object = try Self.object(id, context) else {
            throw SnapshotError.missingObject(entity: plan.name, property: relationship.name, id: id)
          }
          // The setters of the generated class rely on the entity.
          guard object.scope.plan.isKind(of: destination) else {
            throw SnapshotError.wrongEntity(
              entity: plan.name, property: relationship.name, id: id, expected: destination.name)
          }
          return object
        }
      ))
  }

  private static func object(_ id: ManagedObjectID, _ context: ManagedObjectContext) throws -> ManagedObject?
  {
    do {
      return try context.existingObject(with: id)
    } catch FetchError.unknownObject {
      return nil
    }
  }
}

// What the snapshots of generated classes call.
extension ManagedObject {
  /// The identifier of the object of a to-one relationship.
  @_spi(Generated) public final func _relatedID(_ slot: Int) -> ManagedObjectID? {
    if scope.plan.isObservable { follow(slot) }
    return scope.plan.relationship(slot).flatMap(relatedObject)?.objectID
  }

  /// The identifiers of the objects of a to-many relationship: in its order, or else sorted, so that equal
  /// relationships have equal snapshots.
  @_spi(Generated) public final func _relatedIDs(_ slot: Int) -> [ManagedObjectID] {
    if scope.plan.isObservable { follow(slot) }
    guard let relationship = scope.plan.relationship(slot) else { return [] }
    let ids = relatedObjects(relationship).map(\.objectID)
    return relationship.isOrdered ? ids : ids.sorted { $0.key < $1.key }
  }

  /// Whether a text of a snapshot is stored differently from the object's. In Swift, a composed and a decomposed
  /// character are equal. In a store they are not, and a fetch finds only one of them.
  @_spi(Generated) public final func _differs(_ old: String?, _ new: String?) -> Bool {
    old.attributeValue != new.attributeValue
  }

  /// Whether a composite of a snapshot differs from the object's. Its texts are compared as they are stored.
  @_spi(Generated) public final func _differs<Value: CompositeAttribute>(
    _ old: Value?, _ new: Value?
  ) -> Bool {
    guard old == new else { return true }
    let writer = scope.context?.captureWriter ?? RowWriter()
    writer.startCapture()
    writer.optionalComposite(old)
    writer.optionalComposite(new)
    let values = writer.values
    return zip(values.prefix(Value._columnCount), values.dropFirst(Value._columnCount)).contains { old, new in
      // 0.0 and -0.0 stay equal.
      guard case .string = old else { return false }
      return old != new
    }
  }

  /// Finds the objects to which a snapshot relates this object.
  ///
  /// - Throws: ``SnapshotError``, before anything has changed; ``StoreError`` if the store cannot be read.
  @_spi(Generated) public final func _snapshotObjects(of relations: [SnapshotRelation]) throws
    -> SnapshotObjects
  {
    try SnapshotObjects(relations, for: self)
  }

  /// Sets relationships to the objects of a snapshot.
  @_spi(Generated) public final func _relate(_ related: SnapshotObjects) {
    for (relationship, objects) in related.objects {
      // `awakeFromInsert()` has related objects that the snapshot lacks only in a few classes.
      if objects.isEmpty, isInserted, has(SnapshotRelation(relationship.slot, many: [])) { continue }
      if relationship.isToMany {
        setRelatedObjects(objects, relationship)
      } else {
        setRelatedObject(objects.first, relationship)
      }
    }
  }

  /// Whether a relationship leads to the objects of a snapshot already. An order counts only if the relationship is
  /// ordered.
  fileprivate final func has(_ relation: SnapshotRelation) -> Bool {
    guard let relationship = scope.plan.relationship(relation.slot) else { return true }
    if !relationship.isToMany { return relatedObject(relationship)?.objectID == relation.ids.first }
    let ids = relatedObjects(relationship).map(\.objectID)
    return ids == relation.ids || !relationship.isOrdered && Set(ids) == Set(relation.ids)
  }
}
