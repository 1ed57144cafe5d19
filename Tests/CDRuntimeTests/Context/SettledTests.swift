import CDRuntime
import Foundation
import Testing

/// Promises of the runtime that have no suite of their own. Tests of its other promises are in the suites of their subjects.
@Suite struct SettledTests {
  private let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  // Settled 2: a context holds what has changed; an object does not hold its context, and has another where it is gone.
  @Test func settled2AContextHoldsChangesAndNoObjectHoldsAContext() throws {
    let container = try store.container()
    var context: ManagedObjectContext? = container.newContext()
    weak let weakContext = context
    let author = try #require(context.map { Author(name: "A", in: $0) })
    try context?.save()
    var dropped: Tag? = context.map { Tag(name: "t", in: $0) }
    weak let weakTag = dropped
    dropped = nil
    #expect(weakTag?.name == "t" && context?.hasChanges == true)
    context = nil
    #expect(weakContext == nil && weakTag == nil)
    #expect(!author.isInaccessible && author.name == "A" && author.managedObjectContext?.hasChanges == false)
  }

  // Settled 3: one state a block, which keeps nobody from writing nor the journal from being emptied afterwards.
  @Test(.onlyOnSQLite("stores in memory have one state for all"))
  func settled3ABlockReadsOneStateAndLetsGoOfIt() throws {
    let context = try store.freshContext()
    let tag = Tag(name: "a", in: context)
    try context.save()
    let other = try store.freshContext()
    let same = try #require(try other.existingObject(with: tag.objectID) as? Tag)
    try context.perform {
      #expect(try Tag.count(where: \.name == "a", in: context) == 1)
      same.name = "b"
      try other.save()
      #expect(try Tag.count(where: \.name == "a", in: context) == 1)
      // To have read an old state is no reason for a save to fail.
      _ = Tag(name: "c", in: context)
      try context.save()
      #expect(try Tag.count(where: \.name == "b", in: context) == 1)
    }
    #expect(try PlainSQL.rows("PRAGMA wal_checkpoint(TRUNCATE)", at: store.url) == ["0"])
    #expect(tag.name == "b")
  }

  // Settled 8: strings are their code units, unless options say otherwise.
  @Test func settled8StringsAreTheirCodeUnits() throws {
    let context = try store.freshContext()
    let names = ["caf\u{E9}", "cafe\u{301}", "CAFE", "cafe"]
    for name in names { _ = Tag(name: name, in: context) }
    func found(_ format: String, _ name: String) throws -> [[UInt8]] {
      try context.objects(forEntityNamed: "Tag", format: format, name).compactMap {
        ($0 as? Tag).map { Array($0.name.utf8) }
      }
    }
    // Unsaved, and so in memory; then in SQL.
    for _ in 1...2 {
      for name in names { #expect(try found("name == %@", name) == [Array(name.utf8)]) }
      #expect(try found("name ==[cd] %@", "Cafe").count == 4)
      #expect(try found("name > %@", "cafe").count == 2)
      // Each is unique beside the others.
      try context.save()
    }
  }

  // Settled 9: validation looks at what has changed, at the save and on request.
  @Test func settled9WhatHasChangedIsValidated() throws {
    let context = try store.freshContext()
    let review = Review(stars: 5, in: context)
    try context.save()
    try store.run(#"UPDATE "Review" SET stars = 9"#)
    let other = try store.freshContext()
    let same = try #require(try other.existingObject(with: review.objectID) as? Review)
    same.text = "as it was"
    #expect(other.validationErrors(of: same) == [])
    try other.save()
    same.stars = 10
    let error = ValidationError(
      reason: .outOfRange, entity: "Review", property: "stars", objectID: same.objectID)
    #expect(other.validationErrors(of: same) == [error])
    #expect(throws: SaveError.validation([error])) { try other.save() }
    #expect(try other.persistentStoreCoordinator.verify() == [.invalid(error)])
  }
}
