public import CDRuntime

/// A change that a migration should not have made.
///
/// ```swift
/// let old = try VersionedStore(of: ToDoModel.self, version: 1)
/// try old.insertSamples()
/// let new = try old.migrated()
/// for difference in try new.differences(from: old) {
///   if case .property(let name) = difference.kind { print(difference.entity, name) }
/// }
/// ```
public struct MigrationDifference: Hashable, Sendable {
  /// The type of the difference.
  public enum Kind: Hashable, Sendable {
    /// The object is gone.
    case missing
    /// A property has another value, or other objects. The name is the name in the old version.
    case property(String)
  }

  /// The entity of the object in the old version.
  public let entity: String
  /// The identifier of the object in the old store.
  public let objectID: ManagedObjectID
  /// The type of the difference.
  public let kind: Kind
  /// A description of the old and the new value; empty for an object that is gone.
  public let detail: String
}

extension MigrationDifference: CustomStringConvertible {
  public var description: String {
    switch kind {
    case .missing: "\(objectID) of '\(entity)' no longer exists"
    case .property(let name): "'\(name)' of \(objectID) was \(detail)"
    }
  }
}

extension VersionedStore {
  /// Returns the differences to the store that this one was migrated from. It compares everything that mappings leave
  /// as it was: objects, attributes that keep their value, and relationships to the objects that the old objects
  /// became, with their order if both versions have one. Renamed entities and properties are followed. The result is
  /// empty if there is no difference.
  ///
  /// - Parameters:
  ///   - old: The store before the migration.
  ///   - includingCustom: Whether to compare the values of objects that the app's own code creates. By default they are
  ///     not compared, because that code may change inferred values and may leave objects out.
  /// - Throws: The errors of reading the stores.
  public func differences(
    from old: VersionedStore, includingCustom: Bool = false
  ) throws -> [MigrationDifference] {
    let kept = KeptProperties(old, self)
    var result: [MigrationDifference] = []
    for entity in old.version.entities where !entity.isAbstract {
      let goals = kept.goals(of: entity.name)
      guard !goals.isEmpty else { continue }
      var request = FetchRequest<ManagedObject>(entityName: entity.name)
      request.includesSubentities = false
      for object in try old.context.fetch(request) {
        guard let now = try counterpart(of: object, from: old) else {
          if goals.contains(where: { !$0.isCustom && !$0.isPartial }) {
            result.append(
              MigrationDifference(entity: entity.name, objectID: object.objectID, kind: .missing, detail: ""))
          }
          continue
        }
        guard let goal = goals.first(where: { $0.entity == now.entity.name }),
          includingCustom || !goal.isCustom
        else { continue }
        result += try differences(of: object, now, goal, old)
      }
    }
    return result
  }

  private func differences(
    of object: ManagedObject, _ now: ManagedObject, _ goal: KeptProperties.Goal, _ old: VersionedStore
  ) throws -> [MigrationDifference] {
    var result: [MigrationDifference] = []
    for (name, newName) in goal.properties.sorted(by: { $0.key < $1.key }) {
      let before = try object.value(forKey: name)
      let after = try now.value(forKey: newName)
      let texts: (String, String)?
      switch (before, after) {
      case (.attribute(let before), .attribute(let after)):
        texts = before == after ? nil : ("\(before)", "\(after)")
      default:
        let areOrdered = old.isOrdered(name, of: object) && isOrdered(newName, of: now)
        texts = try differingObjects(
          before, after, areOrdered: areOrdered, mayHaveMore: goal.isMerged, old)
      }
      guard let texts else { continue }
      result.append(
        MigrationDifference(
          entity: object.entity.name, objectID: object.objectID, kind: .property(name),
          detail: "\(texts.0) and is \(texts.1)"))
    }
    return result
  }

  private func isOrdered(_ name: String, of object: ManagedObject) -> Bool {
    graph.relationships(of: object.entity.name).contains { $0.name == name && $0.isOrdered }
  }

  /// Descriptions of the expected and the found related objects, if they differ; nil otherwise. Objects that were left
  /// out, or merged with other objects, are not expected.
  ///
  /// - Parameter mayHaveMore: Whether the object may have the related objects of others that were merged with it.
  private func differingObjects(
    _ before: PropertyValue, _ after: PropertyValue, areOrdered: Bool, mayHaveMore: Bool,
    _ old: VersionedStore
  ) throws -> (String, String)? {
    func list(_ value: PropertyValue) -> [ManagedObject] {
      if case .object(let object) = value { return [object].compactMap(\.self) }
      return value.objects
    }
    let expected = try list(before).compactMap { try counterpart(of: $0, from: old)?.objectID }
    let found = list(after).map(\.objectID)
    let (expectedIDs, foundIDs) = (Set(expected), Set(found))
    // A to-one relationship that became to-many, or the other way round, keeps as many objects as it can.
    let hasOthers =
      !expectedIDs.isSubset(of: foundIDs)
      || !mayHaveMore && foundIDs.count > expectedIDs.count && list(before).count == expectedIDs.count
    // Objects that were merged have several positions, of which any may be kept.
    let hasOtherOrder =
      areOrdered && expected.count == expectedIDs.count
      && expected.filter(foundIDs.contains) != found.filter(expectedIDs.contains)
    guard hasOthers || hasOtherOrder else { return nil }
    func text(_ ids: [ManagedObjectID]) -> String {
      let names = areOrdered ? ids.map(\.description) : Set(ids).map(\.description).sorted()
      return "[\(names.joined(separator: ", "))]"
    }
    return (text(expected), text(found))
  }
}
