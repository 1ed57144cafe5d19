import CDRuntime
import Foundation
import Testing

/// Relationships that may not be without objects are checked, whoever takes the last one away and whether or not their own
/// object is in memory.
@Suite struct CountRuleTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext
  private let held = HeldContexts()

  init() throws {
    func mandatory(_ name: String, _ destination: String, _ inverse: String?) -> RelationshipDescription {
      RelationshipDescription(
        name: name, destination: destination, isToMany: true, isOptional: false, inverse: inverse)
    }
    container = try PersistentContainer(scratchOf: [
      EntityDescription(
        name: "Team",
        attributes: [AttributeDescription(name: "name", type: .string, isOptional: true)],
        relationships: [mandatory("players", "Player", "team")]),
      EntityDescription(name: "Club", relationships: [mandatory("members", "Player", "clubs")]),
      EntityDescription(name: "List", relationships: [mandatory("entries", "Player", nil)]),
      EntityDescription(
        name: "Crown",
        relationships: [
          RelationshipDescription(name: "king", destination: "Player", isOptional: false, inverse: "crown")
        ]),
      EntityDescription(
        name: "Player",
        attributes: [AttributeDescription(name: "name", type: .string, isOptional: true)],
        relationships: [
          RelationshipDescription(name: "team", destination: "Team", inverse: "players"),
          RelationshipDescription(name: "clubs", destination: "Club", isToMany: true, inverse: "members"),
          RelationshipDescription(name: "crown", destination: "Crown", inverse: "king"),
        ]),
    ])
    context = container.newContext()
  }

  /// An owner with one player.
  private func make(_ entity: String, _ key: String) throws -> (owner: ManagedObject, player: ManagedObject) {
    let (owner, player) = (try context.insert(entityNamed: entity), try context.insert(entityNamed: "Player"))
    try owner.setValue(key == "king" ? .object(player) : .objects([player]), forKey: key)
    try context.save()
    return (owner, player)
  }

  private func fresh(_ isChild: Bool) -> ManagedObjectContext {
    let other = container.newContext()
    held.contexts.append(other)
    return isChild ? ManagedObjectContext(parent: other) : other
  }

  private func expectRefusal(
    _ owner: ManagedObject, _ key: String, _ save: () throws -> Void
  ) throws {
    do {
      try save()
      Issue.record("the save succeeds")
    } catch SaveError.validation(let errors) {
      #expect(errors.map(\.objectID) == [owner.objectID] && errors.map(\.property) == [key])
    }
    #expect(try container.persistentStoreCoordinator.verify().isEmpty)
  }

  @Test(
    arguments: [("Team", "players"), ("Club", "members"), ("List", "entries"), ("Crown", "king")],
    [true, false])
  func aDeletionOfTheLastOneIsRefused(place: (entity: String, key: String), isChild: Bool) throws {
    let (owner, player) = try make(place.entity, place.key)
    let other = fresh(isChild)
    other.delete(try other.object(with: player.objectID))
    try expectRefusal(owner, place.key) { try other.save() }
    // Of an object that is in memory too.
    other.rollback()
    let known = try other.existingObject(with: owner.objectID)
    other.delete(try other.object(with: player.objectID))
    try expectRefusal(owner, place.key) { try other.save() }
    // With another one it is fine, and where the owner goes too.
    other.rollback()
    other.delete(known)
    other.delete(try other.object(with: player.objectID))
    try other.save()
  }

  @Test(arguments: [("Club", "members"), ("List", "entries")])
  func aDeletionOfTheOnlyOneThatOthersHaveGivenSinceIsRefused(entity: String, key: String) throws {
    let player = try context.insert(entityNamed: "Player")
    try context.save()
    let other = fresh(false)
    other.delete(try other.object(with: player.objectID))
    // A pair changes no row of the player.
    let owner = try context.insert(entityNamed: entity)
    try owner.setValue(.objects([player]), forKey: key)
    try context.save()
    try expectRefusal(owner, key) { try other.save() }
  }

  @Test(arguments: [true, false]) func aMoveOfTheLastOneIsRefused(isChild: Bool) throws {
    let (team, player) = try make("Team", "players")
    let (second, _) = try make("Team", "players")
    let other = fresh(isChild)
    try other.object(with: player.objectID).setValue(other.object(with: second.objectID), forKey: "team")
    try expectRefusal(team, "players") { try other.save() }
    other.rollback()
    try other.object(with: player.objectID).setValue(.object(nil), forKey: "team")
    try expectRefusal(team, "players") { try other.save() }
    other.rollback()
    let (crown, king) = try make("Crown", "king")
    try other.object(with: king.objectID).setValue(.object(nil), forKey: "crown")
    try expectRefusal(crown, "king") { try other.save() }
  }

  @Test(
    arguments: [("Team", "players"), ("Club", "members"), ("List", "entries"), ("Crown", "king")])
  func aBatchIsRefused(entity: String, key: String) throws {
    _ = try make(entity, key)
    let other = fresh(false)
    let request = FetchRequest<ManagedObject>(entityName: "Player")
    #expect(throws: BatchError.self) { try other.execute(BatchDeleteRequest<ManagedObject>(request)) }
    if entity == "Team" {
      #expect(throws: BatchError.self) {
        try other.execute(BatchUpdateRequest<ManagedObject>(request, set: [.set("team", to: .object(nil))]))
      }
    }
    #expect(try container.persistentStoreCoordinator.verify().isEmpty)
  }

  // The policy gives the player the team again that others have given it: its own team is left without one.
  @Test(arguments: [true, false]) func aMergeIsRefused(isTaken: Bool) throws {
    let (team, player) = try make("Team", "players")
    let (second, reserve) = try make("Team", "players")
    let mine = fresh(false)
    mine.mergePolicy = .mergeByPropertyStoreTrump
    let own = try mine.existingObject(with: player.objectID)
    let newest = try mine.insert(entityNamed: "Team")
    try own.setValue(newest, forKey: "team")
    if !isTaken { try mine.insert(entityNamed: "Player").setValue(newest, forKey: "team") }
    // The first team has somebody else now.
    try mine.insert(entityNamed: "Player").setValue(mine.object(with: team.objectID), forKey: "team")
    let others = fresh(false)
    try others.insert(entityNamed: "Player").setValue(others.object(with: team.objectID), forKey: "team")
    try others.object(with: player.objectID).setValue(others.object(with: second.objectID), forKey: "team")
    try others.save()
    if isTaken {
      try expectRefusal(newest, "players") { try mine.save() }
    } else {
      try mine.save()
      #expect(try own.value(forKey: "team").object?.objectID == second.objectID)
      #expect(try container.persistentStoreCoordinator.verify().isEmpty)
    }
    _ = reserve
  }

  /// An ordered relationship with changes is not read again before the save.
  @Test(arguments: [true, false]) func whatOthersHaveAddedCountsForTheMaximum(isOrdered: Bool) throws {
    let shared = try GraphStore([
      EntityDescription(
        name: "Node",
        relationships: [
          RelationshipDescription(
            name: "parts", destination: "Node", isToMany: true, inverse: "whole", isOrdered: isOrdered,
            maximumCount: 3),
          RelationshipDescription(name: "whole", destination: "Node", inverse: "parts"),
        ])
    ])
    let (context, other) = (shared.context(), shared.context())
    let nodes = try (0...4).map { _ in try context.insert(entityNamed: "Node") }
    try context.save()
    let theirs = try nodes.map { try shared.instance($0, in: other) }
    try nodes[0].setValue(.objects([nodes[1], nodes[2]]), forKey: "parts")
    try theirs[0].setValue(.objects([theirs[3], theirs[4]]), forKey: "parts")
    try other.save()
    try shared.learn(context)
    #expect(throws: SaveError.self) { try context.save() }
    try nodes[0].setValue(.objects([nodes[1]]), forKey: "parts")
    try context.save()
    #expect(try shared.container.persistentStoreCoordinator.verify() == [])
  }

  /// The parent has taken it out before, and has to answer for that.
  @Test func aChildMayDeleteWhatItsParentHasTakenFromAnOwner() throws {
    let (owner, player) = try make("List", "entries")
    try owner.setValue(.objects([]), forKey: "entries")
    let child = ManagedObjectContext(parent: context)
    child.delete(try child.existingObject(with: player.objectID))
    try child.save()
    #expect(player.isDeleted)
    #expect(throws: SaveError.self) { try context.save() }
  }
}
