import Foundation
import Testing

@_spi(Generated) @testable import CDRuntime

/// After a save that a merge policy has settled, the context has what the store has.
@Suite struct SettledConflictTests {
  private static let deciding: [MergePolicy] = [
    .mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback,
  ]

  /// Compares all values of all objects in a context with those of the store.
  private func expectStored(_ context: ManagedObjectContext, _ shared: GraphStore, _ keys: [String: [String]])
    throws
  {
    #expect(!context.hasChanges)
    #expect(try shared.container.persistentStoreCoordinator.verify() == [])
    for (entity, keys) in keys {
      let objects = try context.fetch(FetchRequest<ManagedObject>(entityName: entity))
      #expect(try Set(objects.map(\.objectID)) == shared.ids(of: entity))
      for object in objects {
        for key in keys {
          #expect(try object.shared(key) == shared.value(key, of: object), "\(object).\(key)")
        }
      }
    }
  }

  private static let unique = [
    EntityDescription(
      name: "B",
      attributes: [
        AttributeDescription(
          name: "number", type: .int32, isOptional: true, defaultValue: .value(.int(7))),
        AttributeDescription(name: "text", type: .string, isOptional: true),
      ], uniquenessConstraints: [["number"]]),
    EntityDescription(name: "D", parent: "B"),
  ]

  /// A changed object and a new one of another entity that want the value of the same row.
  @Test func equalUniqueValuesOfSeveralObjectsAreSettledInTheFileToo() throws {
    for policy in Self.deciding {
      let shared = try GraphStore(Self.unique)
      let context = shared.context(policy)
      let changed = try context.insert(entityNamed: "B")
      try changed.setValue(.attribute(.int(1)), forKey: "number")
      _ = try context.insert(entityNamed: "D")
      try context.save()
      _ = try context.insert(entityNamed: "B")
      try changed.setValue(.attribute(.int(7)), forKey: "number")
      do {
        try context.save()
      } catch is SaveError {
        #expect(try shared.value("number", of: changed) == .attribute(.int(1)))
        continue
      }
      try expectStored(context, shared, ["B": ["number", "text"]])
    }
  }

  /// The same where all are of one entity, so that the new one can become the one that there is.
  @Test func equalUniqueValuesOfOneEntityAreSettledInTheFileToo() throws {
    for policy in Self.deciding {
      let shared = try GraphStore(Self.unique)
      let (context, other) = (shared.context(policy), shared.context())
      let changed = try context.insert(entityNamed: "B")
      try changed.setValue(.attribute(.int(1)), forKey: "number")
      try context.save()
      let holder = try other.insert(entityNamed: "B")
      try other.save()
      let new = try context.insert(entityNamed: "B")
      try new.setValue(.attribute(.string("new")), forKey: "text")
      if policy.isOfStore { try changed.setValue(.attribute(.int(7)), forKey: "number") }
      try context.save()
      try expectStored(context, shared, ["B": ["number", "text"]])
      #expect(try shared.value("number", of: changed) == .attribute(.int(1)))
      #expect(try shared.value("number", of: holder) == .attribute(.int(7)))
      let text: AttributeValue = policy.isOfStore ? .null : .string("new")
      #expect(try shared.value("text", of: holder) == .attribute(text))
    }
  }

  private static let chain = [
    EntityDescription(
      name: "A",
      relationships: [
        RelationshipDescription(name: "members", destination: "A", isToMany: true, inverse: "owner"),
        RelationshipDescription(name: "owner", destination: "A", inverse: "members"),
      ]),
    EntityDescription(
      name: "B", attributes: [AttributeDescription(name: "number", type: .int32, isOptional: true)],
      relationships: [RelationshipDescription(name: "c", destination: "C", inverse: "bs")]),
    EntityDescription(
      name: "C",
      relationships: [RelationshipDescription(name: "bs", destination: "B", isToMany: true, inverse: "c")]),
  ]

  /// A row that others have changed, beside a deletion that they have made impossible.
  @Test func valuesOfOthersAreInTheFileToo() throws {
    for policy in Self.deciding {
      let shared = try GraphStore(Self.chain)
      let (context, other) = (shared.context(policy), shared.context())
      let owner = try context.insert(entityNamed: "A")
      try context.save()
      let member = try other.insert(entityNamed: "A")
      try member.setValue(.object(shared.instance(owner, in: other)), forKey: "owner")
      let (b, c) = (try other.insert(entityNamed: "B"), try other.insert(entityNamed: "C"))
      context.delete(owner)
      try other.save()
      try shared.learn(context)
      try shared.instance(b, in: context).setValue(.object(shared.instance(c, in: context)), forKey: "c")
      try b.setValue(.attribute(.int(3)), forKey: "number")
      try other.save()
      try shared.learn(context)
      try context.save()
      try expectStored(context, shared, ["A": ["owner", "members"], "B": ["number", "c"], "C": ["bs"]])
      let number: AttributeValue = policy.isWhole ? .null : .int(3)
      #expect(try shared.value("number", of: b) == .attribute(number))
      #expect(try shared.ids(of: "A").contains(owner.objectID) == policy.isOfStore)
    }
  }

  /// It has derived attributes that follow from that, which are no change of its own.
  @Test func anObjectThatWasMerelyRelatedToOthersIsNotWrittenAnew() throws {
    for policy in Self.deciding {
      let shared = try GraphStore([
        EntityDescription(
          name: "A",
          attributes: [
            AttributeDescription(
              name: "count", type: .int64, isOptional: true,
              derivation: .path(.object, [.key("friends"), .collectionOperator("count")]))
          ],
          relationships: [
            RelationshipDescription(name: "friends", destination: "A", isToMany: true, inverse: "fans"),
            RelationshipDescription(name: "fans", destination: "A", isToMany: true, inverse: "friends"),
          ])
      ])
      let (context, other) = (shared.context(policy), shared.context())
      let object = try context.insert(entityNamed: "A")
      let friend = try context.insert(entityNamed: "A")
      try object.setValue(.objects([friend]), forKey: "friends")
      try context.save()
      try object.setValue(.objects([]), forKey: "friends")
      other.delete(try shared.instance(object, in: other))
      try other.save()
      try context.save()
      #expect(try shared.ids(of: "A") == [friend.objectID])
      try expectStored(context, shared, ["A": ["count", "friends", "fans"]])
    }
  }
}

extension MergePolicy {
  /// Whether the store wins.
  fileprivate var isOfStore: Bool {
    guard case .resolution(let resolution) = kind else { return false }
    return resolution == .storeWins || resolution == .rollback
  }

  /// Whether the object wins as a whole.
  fileprivate var isWhole: Bool {
    guard case .resolution(let resolution) = kind else { return false }
    return resolution == .overwrite
  }
}
