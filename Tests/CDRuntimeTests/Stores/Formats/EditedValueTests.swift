import Foundation
import Testing

@testable import CDRuntime

/// XML in which somebody has written values that no object has in this form.
@Suite(.onceForAllKinds) struct EditedValueTests {
  private static let model = MigrationFixture.model([
    MigrationFixture.version(
      1, [entity("Thing", [attribute("weight", .float), attribute("day", .date), attribute("link", .url)])])
  ])

  private let fixture: MigrationFixture

  init() throws { fixture = try MigrationFixture() }

  private func open() throws -> PersistentStoreCoordinator {
    try PersistentStoreCoordinator(model: Self.model, at: .xml(fixture.url))
  }

  /// Saves an object, and replaces one of its values in the file.
  private func edit(_ property: String, _ value: String) throws {
    try {
      let context = ManagedObjectContext(try open())
      let thing = try context.insert(entityNamed: "Thing")
      let link = try #require(URL(string: "http://x/a"))
      try thing.setValue(.attribute(.double(0.5)), forKey: "weight")
      try thing.setValue(.attribute(.date(Date(timeIntervalSinceReferenceDate: 0.25))), forKey: "day")
      try thing.setValue(.attribute(.url(link)), forKey: "link")
      try context.save()
    }()
    var text = try String(contentsOf: fixture.url, encoding: .utf8)
    let start = try #require(text.range(of: "<value name=\"\(property)\">"))
    let end = try #require(text.range(of: "</value>", range: start.upperBound..<text.endIndex))
    text.replaceSubrange(start.upperBound..<end.lowerBound, with: value)
    try Data(text.utf8).write(to: fixture.url)
  }

  /// Whether the object has a value, in its row and for a fetch.
  private func expect(_ stored: StoreValue, _ predicate: FetchPredicate) throws {
    let coordinator = try open()
    let row = try #require(try coordinator.storedRows()["Thing"]?.first)
    #expect(row.contains(stored), "\(row)")
    let context = ManagedObjectContext(coordinator)
    let request = FetchRequest<ManagedObject>(entityName: "Thing", where: predicate)
    #expect(try context.count(for: request) == 1, "\(predicate)")
    withExtendedLifetime(context) {}
  }

  /// No Float is 0.1, and an object has the one that is nearest to it.
  @Test func aNumberIsRoundedToItsType() throws {
    try edit("weight", "0.1")
    try expect(.real(Double(Float(0.1))), FetchPredicate(format: "weight == 0.1"))
  }

  @Test func aURLHasTheTextOfItsObject() throws {
    try edit("link", "http://x/a b")
    let url = try #require(URL(string: "http://x/a%20b"))
    try expect(.text("http://x/a%20b"), FetchPredicate(format: "link == %@", url))
  }

  @Test(arguments: [("day", "inf"), ("day", "-inf"), ("link", "http://[x"), ("link", "")])
  func whatNoObjectCanHaveIsRefused(_ property: String, _ value: String) throws {
    try edit(property, value)
    #expect {
      try open()
    } throws: { error in
      guard case StoreError.unreadable(_, let found) = error else { return false }
      return found.reason == .invalidValue(entity: "Thing", property: property, key: 1)
    }
  }
}
