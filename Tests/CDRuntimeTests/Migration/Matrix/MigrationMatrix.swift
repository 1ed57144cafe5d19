import Foundation
import Testing

@testable import CDRuntime

/// Every kind of change, with an empty store, a small one and one of many batches, value by value.
@Suite(.needs(.migrations)) struct MigrationMatrix {
  @Test(arguments: MatrixCase.all, [0, 12, 1200]) func changesAreMade(_ each: MatrixCase, _ count: Int) throws
  {
    let step = MigrationStep(from: each.old, to: each.new, rules: each.rules)
    #expect(step.isProven, "\(step.openChanges) \(step.problems)")
    let found = Set(step.changes.map { ChangeKind($0.kind) })
    #expect(found.isSuperset(of: each.kinds), "\(found)")

    let fixture = try MigrationFixture()
    try fixture.create([each.old]) { try each.fill($0, count) }
    let history = try fixture.rows("SELECT * FROM _cdgen_history")
    let model = MigrationFixture.model([each.old, each.new], mappings: each.rules.map { [$0] } ?? [])
    let report = try MigrationRehearsal(PersistentStoreDescription(fixture.location), model: model).run()
    try fixture.open(model)
    #expect(try fixture.rows("SELECT * FROM _cdgen_history") == history)
    let rows = try fixture.rows(each.sql)
    let expected = each.rows(count)
    #expect(rows.count == expected.count)
    // The first that is wrong says enough.
    if let place = zip(rows, expected).enumerated().first(where: { $0.element.0 != $0.element.1 })?.offset {
      Issue.record("row \(place) is \(rows[place]) and not \(expected[place])")
    }
    try fixture.verify(model)
    #expect(fixture.files.filter { !$0.hasSuffix("-external") } == ["store.cdstore"])
    // What was rehearsed is what has happened.
    #expect(report.succeeds, "\(String(describing: report.refusal))")
    for entity in report.entities {
      guard let name = entity.destination else { continue }
      let there = try fixture.using(
        model,
        body: { context in
          var request = FetchRequest<ManagedObject>(entityName: name)
          request.includesSubentities = false
          return try context.count(for: request)
        })
      #expect(there == entity.after, "\(name)")
    }
  }

  @Test func everyKindOfChangeHasACase() {
    let covered = Set(MatrixCase.all.flatMap(\.kinds))
    let missing = ChangeKind.allCases.filter { $0 != .undecided && !covered.contains($0) }
    #expect(missing.isEmpty)
  }
}
