/// A related object in a snapshot: its identifier, or its own snapshot.
///
/// `snapshots: nested` in `model.yaml` gives snapshots such relationships. Each call chooses the depth:
///
/// ```swift
/// func names(of snapshots: [NestedSnapshot<some ObjectSnapshot>]) -> [String] {
///   snapshots.map { nested in nested.snapshot == nil ? "\(nested.objectID)" : "a complete snapshot" }
/// }
/// ```
///
/// As JSON, it is the identifier's URI as a string, or the object of the snapshot, which contains the identifier.
public struct NestedSnapshot<Snapshot: ObjectSnapshot>: Hashable, Identifiable, Sendable {
  /// The identifier of the related object.
  public let objectID: ManagedObjectID
  // A list of at most one element, because a snapshot can contain snapshots of its own type.
  private let snapshots: [Snapshot]

  /// The values of the related object; nil beyond the depth of the snapshot.
  public var snapshot: Snapshot? { snapshots.first }

  /// The identifier of the related object.
  public var id: ManagedObjectID { objectID }

  /// Creates a related object that is present as its identifier.
  public init(_ id: ManagedObjectID) {
    objectID = id
    snapshots = []
  }

  /// Creates a related object that is present with its values.
  public init(_ snapshot: Snapshot) {
    objectID = snapshot.objectID
    snapshots = [snapshot]
  }
}

extension NestedSnapshot: Codable {
  /// Decodes the URI of an identifier, or a snapshot.
  public init(from decoder: any Decoder) throws {
    if let container = try? decoder.singleValueContainer(), (try? container.decode(String.self)) != nil {
      self.init(try container.decode(ManagedObjectID.self))
    } else {
      self.init(try Snapshot(from: decoder))
    }
  }

  /// Encodes the snapshot, or the URI of the identifier if there is no snapshot.
  public func encode(to encoder: any Encoder) throws {
    if let snapshot { return try snapshot.encode(to: encoder) }
    try objectID.encode(to: encoder)
  }
}

// What the nested snapshots of generated classes call.
extension ManagedObject {
  /// The related objects of a snapshot: as identifiers at depth 0, otherwise as snapshots of one depth less. They are in
  /// the order of the relationship, or else sorted by their identifiers.
  @_spi(Generated) public final func _nested<Object: ManagedObject, Snapshot: ObjectSnapshot>(
    _ slot: Int, _ depth: Int, _ snapshot: (Object, Int) -> Snapshot
  ) -> [NestedSnapshot<Snapshot>] {
    guard let relationship = scope.plan.relationship(slot) else { return [] }
    if depth <= 0 {
      let ids = relationship.isToMany ? _relatedIDs(slot) : [_relatedID(slot)].compactMap(\.self)
      return ids.map { NestedSnapshot($0) }
    }
    if scope.plan.isObservable { follow(slot) }
    var objects =
      relationship.isToMany ? relatedObjects(relationship) : [relatedObject(relationship)].compactMap(\.self)
    if relationship.isToMany, !relationship.isOrdered { objects.sort { $0.key < $1.key } }
    return objects.map { object in
      (object as? Object).map { NestedSnapshot(snapshot($0, depth - 1)) } ?? NestedSnapshot(object.objectID)
    }
  }
}
