import Foundation
import Testing

@testable import CDRuntime

/// What becomes of the relationships of objects that a new unique constraint does not allow.
@Suite(.needs(.migrations)) struct MigrationDuplicateTests {
  private static let name = attribute("name", .string)

  /// P0 and P1 have the same name, and each person has a passport and a ticket. The tickets of P0 and P1 are for the same
  /// seat.
  private static func passports(_ number: Int, isOptional: Bool) -> ModelVersion {
    MigrationFixture.version(
      number,
      [
        entity(
          "Person", [name], relationships: [toOne("passport", "Passport", inverse: "person")],
          unique: number == 1 ? [] : [["name"]]),
        entity(
          "Passport", [name],
          relationships: [toOne("person", "Person", inverse: "passport", isOptional: isOptional)]),
        entity(
          "Ticket", [name], relationships: [toOne("person", "Person", inverse: nil, isOptional: false)],
          unique: [["name", "person"]]),
      ])
  }

  @Test(arguments: [true, false]) func whatRefersToDuplicatesStaysUnique(isOptional: Bool) throws {
    let (old, new) = (
      Self.passports(1, isOptional: isOptional), Self.passports(2, isOptional: isOptional)
    )
    func rules(_ constraints: [(entity: String, properties: [String])]) -> MappingRules {
      MappingRules(
        source: 1, destination: 2,
        duplicates: constraints.map {
          DuplicateRule(entity: $0.entity, properties: $0.properties, survivor: .keepFirst)
        })
    }
    let person = (entity: "Person", properties: ["name"])
    let ticket = (entity: "Ticket", properties: ["name", "person"])
    let passport = (entity: "Passport", properties: ["person"])
    let open = MigrationStep(from: old, to: new, rules: rules([person])).openChanges
    #expect(open.count == (isOptional ? 1 : 2), "\(open)")
    // Tickets become equal only after the persons, whose rule comes later.
    let all = rules([ticket, person] + (isOptional ? [] : [passport]))

    let fixture = try MigrationFixture()
    try fixture.create([old]) { context in
      for (number, text) in ["A", "A", "B"].enumerated() {
        let person = try context.insert(entityNamed: "Person")
        try person.setValue(.attribute(.string(text)), forKey: "name")
        for (kind, text) in [("Passport", "\(number)"), ("Ticket", number < 2 ? "same" : "other")] {
          let object = try context.insert(entityNamed: kind)
          try object.setValue(.attribute(.string(text)), forKey: "name")
          try object.setValue(.object(person), forKey: "person")
        }
      }
    }
    let model = MigrationFixture.model([old, new], mappings: [all])
    let report = try MigrationRehearsal(PersistentStoreDescription(fixture.location), model: model).run()
    #expect(report.succeeds, "\(String(describing: report.refusal))")
    try fixture.open(model)
    try fixture.verify(model)
    func related(_ table: String) throws -> [[String?]] {
      try fixture.rows(
        "SELECT o.name, p.name FROM \(table) o LEFT JOIN Person p ON p._pk = o.person ORDER BY o._pk")
    }
    var passports: [[String?]] = [["0", "A"], ["2", "B"]]
    if isOptional { passports.insert(["1", nil], at: 1) }
    #expect(try related("Passport") == passports)
    #expect(try related("Ticket") == [["same", "A"], ["other", "B"]])
    #expect(try fixture.column("SELECT name FROM Person ORDER BY _pk") == ["A", "B"])
  }

  // The names of persons with the positions of their partners, and the pairs of positions that remain. The last case has
  // pairs between two groups of equal names and a third one, of which only one can remain.
  @Test(
    arguments: [
      (["A", "A", "C"], [2: 1], [["A", "C"], ["C", "A"]]),
      (["A", "A", "C"], [1: 0], [["A", nil], ["C", nil]]),
      (["A", "A", "C", "D"], [1: 2, 0: 3], [["A", "D"], ["C", nil], ["D", "A"]]),
      (["A", "A", "B", "B", "C"], [0: 3, 1: 4], [["A", "B"], ["B", "A"], ["C", nil]]),
    ] as [([String], [Int: Int], [[String?]])])
  func partnersOfDuplicatesReferToEachOther(
    names: [String], partners: [Int: Int], expected: [[String?]]
  ) throws {
    func version(_ number: Int) -> ModelVersion {
      MigrationFixture.version(
        number,
        [
          entity(
            "Person", [Self.name], relationships: [toOne("partner", "Person", inverse: "partner")],
            unique: number == 1 ? [] : [["name"]])
        ])
    }
    let rules = MappingRules(
      source: 1, destination: 2,
      duplicates: [DuplicateRule(entity: "Person", properties: ["name"], survivor: .keepFirst)])
    let fixture = try MigrationFixture()
    try fixture.create([version(1)]) { context in
      let persons = try names.map { name in
        let person = try context.insert(entityNamed: "Person")
        try person.setValue(.attribute(.string(name)), forKey: "name")
        // Keys are in this order.
        try context.save()
        return person
      }
      for (person, partner) in partners {
        try persons[person].setValue(.object(persons[partner]), forKey: "partner")
      }
    }
    let model = MigrationFixture.model([version(1), version(2)], mappings: [rules])
    try fixture.open(model)
    try fixture.verify(model)
    #expect(
      try fixture.rows(
        "SELECT d.name, o.name FROM Person d LEFT JOIN Person o ON o._pk = d.partner ORDER BY d.name")
        == expected)
  }

  /// No two persons can have the same passport, because passports store the references. So nobody violates the list, whatever
  /// the names are.
  @Test func aListWithTheSideThatStoresNoReferenceDeletesNobody() throws {
    func version(_ number: Int) -> ModelVersion {
      MigrationFixture.version(
        number,
        [
          entity(
            "Person", [Self.name], relationships: [toOne("passport", "Passport", inverse: "person")],
            unique: number == 1 ? [] : [["name", "passport"]]),
          entity(
            "Passport",
            relationships: [toOne("person", "Person", inverse: "passport", isOptional: false)]),
        ])
    }
    let rules = MappingRules(
      source: 1, destination: 2,
      duplicates: [
        DuplicateRule(entity: "Person", properties: ["name", "passport"], survivor: .keepFirst),
        DuplicateRule(entity: "Passport", properties: ["person"], survivor: .keepFirst),
      ])
    let mappings: [[MappingRules]] = [[], [rules]]
    for rules in mappings {
      #expect(MigrationStep(from: version(1), to: version(2), rules: rules.first).openChanges.isEmpty)
      let fixture = try MigrationFixture()
      try fixture.create([version(1)]) { context in
        for _ in 0..<2 {
          let person = try context.insert(entityNamed: "Person")
          try person.setValue(.attribute(.string("A")), forKey: "name")
          let passport = try context.insert(entityNamed: "Passport")
          try passport.setValue(.object(person), forKey: "person")
        }
      }
      let model = MigrationFixture.model([version(1), version(2)], mappings: rules)
      try fixture.open(model)
      try fixture.verify(model)
      #expect(try fixture.column("SELECT name FROM Person") == ["A", "A"])
      #expect(try fixture.column("SELECT count(DISTINCT person) FROM Passport") == ["2"])
    }
  }
}
