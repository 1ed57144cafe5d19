import Foundation
import SeededRandom
import Testing

@testable import CDRuntime

/// How long a context holds objects, and that it gives the same one for a row as long as it does.
@Suite struct LifetimeTests {
  private static let count = 20_000

  /// A store with many tags, which the context that made them is gone from.
  private func manyTags() throws -> TemporaryStore {
    let store = try TemporaryStore()
    let context = try store.freshContext()
    for number in 0..<Self.count { _ = Tag(name: "\(number)", in: context) }
    try context.save()
    return store
  }

  @Test func whatNobodyHoldsGoesAsOthersCome() throws {
    let store = try manyTags()
    defer { withExtendedLifetime(store) {} }
    let context = try store.freshContext()
    var most = 0
    for start in stride(from: 0, to: Self.count, by: 500) {
      let tags = try Tag.fetch(limit: 500, offset: start, in: context)
      #expect(tags.count == 500)
      most = max(most, context.registeredObjects.count)
    }
    #expect(most < 8_000)
  }

  @Test func whatSomebodyHoldsStaysTheSame() throws {
    let store = try manyTags()
    defer { withExtendedLifetime(store) {} }
    let context = try store.freshContext()
    var held: [Tag] = []
    for start in stride(from: 0, to: Self.count, by: 500) {
      held += try Tag.fetch(limit: 500, offset: start, in: context)
    }
    #expect(context.registeredObjects.count == Self.count)
    let again = try Tag.objects(in: context)
    #expect(again.count == held.count && zip(again, held).allSatisfy { $0 === $1 })
  }

  /// The keys of the objects are in sequence, so that they fill the map of a context without a gap; those that come after
  /// deletions are not.
  @Test(arguments: [1, 7, 64]) func whatIsLeftOfManyDeletedObjectsIsFound(step: Int) throws {
    let store = try TemporaryStore()
    let context = try store.freshContext()
    var random = SplitMix(seed: UInt64(step))
    var left = (0..<2_000).map { Tag(name: "tag \($0)", in: context) }
    try context.save()
    for round in 0..<6 {
      left.shuffle(using: &random)
      let gone = left.indices.filter { $0 % (step + 1) != 0 }.prefix(300).map { left[$0] }
      let goneIDs = Set(gone.map(\.objectID))
      for object in gone { context.delete(object) }
      left.removeAll { goneIDs.contains($0.objectID) }
      left += (0..<40 * step).map { Tag(name: "tag \(round) \($0)", in: context) }
      try context.save()
      for id in goneIDs { #expect(context.registeredObject(for: id) == nil) }
      for object in left { #expect(context.registeredObject(for: object.objectID) === object) }
      #expect(context.registeredObjects.count == left.count)
    }
  }

  @Test func whatOnlyARelationshipHoldsGoesToo() throws {
    let store = try TemporaryStore()
    let setUp = try store.freshContext()
    for number in 0..<40 {
      let author = Author(name: "\(number)", in: setUp)
      for book in 0..<250 { _ = Book(title: "T", isbn: "\(number)-\(book)", author: author, in: setUp) }
    }
    try setUp.save()
    let context = try store.freshContext()
    let authors = try Author.objects(in: context)
    var most = 0
    for author in authors {
      #expect(author.publications.count == 250)
      most = max(most, context.registeredObjects.count)
    }
    #expect(most < 8_000)
    #expect(authors.allSatisfy { $0.publications.count == 250 })
  }

  @Test func anObjectAmongRowsOfNewOnesIsKeptAndUpToDate() throws {
    let store = try manyTags()
    let context = try store.freshContext()
    let other = try store.freshContext()
    let held = try Tag.fetch(limit: 3, offset: 300, in: context)
    let old = held.map(\.name)
    let changed = try #require(try Tag.object(matching: \.name, old[1], in: other))
    changed.name = "changed"
    try other.save()
    let all = try Tag.fetch(limit: 1_000, in: context)
    #expect(Set(all.map(ObjectIdentifier.init)).count == 1_000)
    #expect(held.allSatisfy(all.contains))
    #expect(held.map(\.name) == [old[0], "changed", old[2]])
    #expect(context.registeredObjects.count == 1_000)
  }
}
