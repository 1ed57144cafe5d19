import Foundation
import Testing

@testable import CDRuntime

/// Rules and filters that calculate: set by set, and with the row where one has no result.
@Suite(.needs(.migrations)) struct MigrationCalculationTests {
  private static let edges: [Int64] = [
    .min, .min + 1, -70_000, -3, -1, 0, 1, 2, 9, 32_767, 1 << 40, .max - 1, .max,
  ]

  private static func model(
    _ rule: String, to type: AttributeType = .int64, isOptional: Bool = true, where filter: String? = nil
  ) throws -> ManagedObjectModel {
    var number = EntityRule(
      destination: "Number",
      attributes: [PropertyMapping(name: "result", value: try ValueExpression(format: rule))])
    number.filter = try filter.map { try FetchPredicate(format: $0) }
    return MigrationFixture.model(
      [
        first,
        MigrationFixture.version(
          2,
          [
            entity(
              "Number",
              [
                attribute("value", .int64, isOptional: true),
                attribute("result", type, isOptional: isOptional),
              ])
          ]),
      ], mappings: [MappingRules(source: 1, destination: 2, entities: [number])])
  }

  private static let first = MigrationFixture.version(
    1, [entity("Number", [attribute("value", .int64, isOptional: true)])])

  /// A number with each value, and one with nil.
  private static func fixture(_ values: [Int64] = edges) throws -> MigrationFixture {
    let fixture = try MigrationFixture()
    try fixture.create([first]) { context in
      for value in values {
        try context.insert(entityNamed: "Number").setValue(.attribute(.int(value)), forKey: "value")
        try context.save()
      }
      _ = try context.insert(entityNamed: "Number")
    }
    return fixture
  }

  @Test(arguments: [
    "value / 2 + 1", "value % 7", "CAST(value, 'Int16', -1)", "CAST(value, 'Int16', nil)",
    "(value ?? 4) / 3 - 1",
    "TERNARY(value < 5, 1, 2)", "value & 255", "~value",
  ]) func setsAreMadeAsTheEvaluatorWould(rule: String) throws {
    let rule = rule.replacing("value % 7", with: "modulus:by:(value, 7)")
    let fixture = try Self.fixture()
    let statements = StatementLog()
    let model = try Self.model(rule)
    let report = try MigrationRehearsal(PersistentStoreDescription(fixture.location), model: model).run()
    statements.add(report)
    #expect(report.succeeds)
    #expect(!statements.usesEvaluator)
    try fixture.open(model)
    let expression = try ValueExpression(format: rule)
    for (value, row) in zip(
      Self.edges.map { Optional($0) } + [nil], try fixture.column("SELECT result FROM Number ORDER BY _pk"))
    {
      let object: EvaluationValue = .dictionary(["value": .value(value.map { .int($0) } ?? .null)])
      let expected = try PredicateEvaluator().value(of: expression, for: object)
      let text: String? = if case .value(.int(let number)) = expected { String(number) } else { nil }
      #expect(row == text, "\(rule) of \(value.map(String.init) ?? "nil")")
    }
    try fixture.verify(model)
  }

  @Test(arguments: [
    ("value + 1", AttributeType.int64, Int64.max, "too large"), ("value - 1", .int64, .min, "too large"),
    ("value * 3", .int64, 1 << 62, "too large"), ("-value", .int64, .min, "too large"),
    ("abs(value)", .int64, .min, "too large"), ("100 / value", .int64, 0, "divides by 0"),
    ("modulus:by:(100, value)", .int64, 0, "divides by 0"),
  ]) func aRowWithoutAResultIsNamed(rule: String, type: AttributeType, value: Int64, reason: String) throws {
    let fixture = try Self.fixture([5, 6, value, 7, value])
    let before = try fixture.rows("SELECT * FROM Number")
    let model = try Self.model(rule, to: type)
    let error = #expect(throws: MigrationError.self) { try fixture.open(model) }
    #expect(error?.entity == "Number" && error?.objectKey == 3)
    guard case .invalidValue(let property, let text)? = error?.reason else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(property == "result" && text.contains(reason))
    // The old store is as it was, with nothing beside it.
    #expect(try fixture.rows("SELECT * FROM Number") == before)
    #expect(fixture.files == ["store.cdstore"])
    // A rehearsal names all such rows, and none twice.
    let report = try MigrationRehearsal(PersistentStoreDescription(fixture.location), model: model).run()
    #expect(report.steps.map { $0.problems.map(\.count) } == [[2]])
    #expect(report.steps[0].problems[0].objects.map(\.lastPathComponent) == ["p3", "p5"])
  }

  /// A double is no value of a decimal.
  @Test(arguments: ["0.5", "CAST(value, 'Decimal', 0.5) ?? 0.5"])
  func literalsAreDecimalsForADecimal(rule: String) throws {
    let fixture = try Self.fixture([1, 2])
    let model = try Self.model(rule, to: .decimal, isOptional: false)
    try fixture.open(model)
    let half = try #require(Decimal(string: "0.5"))
    let request = FetchRequest<ManagedObject>(
      entityName: "Number", where: try FetchPredicate(format: "result == %@", arguments: [half]))
    let count = try fixture.using(model, body: { try $0.count(for: request) })
    #expect(count == (rule == "0.5" ? 3 : 1))
    try fixture.verify(model)
  }

  @Test func aResultThatDoesNotFitItsTypeIsNamed() throws {
    let first = MigrationFixture.version(1, [entity("Number", [attribute("value", .int16)])])
    let second = MigrationFixture.version(
      2, [entity("Number", [attribute("value", .int16), attribute("result", .int16)])])
    let rule = EntityRule(
      destination: "Number",
      attributes: [PropertyMapping(name: "result", value: try ValueExpression(format: "value + 2000"))])
    let model = MigrationFixture.model(
      [first, second], mappings: [MappingRules(source: 1, destination: 2, entities: [rule])])
    func fixture(_ values: [Int]) throws -> MigrationFixture {
      let fixture = try MigrationFixture()
      try fixture.create([first]) { context in
        for value in values {
          try context.insert(entityNamed: "Number").setValue(value, forKey: "value")
          try context.save()
        }
      }
      return fixture
    }
    let good = try fixture([-32_768, 0, 30_767])
    try good.open(model)
    #expect(try good.column("SELECT result FROM Number ORDER BY _pk") == ["-30768", "2000", "32767"])
    let error = #expect(throws: MigrationError.self) { try fixture([1, 30_768]).open(model) }
    #expect(error?.objectKey == 2 && error?.entity == "Number")
  }

  @Test func aFilterChoosesBySQL() throws {
    let fixture = try Self.fixture()
    let model = try Self.model("value", where: "value / 2 > 3 OR value == nil")
    let report = try MigrationRehearsal(PersistentStoreDescription(fixture.location), model: model).run()
    let statements = StatementLog()
    statements.add(report)
    #expect(
      statements.lines.contains { $0.hasPrefix("INSERT INTO temp.") && $0.contains("SELECT t0._pk FROM") })
    try fixture.open(model)
    #expect(
      try fixture.column("SELECT result FROM Number ORDER BY _pk") == [
        "9", "32767", "\(1 << 40)", "\(Int64.max - 1)", "\(Int64.max)", nil,
      ])
  }

  @Test func aFilterThatFailsForARowNamesIt() throws {
    let fixture = try Self.fixture()
    let model = try Self.model("value", where: "value < 3 OR value * 2 > 10")
    let error = #expect(throws: MigrationError.self) { try fixture.open(model) }
    #expect(error?.objectKey == 11 + 1 && error?.entity == "Number")
    // What memory settles before it comes to a calculation is no mistake.
    let other = try Self.fixture()
    try other.open(
      Self.model("value", where: "value < 1000 AND value > -1000 AND value * 1000000000000000 < 0"))
    #expect(try other.column("SELECT value FROM Number") == ["-3", "-1"])
  }

  @Test func aRehearsalNamesTheRowsForWhichAFilterFails() throws {
    let fixture = try Self.fixture([5, 0, 6])
    let model = try Self.model("value", where: "100 / value > 5")
    let report = try MigrationRehearsal(PersistentStoreDescription(fixture.location), model: model).run()
    #expect(!report.succeeds)
    #expect(report.steps.map { $0.losses.map(\.count) } == [[nil]])
    let objects = report.steps.flatMap(\.problems).flatMap(\.objects)
    #expect(objects.map(\.lastPathComponent) == ["p2"])
  }

  @Test func whatNeedsTheEvaluatorGoesOnBesideWhatDoesNot() throws {
    let fixture = try Self.fixture([1, 2])
    let model = try Self.model("length:(CAST(value, 'String'))", isOptional: true, where: "value + 1 > 2")
    try fixture.open(model)
    #expect(try fixture.column("SELECT result FROM Number") == ["1"])
  }
}

/// The statements of a rehearsal.
private final class StatementLog {
  private(set) var lines: [String] = []

  func add(_ report: MigrationReport) { lines += report.steps.flatMap { $0.statements.map(\.sql) } }

  /// Whether values were computed an object at a time.
  var usesEvaluator: Bool { lines.contains { $0.hasPrefix("CREATE TEMP TABLE") } }
}
