import CDModel
import CDSchema
import Foundation
import SeededRandom
import Testing

@Suite("Written versions")
struct VersionTextTests {
  private static func reload(_ model: ManagedObjectModel) -> LoadedModel {
    var files = [
      "model.yaml": Array("id: \(model.id.uuidString)\ncurrent: \(model.currentVersionNumber)\n".utf8)
    ]
    for version in model.versions {
      files[VersionFile.name(of: version.number)] = Array(VersionText(version).text.utf8)
    }
    for rules in model.mappings {
      files[MappingFile.name(from: rules.source, to: rules.destination)] = Array(MappingText(rules).text.utf8)
    }
    return ModelLoader.load(name: model.name, files: files)
  }

  @Test("what a case's files say is written and read back", arguments: CaseFolder.all)
  func casesReadBack(_ folder: CaseFolder) throws {
    // In a locked version, some mistakes are only warnings. The written version is not locked.
    if folder.expected(LockText.fileName) != nil { return }
    guard let model = try folder.load().unprovenModel else { return }
    var expected = model
    expected.imports = []
    // Of what is locked the lock says more than a model does.
    expected.lockedVersionNumbers = []
    let loaded = Self.reload(expected)
    #expect(loaded.unprovenModel == expected, "\(loaded.diagnostics.text)")
  }

  @Test("random models are written and read back", arguments: 0..<200)
  func randomModelsReadBack(_ seed: UInt64) throws {
    var maker = RandomModel(seed: seed)
    let model = maker.model()
    let loaded = Self.reload(model)
    #expect(
      loaded.unprovenModel == model, "\(loaded.diagnostics.text)\n\(VersionText(model.versions[0]).text)")
  }

  @Test("a version reads as a person would write it")
  func shortForms() {
    let version = ModelVersion(
      number: 2, label: "Alerts", basedOn: [1],
      entities: [
        EntityDescription(
          name: "ToDo",
          attributes: [
            AttributeDescription(name: "name", type: .string),
            AttributeDescription(name: "due", type: .date, isOptional: true),
            AttributeDescription(name: "done", type: .bool, defaultValue: .value(.bool(false))),
          ],
          relationships: [
            RelationshipDescription(name: "list", destination: "List", inverse: "toDos"),
            RelationshipDescription(name: "parts", destination: "ToDo", isToMany: true, deleteRule: .cascade),
          ], indexes: [IndexDescription(elements: [SortKey("done"), SortKey("due", ascending: false)])])
      ])
    let text = VersionText(
      version, head: "By hand.",
      comments: [.part(.attribute(entity: "ToDo", name: "due"), version: 2): "In UTC."]
    ).text
    #expect(
      text == """
        # By hand.
        label: Alerts
        entities:
          ToDo:
            attributes:
              name: String
              # In UTC.
              due: Date?
              done: { type: Bool, default: false }
            relationships:
              list: { to: "List?", inverse: toDos }
              parts: { to: [ToDo], inverse: none, onDelete: cascade }
            indexes: [[done, -due]]

        """)
  }

  @Test("every date has a text that reads back to the last bit", arguments: 0..<300)
  func dates(_ seed: UInt64) throws {
    var random = SplitMix(seed: seed)
    let whole = Double(Int.random(in: -63_113_904_000..<252_423_993_600, using: &random))
    let fractions = [0, 0.5, 0.1, 1e-5, Double.random(in: 0..<1, using: &random)]
    for fraction in fractions {
      let date = Date(timeIntervalSinceReferenceDate: whole + fraction)
      let text = try #require(DateLiteral.text(of: date))
      #expect(DateLiteral.date(text) == date, "\(text)")
    }
  }

  @Test(
    "the days at the ends of years, months and eras",
    arguments: [
      "0001-01-01", "1600-02-29", "1899-12-31", "1900-02-28", "1900-03-01", "2000-02-29", "2000-12-31",
      "2001-01-01",
      "2004-02-29", "9999-12-31",
    ])
  func days(_ text: String) throws {
    #expect(DateLiteral.text(of: try #require(DateLiteral.date(text))) == text)
  }
}
