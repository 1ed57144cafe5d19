import Foundation
import Testing

@testable import CDRuntime

/// What a step that writes a new file does with rows of the old one.
@Suite(.onceForAllKinds) struct StepCopyTests {
  private static let being = entity("Being", isAbstract: true, [attribute("name", .string)])
  private static let first = MigrationFixture.version(1, [being, entity("Person", parent: "Being")])
  private static let second = MigrationFixture.version(
    2, [being, entity("Human", parent: "Being", renamedFrom: "Person")])

  /// The step has no mapping for such a row, so the new file would silently lack it.
  @Test(arguments: ["Being", "Ghost"]) func aRowThatNoObjectIsMadeOfIsRefused(_ name: String) throws {
    let fixture = try MigrationFixture()
    try fixture.create([Self.first]) { context in
      let person = try context.insert(entityNamed: "Person")
      try person.setValue(.attribute(.string("Ann")), forKey: "name")
    }
    try PlainSQL.run("UPDATE Being SET _entity = '\(name)'", at: fixture.url)
    #expect {
      try fixture.open(MigrationFixture.model([Self.first, Self.second]))
    } throws: { error in
      guard let error = error as? MigrationError, case .verificationFailed = error.reason else {
        return false
      }
      return error.entity == "Being" && error.objectKey == 1
    }
    #expect(try fixture.rows("SELECT _entity, name FROM Being") == [[name, "Ann"]])
  }

  @Test func aRehearsalNamesTheTablesOfOtherPrograms() throws {
    let fixture = try MigrationFixture()
    try fixture.create([Self.first])
    try PlainSQL.run("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1), (2)", at: fixture.url)
    let model = MigrationFixture.model([Self.first, Self.second])
    let report = try MigrationRehearsal(PersistentStoreDescription(fixture.location), model: model).run()
    #expect(report.succeeds && !report.isInPlace)
    let losses = report.steps.flatMap(\.losses)
    #expect(
      losses.map(\.description) == ["the new file does not contain the table 'theirs' of another program"])
    #expect(losses.map(\.count) == [2])
  }
}
