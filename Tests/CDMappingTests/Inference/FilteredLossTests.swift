import CDMapping
import CDModel
import Testing

/// Attributes that are gone, and that only the filter of their mapping reads.
@Suite("Losses and filters")
struct FilteredLossTests {
  private static func step(_ filter: String) throws -> MigrationStep {
    let text = AttributeDescription(name: "text", type: .string)
    let attributes = [
      text, AttributeDescription(name: "kind", type: .int64),
      AttributeDescription(name: "note", type: .string, isOptional: true),
      AttributeDescription(name: "isOld", type: .bool),
    ]
    let rule = EntityRule(destination: "Item", filter: try FetchPredicate(format: filter))
    return MigrationStep(
      from: ModelVersion(number: 1, entities: [EntityDescription(name: "Item", attributes: attributes)]),
      to: ModelVersion(
        number: 2, basedOn: [1], entities: [EntityDescription(name: "Item", attributes: [text])]),
      rules: MappingRules(source: 1, destination: 2, entities: [rule]))
  }

  @Test(arguments: [
    ("kind != 77", ["kind", "note", "isOld"]), ("note != nil", ["kind", "note", "isOld"]),
    ("kind == 1 OR note == nil", ["kind", "note", "isOld"]), ("NOT kind == 1", ["kind", "note", "isOld"]),
    ("note ==[c] 'a'", ["kind", "note", "isOld"]), ("kind > 5", ["kind", "note", "isOld"]),
    ("kind == 1", ["note", "isOld"]), ("1 == kind AND note == nil", ["isOld"]),
    ("isOld == NO", ["kind", "note"]), ("isOld != YES", ["kind", "note"]),
    ("NOT isOld == YES", ["kind", "note"]), ("NOT kind != 1", ["note", "isOld"]),
  ])
  func `Only a value that the filter fixes is not lost`(_ filter: String, _ lost: [String]) throws {
    let step = try Self.step(filter)
    let found = step.openChanges.compactMap { change -> String? in
      if case .attributeRemoved(let name) = change.kind { name.name } else { nil }
    }
    #expect(found == lost, "\(step.problems)")
  }
}
