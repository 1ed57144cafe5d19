// What others have related meanwhile to objects that a save deletes.
extension SaveRun {
  /// The conflicts of deleted objects to whose keys rows still refer.
  ///
  /// Called where a foreign key has failed: a save that meets no such row pays nothing.
  func conflictsOfReferrers() throws -> [SaveConflict] {
    try plan.deleted.compactMap { object in
      try conflict(of: object) { relationship in
        switch relationship.storage {
        case .join: []
        // It stands in the row that is deleted, so that no foreign key is about it.
        case .reference where !relationship.isSymmetric: []
        case .reference, .inverseReference, .referencesOfOthers:
          relationship.inverse == nil || relationship.description.deleteRule == .noAction
            ? [] : try session.reader.relatedKeys(of: relationship, of: object.key)
        }
      }
    }
  }

  /// Notes the conflict of an object that is about to be deleted and has pairs that the context does not know of, where
  /// its delete rule is more than to let go of them. The pairs go with the row, so that no foreign key tells of them.
  mutating func noteUnknownPairs(of object: ManagedObject) throws {
    guard object.scope.plan.hasRuledPairs else { return }
    let conflict = try conflict(of: object) { relationship in
      guard relationship.hasRuledPairs else { return [] }
      let root = model.entities[relationship.destination].root
      var removed = object.extras?.toManyState(relationship.slot)?.removed
      return try session.reader.relatedKeys(of: relationship, of: object.key).filter { key in
        context.registered(key, root: root)?.isDeleted != true && removed?.contains(key) != true
      }
    }
    if let conflict { conflicts.append(conflict) }
  }

  /// - Parameter keys: The keys of the rows that are related to the object by one of its relationships, and must not be.
  private func conflict(
    of object: ManagedObject, _ keys: (RelationshipPlan) throws -> [ObjectKey]
  ) rethrows -> SaveConflict? {
    var names: [String] = []
    var other: ManagedObjectID?
    for case let relationship? in object.scope.plan.relationships {
      guard let key = try keys(relationship).first else { continue }
      let destination = context.scopes[relationship.destination]
      names.append(relationship.name)
      other =
        other ?? context.registered(key, root: destination.plan.root)?.objectID
        ?? ManagedObjectID(storeID: destination.storeID, entityName: destination.plan.name, key: key)
    }
    return names.isEmpty
      ? nil : SaveConflict(reason: .related, objectID: object.objectID, keys: names, otherID: other)
  }
}
